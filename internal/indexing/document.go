package indexing

import (
	"fmt"
	"maps"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	appdata "github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// document is one record of the index before it is embedded.
type document struct {
	id       string
	text     string
	metadata map[string]any
}

// messageDocuments returns the documents of one message: one, or several for a long one. Most vectors are of messages,
// so their metadata has only what searches filter by and the ranking reads. previous is the content of the message
// before it, where that is known.
func messageDocuments(m conversation.Message, previous string) []document {
	parts := vector.Split(m.Content)
	documents := make([]document, len(parts))
	for i, part := range parts {
		id, text := vector.PartID(m.ID, i), vector.MessageText(m, part, previous)
		documents[i] = document{id: id, text: text, metadata: map[string]any{
			vector.FieldRecordType: vector.MessageRecord, vector.FieldContext: m.Context, vector.FieldSession: m.SessionID,
			vector.FieldTime: vector.Epoch(m.Timestamp), vector.FieldText: truncate.Runes(part, vector.MaxTextChars),
			vector.FieldRole: string(m.Role), vector.FieldSeq: float64(m.Seq),
		}}
	}
	return documents
}

func summaryDocument(s summary.Summary) document {
	metadata := flatten(s.Fields)
	maps.Copy(metadata, map[string]any{
		vector.FieldRecordType: string(s.RecordType), vector.FieldCoach: s.CoachID, vector.FieldContext: s.Context,
		vector.FieldSource: s.SessionID, vector.FieldSession: s.SessionID, vector.FieldTime: vector.Epoch(s.OccurredAt),
		vector.FieldText: truncate.Runes(s.Text, vector.MaxTextChars), "inProgress": s.InProgress, "kind": string(s.Kind),
	})
	text := fmt.Sprintf("%s, %s. %s", vector.Day(s.OccurredAt), vector.Label(s.Context), s.Text)
	if details := s.Details(time.UTC); details != "" {
		text += " " + details
	}
	return document{id: s.ID(), text: truncate.Bytes(text, vector.MaxEmbeddedBytes), metadata: metadata}
}

func memoryDocument(m longterm.Memory) document {
	return document{id: m.ID, text: truncate.Bytes(m.Content, vector.MaxEmbeddedBytes), metadata: map[string]any{
		vector.FieldRecordType: vector.MemoryRecord, vector.FieldSource: m.ID, vector.FieldTime: vector.Epoch(m.UpdatedAt),
		vector.FieldText: truncate.Runes(m.Content, vector.MaxTextChars), "memoryType": string(m.Type), "pinned": m.Pinned,
	}}
}

func checkInDocument(c longterm.CheckIn) document {
	text := fmt.Sprintf("%s, check-in. User: %s", vector.Day(c.Timestamp), c.Note)
	return document{id: c.ID, text: truncate.Bytes(text, vector.MaxEmbeddedBytes), metadata: map[string]any{
		vector.FieldRecordType: vector.CheckInRecord, vector.FieldSource: c.ID, vector.FieldTime: vector.Epoch(c.Timestamp),
		vector.FieldText: truncate.Runes(c.Note, vector.MaxTextChars),
	}}
}

// appDocuments returns the documents of the parts of an app's document. Its namespace is a list with each of those that
// it is in or below, so that a search can ask for one of them.
func appDocuments(id string, d appdata.Document) []document {
	namespaces := make([]string, len(d.Namespace))
	for i := range d.Namespace {
		namespaces[i] = d.Namespace[:i+1].String()
	}
	parts := d.Parts()
	documents := make([]document, len(parts))
	for i, part := range parts {
		documents[i] = document{id: vector.PartID(id, i), text: part, metadata: map[string]any{
			vector.FieldRecordType: vector.DocumentRecord, vector.FieldSource: id, vector.FieldTime: vector.Epoch(d.UpdatedAt),
			vector.FieldText: truncate.Runes(part, vector.MaxTextChars), vector.FieldNamespace: namespaces,
		}}
	}
	return documents
}

// MessageVectorIDs returns the ids of a message's vectors: the message's id, and one for each further part of a long
// message. Whoever deletes the message deletes these.
func MessageVectorIDs(m conversation.Message) []string {
	return vector.PartIDs(m.ID, 0, len(vector.Split(m.Content)))
}
