package offlinemodel

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// transcript is what a summary or an extraction is made from.
type transcript struct {
	previous string // the summary so far
	turns    []turn
	memories []known // what is remembered already
	loops    []known // todos that are open
}

// turn is one message.
type turn struct{ role, id, text string }

// known is a record that the prompt names by its id.
type known struct {
	id, text string
	stems    map[string]bool // set by what compares records
}

// part is the section of a transcript that a line belongs to.
type part uint8

const (
	partTurns part = iota
	partPrevious
	partMemories
	partLoops
	partOther
)

// partNames tell the sections by their headings; the first that matches decides.
var partNames = []struct {
	name *regexp.Regexp
	part part
}{
	{regexp.MustCompile(`(?i)summary`), partPrevious},
	{regexp.MustCompile(`(?i)memor|facts`), partMemories},
	{regexp.MustCompile(`(?i)loop|todo`), partLoops},
	{regexp.MustCompile(`(?i)message|conversation|transcript|turns`), partTurns},
	{regexp.MustCompile(`.`), partOther},
}

var (
	// partHeading is a short line that ends with a colon, or is marked as a heading.
	partHeading = regexp.MustCompile(`^(?:#{1,6}\s+([^:]{1,60}):?|\[([A-Z][A-Za-z _-]{2,40})\]:?|([A-Za-z][A-Za-z' _()-]{2,60}):)\s*$`)
	// inlineSummary is a heading with its text on the same line.
	inlineSummary = regexp.MustCompile(`^(?i:(?:previous|existing|current|earlier|running)[ _]summary):\s*(\S.*)$`)
	roleLine      = regexp.MustCompile(`^(?:[-*]\s+)?(?:[\[(]([^\])]*)[\])]\s*)?(?i:(user|human|assistant|coach|you|system))\s*(?:[\[(]([^\])]*)[\])])?\s*:\s*(.*)$`)
	bracketRole   = regexp.MustCompile(`^\[(?i:(user|human|assistant|coach|you|system))\b([^\]]*)\]:?\s*(.*)$`)
	speakerName   = regexp.MustCompile(`^(?i:user|human|assistant|you|coach|system)\b`)
	roleAttribute = regexp.MustCompile(`\brole="([^"]*)"`)
	idAttribute   = regexp.MustCompile(`\b(?:id|messageId)="([^"]*)"`)
	knownLine     = regexp.MustCompile(`^(?:[-*]\s+)?(?:[\[(]([^\])]{1,200})[\])]|([\w#.:-]*(?:[_#]|\d)[\w#.:-]*):)\s*(.+)$`)
	clockOrDate   = regexp.MustCompile(`^(?:\d{1,2}:\d{2}|\d{4}-\d{2}-\d{2}.*)$`)
	recordID      = regexp.MustCompile(`^(?:msg|mem|todo)[_#]`)
	idPrefix      = regexp.MustCompile(`^(?i:id|messageId|message)\s*[=:]\s*`)
)

// readTranscript reads a summary's or an extraction's prompt. It takes JSON, JSON lines, tags and plain role prefixes.
func readTranscript(text string) transcript {
	var t transcript
	var value any
	if json.Unmarshal([]byte(text), &value) == nil && t.readJSON(value, partTurns) {
		return t
	}
	at := partTurns
	for raw := range strings.Lines(text) {
		at = t.readLine(strings.TrimSpace(raw), at)
	}
	t.previous = strings.TrimSpace(t.previous)
	return t
}

// readLine takes one line in the part at, and returns the part that the next one is in.
func (t *transcript) readLine(raw string, at part) part {
	if next, ok := headingPart(raw); ok {
		return next
	}
	if m := inlineSummary.FindStringSubmatch(raw); m != nil {
		t.previous = m[1]
		return partPrevious
	}
	if next, ok := t.readTagged(raw, at); ok {
		return next
	}
	var value any
	if strings.HasPrefix(raw, "{") || strings.HasPrefix(raw, "[{") {
		if json.Unmarshal([]byte(raw), &value) == nil && t.readJSON(value, at) {
			return at
		}
	}
	if at != partMemories && at != partLoops {
		if next, ok := readTurn(raw); ok {
			t.turns = append(t.turns, next)
			return partTurns
		}
	}
	t.readText(raw, at)
	return at
}

// readTagged takes a line on which a section's tag is followed by its text.
func (t *transcript) readTagged(raw string, at part) (part, bool) {
	m := openingTag.FindStringSubmatch(raw)
	if m == nil || speakerName.MatchString(m[1]) || roleAttribute.MatchString(m[2]) {
		return at, false
	}
	within, ok := headingPart(m[1] + ":")
	if !ok || within == partOther || m[3] == "" {
		return at, false
	}
	text := closingTag.ReplaceAllString(m[3], "")
	t.readText(text, within)
	if text != m[3] {
		return at, true
	}
	return within, true
}

// readText takes a line that is neither a heading nor the start of a message.
func (t *transcript) readText(raw string, at part) {
	raw = closingTag.ReplaceAllString(raw, "")
	if m := openingTag.FindStringSubmatch(raw); m != nil {
		raw = m[3]
	}
	switch {
	case raw == "" || at == partOther:
	case at == partPrevious:
		t.previous += "\n" + raw
	case at == partMemories:
		t.memories = append(t.memories, readKnown(raw))
	case at == partLoops:
		t.loops = append(t.loops, readKnown(raw))
	case len(t.turns) > 0:
		t.turns[len(t.turns)-1].text += "\n" + raw
	}
}

// headingPart says which part a heading opens.
func headingPart(raw string) (part, bool) {
	heading := ""
	if m := partHeading.FindStringSubmatch(raw); m != nil {
		heading = strings.Join(m[1:], "")
	} else if m := openingTag.FindStringSubmatch(raw); m != nil && m[2] == "" && m[3] == "" {
		heading = m[1]
	}
	if heading == "" || speakerName.MatchString(heading) {
		return partOther, false
	}
	for _, named := range partNames {
		if named.name.MatchString(heading) {
			return named.part, true
		}
	}
	return partOther, false
}

// readTurn reads the start of a message.
func readTurn(raw string) (turn, bool) {
	if m := roleLine.FindStringSubmatch(raw); m != nil {
		return turn{role: transcriptRole(m[2]), id: readID(m[1], m[3]), text: m[4]}, true
	}
	if m := bracketRole.FindStringSubmatch(raw); m != nil {
		return turn{role: transcriptRole(m[1]), id: readID(m[2]), text: m[3]}, true
	}
	m := openingTag.FindStringSubmatch(raw)
	if m == nil {
		return turn{}, false
	}
	role := m[1]
	if a := roleAttribute.FindStringSubmatch(m[2]); a != nil {
		role = a[1]
	}
	if !speakerName.MatchString(role) {
		return turn{}, false
	}
	t := turn{role: transcriptRole(role), text: strings.TrimSpace(closingTag.ReplaceAllString(m[3], ""))}
	if a := idAttribute.FindStringSubmatch(m[2]); a != nil {
		t.id = a[1]
	}
	return t, true
}

func transcriptRole(name string) string {
	if strings.EqualFold(name, "system") {
		return "system"
	}
	return speakerRole(name)
}

// readID finds a message's id in what stands in brackets around its role: not a time, and of one word.
func readID(brackets ...string) string {
	for _, inside := range brackets {
		if recordID.MatchString(inside) {
			return inside // ids of messages hold the user's, which may hold anything
		}
		for word := range strings.FieldsFuncSeq(inside, func(r rune) bool { return r == ' ' || r == ',' }) {
			word = idPrefix.ReplaceAllString(word, "")
			if strings.ContainsAny(word, "0123456789_") && !clockOrDate.MatchString(word) {
				return word
			}
		}
	}
	return ""
}

func readKnown(raw string) known {
	if m := knownLine.FindStringSubmatch(raw); m != nil {
		id := m[1] + m[2]
		if word := readID(id); word != "" {
			id = word
		}
		return known{id: id, text: m[3]}
	}
	return known{text: bullet.ReplaceAllString(raw, "")}
}

// readJSON reads messages and records from JSON, and tells whether there were any.
func (t *transcript) readJSON(value any, at part) bool {
	switch v := value.(type) {
	case []any:
		found := false
		for _, element := range v {
			found = t.readJSON(element, at) || found
		}
		return found
	case map[string]any:
		return t.readObject(v, at)
	default:
		return false
	}
}

func (t *transcript) readObject(object map[string]any, at part) bool {
	text := firstText(object, "content", "text")
	id := firstText(object, "messageId", "memoryId", "todoId", "id")
	role := firstText(object, "role")
	switch {
	case text != "" && speakerName.MatchString(role):
		t.turns = append(t.turns, turn{role: transcriptRole(role), id: id, text: text})
		return true
	case text != "" && at == partMemories:
		t.memories = append(t.memories, known{id: id, text: text})
		return true
	case text != "" && at == partLoops:
		t.loops = append(t.loops, known{id: id, text: text})
		return true
	}
	found := false
	for _, name := range slices.Sorted(maps.Keys(object)) {
		inner, _ := headingPart(name + ":")
		if summary, ok := object[name].(string); ok && inner == partPrevious {
			t.previous, found = summary, true
			continue
		}
		found = t.readJSON(object[name], inner) || found
	}
	return found
}

func firstText(object map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := object[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}
