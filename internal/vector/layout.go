package vector

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/truncate"
)

// The metadata fields that every record of the index has where they apply, and that queries filter by. Messages have
// neither coach nor source.
const (
	FieldRecordType = "recordType"
	FieldCoach      = "coachId"
	FieldContext    = "sourceContext"
	FieldSource     = "sourceId"
	FieldSession    = "sessionId"
	FieldTime       = "timestamp"
	FieldEmbedding  = "embedding" // the version of the model of the dense vector
	FieldText       = "text"
	FieldRole       = "role"
	FieldSeq        = "seq"
	FieldNamespace  = "namespace"
)

// The least and the greatest number of a list have names of their own, because lists have only texts.
const (
	LeastSuffix    = "#least"
	GreatestSuffix = "#greatest"
)

// The limits of what is stored and embedded. Messages are split before MaxTextChars characters, so that the metadata
// has the whole text of each part, which the ranking reads. Texts are cut at MaxEmbeddedBytes: they stay under the
// 8,191 tokens of one embedding, in every script. Values of a summary's own fields are cut at MaxFieldChars characters.
const (
	MaxTextChars     = 1000
	MaxEmbeddedBytes = 7500
	MaxFieldChars    = 200
	maxPreviousBytes = 200
)

// The record types that are not summaries.
const (
	MessageRecord = "message"
	MemoryRecord  = "memory"
	CheckInRecord = "check_in"
	// DocumentRecord is that of the app's documents, which only searches for documents find.
	DocumentRecord = "document"
)

// SummaryRecords are the record types of summaries.
func SummaryRecords() []string { return registry.Live().SummaryTypes() }

// Epoch is a time in whole seconds, as the metadata has it.
func Epoch(t time.Time) float64 { return float64(t.Unix()) }

// ItemText is an item of a list as the metadata has it: a text. It is empty for what is not stored.
func ItemText(item any) string {
	switch v := item.(type) {
	case string:
		return truncate.Runes(v, MaxFieldChars)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// MessageText is the text that is embedded for a part of a message. It holds when, by whom and where the message was
// written, because questions about a conversation ask for these, and the end of the previous message, because an
// answer does not repeat the words of its question. On LoCoMo this brings a quarter more of the evidence into the first
// ten hits than the bare text does.
func MessageText(m conversation.Message, part, previous string) string {
	text := fmt.Sprintf("%s, %s. %s: %s", Day(m.Timestamp), Label(m.Context), speaker(m.Role), part)
	if previous != "" {
		text += " (after: " + truncate.LastBytes(previous, maxPreviousBytes) + ")"
	}
	return text
}

// Day is a day as embedded texts have it.
func Day(t time.Time) string { return t.UTC().Format("Monday, 2 January 2006") }

// Label is a context as embedded texts have it.
func Label(context string) string { return conversation.LabelOf(context, context) }

func speaker(r conversation.Role) string {
	switch r {
	case conversation.RoleAssistant:
		return "Coach"
	case conversation.RoleSystem:
		return "System"
	}
	return "User"
}

// PartID returns the id of the vector of a part of a record, counted from 0.
func PartID(id string, part int) string {
	if part == 0 {
		return id
	}
	return id + "#" + strconv.Itoa(part)
}

// PartIDs returns the ids of the vectors of a record's parts, from one number until before another.
func PartIDs(id string, from, to int) []string {
	var ids []string
	for i := from; i < to; i++ {
		ids = append(ids, PartID(id, i))
	}
	return ids
}

// CutPart cuts the number of a part off a vector id: "...#3" or "...#p3". It reports false where there is none.
func CutPart(vectorID string) (recordID string, ok bool) {
	i := strings.LastIndexByte(vectorID, '#')
	if i < 0 {
		return "", false
	}
	digits := strings.TrimPrefix(vectorID[i+1:], "p")
	return vectorID[:i], digits != "" && strings.Trim(digits, "0123456789") == ""
}

// RecordID returns the id of the record that a vector belongs to: the vector's id without the number of a part.
// Summaries are never split, and their ids may end in "#" and a number themselves.
func RecordID(vectorID string) string {
	i := strings.LastIndexByte(vectorID, '#')
	if i < 0 || i == len(vectorID)-1 || strings.Trim(vectorID[i+1:], "0123456789") != "" {
		return vectorID
	}
	if kind, _, _ := strings.Cut(vectorID, "#"); slices.Contains(SummaryRecords(), kind) {
		return vectorID
	}
	return vectorID[:i]
}
