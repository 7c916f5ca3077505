package recall

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// The metadata fields of design 3 that queries filter by.
const (
	fieldRecordType = "recordType"
	fieldCoach      = "coachId"
	fieldContext    = "sourceContext"
	fieldSource     = "sourceId"
	fieldSession    = "sessionId"
	fieldTime       = "timestamp"
	fieldText       = "text"
)

// Sizes of what is kept and embedded. Texts are split before 6,000 characters or 7,500 bytes: with what stands before
// them they stay under the 8,191 tokens of one embedding, in every script.
const (
	maxQueryBytes    = 7500
	maxPartBytes     = 7500
	maxPartChars     = 6000
	maxMetadataChars = 1000
	maxBeforeBytes   = 200
)

// document is one record of the index before it is embedded.
type document struct {
	id       string
	text     string
	metadata map[string]any
}

// messageDocuments are the records of one message, which followed another where before is set: itself, and one for
// each further part of a long one.
func messageDocuments(m conversation.Message, before string) []document {
	parts := split(m.Content)
	documents := make([]document, len(parts))
	for i, part := range parts {
		documents[i] = document{id: partID(m.ID, i), text: messageText(m, part, before), metadata: map[string]any{
			fieldRecordType: vector.MessageRecord, fieldCoach: m.CoachID, fieldContext: m.Context,
			fieldSource: m.SessionID, fieldSession: m.SessionID, fieldTime: epoch(m.Timestamp),
			fieldText: truncate.Runes(part, maxMetadataChars), "role": string(m.Role), "seq": float64(m.Seq),
		}}
	}
	return documents
}

// messageText is what is embedded and encoded for a part of a message. When, who and where stand in it, because that is
// what questions about a conversation ask by; and the end of what was said before, because answers do not repeat the
// words of what they answer. On LoCoMo this one line brings a quarter more of the evidence into the first ten than the
// bare text does.
func messageText(m conversation.Message, part, before string) string {
	text := fmt.Sprintf("%s, %s. %s: %s", day(m.Timestamp), label(m.Context), speaker(m.Role), part)
	if before != "" {
		text += " (after: " + truncate.LastBytes(before, maxBeforeBytes) + ")"
	}
	return text
}

func summaryDocument(s summary.Summary) document {
	metadata := flattened(s.Fields)
	maps.Copy(metadata, map[string]any{
		fieldRecordType: string(s.RecordType), fieldCoach: s.CoachID, fieldContext: s.Context,
		fieldSource: s.SessionID, fieldSession: s.SessionID, fieldTime: epoch(s.OccurredAt),
		fieldText: truncate.Runes(s.Text, maxMetadataChars), "inProgress": s.InProgress, "kind": string(s.Kind),
	})
	text := fmt.Sprintf("%s, %s. %s", day(s.OccurredAt), label(s.Context), s.Text)
	return document{id: s.ID(), text: truncate.Bytes(text, maxPartBytes), metadata: metadata}
}

func memoryDocument(m longterm.Memory) document {
	return document{id: m.ID, text: truncate.Bytes(m.Content, maxPartBytes), metadata: map[string]any{
		fieldRecordType: vector.MemoryRecord, fieldSource: m.ID, fieldTime: epoch(m.UpdatedAt),
		fieldText: truncate.Runes(m.Content, maxMetadataChars), "memoryType": string(m.Type), "pinned": m.Pinned,
	}}
}

func checkInDocument(c longterm.CheckIn) document {
	return document{id: c.ID, text: truncate.Bytes(checkInText(c), maxPartBytes), metadata: map[string]any{
		fieldRecordType: vector.CheckInRecord, fieldSource: c.ID, fieldTime: epoch(c.Timestamp),
		fieldText: truncate.Runes(c.Note, maxMetadataChars),
	}}
}

func checkInText(c longterm.CheckIn) string {
	return fmt.Sprintf("%s, check-in. User: %s", day(c.Timestamp), c.Note)
}

func day(t time.Time) string { return t.UTC().Format("Monday, 2 January 2006") }

func label(context string) string {
	return conversation.LabelOf(context, context)
}

func speaker(r conversation.Role) string {
	switch r {
	case conversation.Assistant:
		return "Coach"
	case conversation.System:
		return "System"
	}
	return "User"
}

// MessageVectorIDs are the ids under which a message is in the index: its own, and one for each further part. Who
// deletes the message deletes these.
func MessageVectorIDs(m conversation.Message) []string {
	ids := make([]string, len(split(m.Content)))
	for i := range ids {
		ids[i] = partID(m.ID, i)
	}
	return ids
}

func partID(id string, part int) string {
	if part == 0 {
		return id
	}
	return id + "#" + strconv.Itoa(part)
}

var partSuffix = regexp.MustCompile(`#[0-9]+$`)

// RecordID is the record that a vector belongs to: the id without the number of a part. Summaries are never split,
// and theirs may end as a part does.
func RecordID(vectorID string) string {
	kind, _, _ := strings.Cut(vectorID, "#")
	if slices.Contains(summaryTypes, kind) {
		return vectorID
	}
	return partSuffix.ReplaceAllString(vectorID, "")
}

// split cuts a text into parts that can be embedded, at white space where there is some in the last tenth of a part.
func split(text string) []string {
	var parts []string
	for {
		end := partEnd(text)
		if end == len(text) {
			return append(parts, text)
		}
		if space := strings.LastIndexAny(text[:end], " \n\t"); space > end*9/10 {
			end = space + 1
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
}

// partEnd is where a part has to end at the latest.
func partEnd(text string) int {
	chars := 0
	for i, r := range text {
		if chars == maxPartChars || i+utf8.RuneLen(r) > maxPartBytes {
			return i
		}
		chars++
	}
	return len(text)
}
