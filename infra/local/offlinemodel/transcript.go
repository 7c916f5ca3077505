package offlinemodel

import (
	"regexp"
	"strings"
	"time"
)

// transcript is the input of a summary or an extraction.
type transcript struct {
	previous string   // the summary so far
	day      string   // what the last day came to so far
	details  []string // what an app recorded of a session without messages
	turns    []turn
	memories []known
	loops    []known // open todos
}

// turn is one message.
type turn struct {
	role, id, text string
	at             moment
}

// known is a record that the prompt lists with its id.
type known struct {
	id, kind, text string // the kind of a memory: PROFILE, PEOPLE, PROJECT
	stems          map[string]bool
	closed         bool // a message of the batch ends it
}

var (
	// partHeading is a short line that ends with a colon: "NEW MESSAGES:".
	partHeading = regexp.MustCompile(`^([A-Za-z][A-Za-z' _()-]{2,60}):$`)
	partName    = regexp.MustCompile(`(?i)^the last day|summary|memor|facts|loop|todo|details|^earlier|message|` +
		`conversation|transcript`)
	// turnLine is a message with what is in brackets before it, an id, a time or both:
	// "[m1 2026-02-05 18:30 Thursday] user: Hi".
	turnLine  = regexp.MustCompile(`^(?:\[([^\]]*)\] )?(user|assistant|system):\s*(.*)$`)
	knownLine = regexp.MustCompile(`^(?:- )?\[([^\]]{1,200})\] (?:([A-Z][A-Z0-9_]{1,31}): )?(.+)$`)
	timeForm  = regexp.MustCompile(`\d{4}-\d{2}-\d{2} \d{2}:\d{2}`)
)

// readTranscript reads the prompt of a summary or an extraction: headings, and below them lines of one message or
// record each.
func readTranscript(text string) transcript {
	var t transcript
	part := "messages"
	for raw := range strings.Lines(text) {
		raw = strings.TrimSpace(raw)
		if m := partHeading.FindStringSubmatch(raw); m != nil && !turnLine.MatchString(raw) {
			part = strings.ToLower(partName.FindString(m[1]))
			continue
		}
		part = t.readLine(raw, part)
	}
	t.previous = strings.TrimSpace(t.previous)
	return t
}

// readLine reads a line of a part, and returns the part of the next line.
func (t *transcript) readLine(raw, part string) string {
	listed := func() known {
		if m := knownLine.FindStringSubmatch(raw); m != nil {
			id, _, _ := strings.Cut(m[1], ",") // more words about the record may follow
			return known{id: id, kind: m[2], text: m[3]}
		}
		return known{text: strings.TrimPrefix(raw, "- ")}
	}
	m := turnLine.FindStringSubmatch(raw)
	switch {
	case raw == "" || part == "earlier":
	case part == "memor" || part == "facts":
		t.memories = append(t.memories, listed())
	case part == "loop" || part == "todo":
		t.loops = append(t.loops, listed())
	case part == "details":
		t.details = append(t.details, strings.TrimPrefix(raw, "- "))
	case m != nil:
		t.turns = append(t.turns, newTurn(m[1], m[2], m[3]))
		return "messages"
	case part == "the last day":
		t.day += "\n" + raw
	case part == "summary":
		t.previous += "\n" + raw
	case part != "" && len(t.turns) > 0:
		t.turns[len(t.turns)-1].text += " " + raw
	}
	return part
}

// newTurn reads what is in brackets before a message: its id, its time or both.
func newTurn(label, role, text string) turn {
	next := turn{role: role, text: text}
	stamp := timeForm.FindString(label)
	if at, err := time.Parse("2006-01-02 15:04", stamp); err == nil {
		next.at = moment{Time: at}
	}
	if next.id, _, _ = strings.Cut(label, " "); stamp != "" && strings.HasPrefix(label, stamp) {
		next.id = ""
	}
	return next
}
