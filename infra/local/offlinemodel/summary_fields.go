package offlinemodel

import (
	"regexp"
	"slices"
)

// fieldRule matches a rule of a summary's own field: its name, and what it means.
var fieldRule = regexp.MustCompile(`(?m)^ *- fields\.([A-Za-z][A-Za-z0-9_]*): (.+)$`)

// fields answers the fields that the rules of a summary name. Each is the newest statement of the user that has most of
// the words by which the rule says what the field means. A field without such a statement is left out.
func (m writer) fields(t transcript, rules string) map[string]any {
	values := map[string]any{}
	for _, rule := range fieldRule.FindAllStringSubmatch(rules, -1) {
		name, wanted, most := rule[1], m.topics(rule[2]), 0.0
		for _, turn := range slices.Backward(t.turns) {
			if turn.role != "user" {
				continue
			}
			for _, sentence := range splitSentences(quoteMarks.Replace(oneLine(turn.text))) {
				clause := m.bare(sentence)
				if share := overlap(wanted, m.topics(clause)); isStatement(clause) && share > most {
					values[name], most = clip(turn.at.resolve(m.forms.retell(clause)), unitBytes), share
				}
			}
		}
	}
	return values
}
