package dynamo

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/event"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// recordImages is one record of the stream with its images.
type recordImages struct {
	sk            string
	isNew         bool // there was no record at this key
	before, after table.Item
}

// DecodeEvents returns what a record of the table's stream tells the app. The ids of the events follow from the record,
// so that another delivery has the same. It does not panic, whatever the record holds.
func (db *DB) DecodeEvents(r events.DynamoDBEventRecord) ([]event.Event, error) {
	if r.EventName == string(events.DynamoDBOperationTypeRemove) {
		return nil, nil // what is deleted leaves a record
	}
	keys, err := fromStream(r.Change.Keys)
	if err != nil {
		return nil, err
	}
	user, isUser := table.ParsePartition(keys.String(table.AttrPK))
	if !isUser {
		return nil, nil
	}
	in := recordImages{sk: keys.String(table.AttrSK), isNew: r.EventName == string(events.DynamoDBOperationTypeInsert)}
	if in.before, err = fromStream(r.Change.OldImage); err != nil {
		return nil, err
	}
	if in.after, err = fromStream(r.Change.NewImage); err != nil {
		return nil, err
	}
	e := event.Event{
		User: user, Generation: in.after.Int64(table.AttrGeneration), Version: in.after.Int64(table.AttrVersion),
		Time: r.Change.ApproximateCreationDateTime.UTC(),
	}
	var out []event.Event
	for _, t := range db.typesOf(in, &e) {
		from := []string{string(user), in.sk, r.Change.SequenceNumber, string(t)}
		e.Type, e.ID = t, table.ShortHash(strings.Join(from, "\n"))
		out = append(out, e)
	}
	return out, nil
}

// typesOf returns the types of the events of a record, and fills in what they say.
func (db *DB) typesOf(in recordImages, e *event.Event) []event.Type {
	if _, _, isSession := table.ParseSessionSK(in.sk); isSession {
		return db.sessionEvents(in, e)
	}
	if _, _, ok := table.ParseRecordSK(in.sk, table.MemoryKind); ok {
		return memoryEvents(in, e)
	}
	if _, _, ok := table.ParseRecordSK(in.sk, table.TodoKind); ok {
		return todoEvents(in, e)
	}
	switch kind, _ := table.KindOf(in.sk); {
	case in.sk == table.GenerationSK:
		p := decodeProgress(in.after)
		e.Version, e.Files = p.Generation, p.Files
		return only(event.UserErased, p.Done && in.before.Bool(table.AttrErasing))
	case table.IsTombstone(table.Key{SK: in.sk}):
		return erasedEvents(in, e)
	case kind == "message":
		return answerEvents(in, e)
	case kind == "summary":
		s, ok := decodeSummary(in.after)
		e.Context, e.SessionID, e.CoachID, e.Version = s.Context, s.SessionID, s.CoachID, int64(s.CoveredThrough)
		e.Status, e.Content = string(s.Kind), s.Text
		return only(event.SummaryUpdated, ok)
	case kind == "idempotency":
		e.Context, e.SessionID, _ = table.ParseSessionSK(in.after.String(table.AttrSessionSK))
		for _, sk := range in.after.Strings(table.AttrMessageSKs) {
			e.UserMessageID = idOfMessage(e.User, sk)
		}
		isReleased := func(it table.Item) bool { return it.String(table.AttrLease) == releasedLease }
		return only(event.TurnInterrupted, isReleased(in.after) && !isReleased(in.before))
	}
	return nil
}

// only returns a type where a condition holds.
func only(t event.Type, ok bool) []event.Type {
	if !ok {
		return nil
	}
	return []event.Type{t}
}

func (db *DB) sessionEvents(in recordImages, e *event.Event) (out []event.Type) {
	after, ok := db.DecodeSession(in.after)
	if !ok || !after.IsMigrated() {
		return nil
	}
	before, _ := db.DecodeSession(in.before)
	e.Context, e.SessionID, e.CoachID, e.Version = after.Context, after.ID, after.CoachID, after.Version
	e.Status = string(after.Status)
	out = only(event.SessionCreated, in.isNew)
	isCompleted := after.Status == conversation.Completed && before.Status != conversation.Completed
	return append(out, only(event.SessionCompleted, isCompleted)...)
}

// answerEvents returns the event of a turn that ends with an answer.
func answerEvents(in recordImages, e *event.Event) []event.Type {
	m, ok := table.DecodeMessage(in.after)
	e.Context, e.SessionID, e.MessageID, e.CoachID, e.Version = m.Context, m.SessionID, m.ID, m.CoachID, int64(m.Seq)
	e.PromptID, _ = m.Metadata["promptId"].(string)
	e.Content = m.Content
	isAnswer := ok && in.isNew && m.Role == conversation.RoleAssistant && m.Turn != ""
	if m.Metadata["interrupted"] == true {
		return only(event.TurnInterrupted, isAnswer)
	}
	return only(event.TurnFinished, isAnswer)
}

// memoryEvents returns the event of a memory that was written. A mark of the due index or a move among the past records
// is none.
func memoryEvents(in recordImages, e *event.Event) []event.Type {
	m, before := decodeMemory(in.after), decodeMemory(in.before)
	e.MemoryID, e.MemoryType, e.Pinned = m.ID, string(m.Type), m.Pinned
	e.Status, e.EndedReason, e.Content = string(m.Status), string(m.EndedReason), m.Content
	hasEnded := func(m longterm.Memory) bool { return !m.ValidUntil.IsZero() || m.SupersededBy != "" }
	switch {
	case !isWritten(in):
		return nil
	case e.Version == 1:
		return only(event.MemoryAdded, true)
	case hasEnded(m) && !hasEnded(before):
		return only(event.MemoryEnded, true)
	}
	return only(event.MemoryChanged, true)
}

func todoEvents(in recordImages, e *event.Event) []event.Type {
	t, before := decodeTodo(in.after), decodeTodo(in.before)
	e.TodoID, e.CoachID, e.Status, e.Content = t.ID, t.CoachID, string(t.Status), t.Content
	isOpen, wasOpen := t.Status == longterm.Pending, before.Status == longterm.Pending
	if !isWritten(in) || !in.isNew && isOpen == wasOpen {
		return nil
	}
	if isOpen {
		return only(event.TodoOpened, true)
	}
	return only(event.TodoClosed, true)
}

// isWritten reports whether a memory or a todo says something else than before.
func isWritten(in recordImages) bool {
	return in.after.Int64(table.AttrVersion) != in.before.Int64(table.AttrVersion) && !in.after.Bool(table.AttrMoved)
}

// erasedEvents returns the event of a tombstone: of a session of which nothing is left, or of a memory.
func erasedEvents(in recordImages, e *event.Event) []event.Type {
	t, _ := decodeTombstone(in.after)
	switch {
	case !t.Emptied || in.before.Bool(table.AttrEmptied):
	case t.Session != nil:
		e.Context, e.SessionID, e.Files = t.Session.Context, t.Session.ID, t.Files
		return only(event.SessionErased, true)
	case in.isNew && len(t.Vectors) == 1 && memories.IsID(t.Vectors[0]):
		e.MemoryID = t.Vectors[0]
		return only(event.MemoryForgotten, true)
	}
	return nil
}

// EventStore keeps the events that wait for the bus. It is safe for concurrent use.
type EventStore struct{ db *DB }

var _ event.Store = (*EventStore)(nil)

// NewEventStore returns the waiting events of a DB.
func NewEventStore(db *DB) *EventStore { return &EventStore{db} }

// Generations reads the generations of users.
func (s *EventStore) Generations(ctx context.Context, users []conversation.UserID,
) (map[conversation.UserID]int64, error) {
	keys := make([]table.Key, len(users))
	for i, user := range users {
		keys[i] = table.GenerationKey(user)
	}
	records, err := s.db.Read(ctx, "read generations", keys...)
	out := map[conversation.UserID]int64{}
	for _, user := range users {
		out[user] = records.Generation(user)
	}
	return out, err
}

// KeepEvent stores an event. Erasing its user deletes it.
func (s *EventStore) KeepEvent(ctx context.Context, e event.Event) error {
	k := table.UserKey(e.User, table.EventPrefix+e.ID)
	text, err := json.Marshal(e)
	if err != nil {
		return table.Failed("keep event", err)
	}
	t := s.db.Transaction()
	t.Replace(k.Attributes().With(s.db.dueNow(k)).With(table.Item{
		table.AttrGeneration: table.IntAttr(e.Generation), table.AttrText: table.StringAttr(string(text)),
	}))
	t.Check(table.GenerationKey(e.User), table.IsGeneration(e.Generation))
	_, err = s.db.Commit(ctx, "keep event", t, s.db.Backoff())
	return err
}

// WaitingEvent reads the event of a due record.
func (s *EventStore) WaitingEvent(ctx context.Context, d sweep.Due) (e event.Event, err error) {
	records, err := s.db.ReadCurrent(ctx, "read event", d.User, dueKey(d))
	if err != nil {
		return e, err
	}
	it, ok := records.Current(d.User, dueKey(d))
	if !ok || json.Unmarshal([]byte(it.String(table.AttrText)), &e) != nil {
		return e, fault.Missing("event")
	}
	return e, nil
}

// DropEvent deletes the event of a due record.
func (s *EventStore) DropEvent(ctx context.Context, d sweep.Due) error {
	return s.db.DeleteWhere(ctx, "drop event", dueKey(d), table.Exists())
}
