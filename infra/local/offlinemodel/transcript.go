package offlinemodel

import (
	"regexp"
	"strings"
	"time"
)

// transcript is the input of a summary or an extraction.
type transcript struct {
	previous string   // the summary so far
	details  []string // what an app recorded of a session without messages
	turns    []turn
	memories []known // memories from before
	loops    []known // open todos
}

// turn is one message.
type turn struct {
	role, id, text string
	at             moment
}

// known is a record that the prompt lists with its id.
type known struct {
	id, kind, text string          // the kind of a memory: PROFILE, PEOPLE, PROJECT
	stems          map[string]bool // set by what compares records, and so is about
	about          subject
}

// part is the section of a transcript that a line belongs to.
type part uint8

const (
	partTurns part = iota
	partPrevious
	partMemories
	partLoops
	partDetails
	partEarlier // messages for context only
	partOther
)

// partNames finds a part by its heading. The first that matches decides.
var partNames = []struct {
	name *regexp.Regexp
	part part
}{
	{regexp.MustCompile(`(?i)summary`), partPrevious},
	{regexp.MustCompile(`(?i)memor|facts`), partMemories},
	{regexp.MustCompile(`(?i)loop|todo`), partLoops},
	{regexp.MustCompile(`(?i)details`), partDetails},
	{regexp.MustCompile(`(?i)^earlier`), partEarlier},
	{regexp.MustCompile(`(?i)message|conversation|transcript|turns`), partTurns},
	{regexp.MustCompile(`.`), partOther},
}

var (
	// partHeading is a short line that ends with a colon: "NEW MESSAGES:".
	partHeading = regexp.MustCompile(`^([A-Za-z][A-Za-z' _()-]{2,60}):$`)
	// turnLine is a message with what is in brackets before it, an id, a time or both:
	// "[m1 2026-02-05 18:30 Thursday] user: Hi".
	turnLine  = regexp.MustCompile(`^(?:\[([^\]]*)\] )?(user|assistant|system):\s*(.*)$`)
	knownLine = regexp.MustCompile(`^(?:- )?\[([^\]]{1,200})\] (?:(PROFILE|PEOPLE|PROJECT): )?(.+)$`)
	timeForm  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2} \d{2}:\d{2}`)
)

// readTranscript reads the prompt of a summary or an extraction: headings, and below them lines of one message or
// record each.
func readTranscript(text string) transcript {
	var t transcript
	at := partTurns
	for raw := range strings.Lines(text) {
		at = t.readLine(strings.TrimSpace(raw), at)
	}
	t.previous = strings.TrimSpace(t.previous)
	return t
}

// readLine reads a line of the part at, and returns the part of the next line.
func (t *transcript) readLine(raw string, at part) part {
	if next, ok := headingPart(raw); ok {
		return next
	}
	m := turnLine.FindStringSubmatch(raw)
	switch at {
	case partMemories, partLoops, partDetails, partEarlier:
		m = nil
	}
	if m != nil {
		t.turns = append(t.turns, newTurn(m[1], m[2], m[3]))
		return partTurns
	}
	t.readText(raw, at)
	return at
}

// newTurn reads what is in brackets before a message: its id, its time or both.
func newTurn(label, role, text string) turn {
	next := turn{role: role, text: text}
	at := label
	if !timeForm.MatchString(label) {
		next.id, at, _ = strings.Cut(label, " ")
	}
	if written, err := time.Parse("2006-01-02 15:04", at[:min(len(at), len("2006-01-02 15:04"))]); err == nil {
		next.at = moment{Time: written}
	}
	return next
}

// readText reads a line that is neither a heading nor the start of a message.
func (t *transcript) readText(raw string, at part) {
	switch {
	case raw == "" || at == partOther || at == partEarlier:
	case at == partPrevious:
		t.previous += "\n" + raw
	case at == partMemories:
		t.memories = append(t.memories, readKnown(raw))
	case at == partLoops:
		t.loops = append(t.loops, readKnown(raw))
	case at == partDetails:
		t.details = append(t.details, bullet.ReplaceAllString(raw, ""))
	case len(t.turns) > 0:
		t.turns[len(t.turns)-1].text += " " + raw
	}
}

// headingPart returns the part that a heading opens.
func headingPart(raw string) (part, bool) {
	m := partHeading.FindStringSubmatch(raw)
	if m == nil || speakerName.MatchString(m[1]) {
		return partOther, false
	}
	for _, named := range partNames {
		if named.name.MatchString(m[1]) {
			return named.part, true
		}
	}
	return partOther, false
}

// speakerName keeps a message without text, "user:", from being a heading.
var speakerName = regexp.MustCompile(`^(?:user|assistant|system)$`)

func readKnown(raw string) known {
	if m := knownLine.FindStringSubmatch(raw); m != nil {
		return known{id: m[1], kind: m[2], text: m[3]}
	}
	return known{text: strings.TrimPrefix(raw, "- ")}
}
