package choose

import (
	"strings"
	"unicode"
)

// A prompt has sessions, summaries, todos and spines of its coach alone. It may have messages of other coaches, which
// the search finds. Their labels name the coach.

// reasonOtherCoach is the reason of a record that belongs to another coach.
const reasonOtherCoach = "of another coach"

// nameChars limits the characters of a coach's name in a label.
const nameChars = 40

// withCoach names the coach of what was said with another one: " with Tom". It returns nothing for this coach, and for
// what was said with none.
func (c *chooser) withCoach(coachID string) string {
	if coachID == "" || coachID == c.CoachID {
		return ""
	}
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune(" .'-", r) {
			return r
		}
		return -1
	}, excerpt(c.Snapshot.Coaches[coachID].Name, nameChars))
	if name = strings.TrimSpace(name); name == "" {
		name = "another coach"
	}
	return " with " + name
}
