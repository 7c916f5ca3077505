package extraction_test

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/llm"
)

// namesDay is before the day in the words of some plans.
const namesDay = " from the "

// inWords is what a plan says. Every other one has its day in its words.
func inWords(subject, value, from string) string {
	at, _ := time.Parse(time.DateOnly, from)
	if last := value[len(value)-1]; last%2 == 0 {
		return subject + " " + value
	}
	return subject + " " + value + namesDay + at.Format("2 January")
}

// noLonger begins a fact that says the end of what was not known.
const noLonger = "no longer "

func isNoLonger(fact string) bool { return strings.Contains(fact, noLonger) }

func dayBefore(day string) string {
	at, _ := time.Parse(time.DateOnly, day)
	return at.AddDate(0, 0, -1).Format(time.DateOnly)
}

// lifeModel reads one statement as a capable model does, beside what is known.
type lifeModel struct{}

var (
	lifeLine  = regexp.MustCompile(`(?m)^\[(m\d+) (\S+) [^]]*\] user: (\S+) (?:(Mia):)?(\S+) (\S+) (\S+) -?(\S*)$`)
	knownLine = regexp.MustCompile(`(?m)^- \[([ke]\d+), said (\S+?)(?:, pinned)?(, planned)?(?:, about (\S+?))?` +
		`(?:, from (\S+?))?(?:, until (\S+?))?(?:, ended (\S+?))?\] PROFILE: ((\S+) .*)$`)
)

func (lifeModel) Complete(_ context.Context, r llm.Request) (llm.Completion, error) {
	input := r.Messages[1].Content
	today := regexp.MustCompile(`Today: (\S+)`).FindStringSubmatch(input)[1]
	facts, ended := []map[string]any{}, []map[string]any{}
	for _, line := range lifeLine.FindAllStringSubmatch(input, -1) {
		id, day, verb, about, subject, value, from := line[1], line[2], line[3], line[4], line[5], line[6], line[7]
		repeats, until, others, isEnded := "", line[8], []string{}, false
		isPlanned := said{verb: verb}.isPlan()
		end := func(known, reason string) {
			ended = append(ended, map[string]any{"id": known, "reason": reason, "messageIds": []string{id}})
		}
		for _, k := range knownLine.FindAllStringSubmatch(input, -1) {
			known, said, isPlan, begins, over := k[1], k[2], k[3] != "" && k[5] > day, k[5], k[7]
			content, _, _ := strings.Cut(k[8], namesDay)
			switch {
			case k[9] != subject, k[4] != about:
			case verb == "forget":
				end(known, "forgotten")
			case verb == "end" && known[0] == 'e' && content == subject+" "+value && said <= day && over > day:
				end(known, "over")
				isEnded = true
			case known[0] == 'e':
				isSame, after := content == subject+" "+value, max(said, begins)
				if isSame || after > from || after == from && verb != "state" {
					until = min(cmp.Or(until, dayBefore(over)), dayBefore(over))
				}
			case verb == "end" && content == subject+" "+value && said <= day:
				end(known, "over")
				isEnded = true
			case verb == "end" && !isPlan:
				others = append(others, known)
			case verb == "drop" && isPlan, verb == "deny" && content == subject+" "+value:
				end(known, "false")
			case content == subject+" "+value:
				repeats = known
			case isPlanned, !isPlan, begins <= today, said > day:
				others = append(others, known)
			}
		}
		safety, content := map[string]string{safetySubject: "health"}[subject], subject+" "+value
		switch {
		case verb == "end" && !isEnded:
			content, safety = subject+" "+noLonger+value, ""
		case isPlanned:
			content = inWords(subject, value, from)
		case verb != "state":
			continue
		}
		facts = append(facts, map[string]any{
			"type": "PROFILE", "content": content, "about": about, "confidence": 0.9,
			"messageIds": []string{id}, "from": from, "until": until,
			"status": map[bool]string{true: "planned", false: "stated"}[isPlanned], "safety": safety,
			"repeats": repeats, "supersedes": others,
		})
	}
	none := []any{}
	text, err := json.Marshal(map[string]any{"facts": facts, "ended": ended, "openLoops": none, "closedLoops": none})
	return llm.Completion{Text: string(text), Model: "m", Usage: llm.Usage{TotalTokens: 7}}, err
}
