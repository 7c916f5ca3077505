package offlinemodel

import (
	"regexp"
	"strings"
)

// newClause matches the place in a sentence where the user begins another statement about themselves.
var newClause = regexp.MustCompile(`(?:[,;]\s+(?:(?:and|but|because|since|so) )?|\s(?:but|because|since|` +
	`and) )(?:I\b|my\b)`)

// with matches a subject of several: "Tom and I".
var with = regexp.MustCompile(`^(?:[A-Z]\w+|(?i:my) \w+|[Ww]e) and I$`)

// splitClauses cuts a sentence before each of its statements.
func splitClauses(sentence string) []string {
	var clauses []string
	start := 0
	for _, at := range newClause.FindAllStringIndex(sentence, -1) {
		if with.MatchString(sentence[start:at[1]]) {
			continue
		}
		clauses = append(clauses, sentence[start:at[0]])
		start = at[1] - len("I")
		if strings.HasSuffix(sentence[:at[1]], "my") {
			start = at[1] - len("my")
		}
	}
	return append(clauses, sentence[start:])
}
