package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
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

// DecodeEvents returns what a record of the table's stream tells the app: an event at most. Its id follows from the
// record, so that another delivery has the same. It does not panic, whatever the record holds.
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
	if e.Type = db.typeOf(in, &e); e.Type == "" {
		return nil, nil
	}
	e.ID = table.ShortHash(strings.Join([]string{string(user), in.sk, r.Change.SequenceNumber, string(e.Type)}, "\n"))
	return []event.Event{e}, nil
}

// typeOf returns the type of the event of a record, and fills in what it says. It is empty where there is none.
func (db *DB) typeOf(in recordImages, e *event.Event) event.Type {
	switch kind, _ := table.KindOf(in.sk); kind {
	case "session":
		return db.sessionEvent(in, e)
	case table.MemoryKind:
		return memoryEvent(in, e)
	case table.TodoKind:
		return todoEvent(in, e)
	case "message":
		return answerEvent(in, e)
	case "":
		p := decodeProgress(in.after)
		e.Version, e.Files = p.Generation, p.Files
		return only(event.UserErased, in.sk == table.GenerationSK && p.Done && in.before.Bool(table.AttrErasing))
	case "control":
		return erasedEvent(in, e)
	case "summary":
		s, ok := decodeSummary(in.after)
		e.Context, e.SessionID, e.CoachID, e.Version = s.Context, s.SessionID, s.CoachID, int64(s.CoveredThrough)
		e.Status, e.Content = string(s.Kind), s.Text
		return only(event.SummaryUpdated, ok)
	case "idempotency":
		e.Context, e.SessionID, _ = table.ParseSessionSK(in.after.String(table.AttrSessionSK))
		for _, sk := range in.after.Strings(table.AttrMessageSKs) {
			e.UserMessageID = idOfMessage(e.User, sk)
		}
		isReleased := func(it table.Item) bool { return it.String(table.AttrLease) == releasedLease }
		return only(event.TurnInterrupted, isReleased(in.after) && !isReleased(in.before))
	}
	return ""
}

// only returns a type where a condition holds.
func only(t event.Type, ok bool) event.Type {
	if !ok {
		return ""
	}
	return t
}

func (db *DB) sessionEvent(in recordImages, e *event.Event) event.Type {
	after, ok := db.DecodeSession(in.after)
	before, _ := db.DecodeSession(in.before)
	e.Context, e.SessionID, e.CoachID, e.Version = after.Context, after.ID, after.CoachID, after.Version
	e.Status = string(after.Status)
	switch {
	case !ok || !after.IsMigrated():
		return ""
	case in.isNew:
		return event.SessionCreated
	}
	return only(event.SessionCompleted,
		after.Status == conversation.Completed && before.Status != conversation.Completed)
}

// answerEvent returns the event of a turn that ends with an answer.
func answerEvent(in recordImages, e *event.Event) event.Type {
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

// memoryEvent returns the event of a memory that was written. A mark of the due index or a move among the past records
// is none.
func memoryEvent(in recordImages, e *event.Event) event.Type {
	m, before := decodeMemory(in.after), decodeMemory(in.before)
	e.MemoryID, e.MemoryType, e.Pinned = m.ID, string(m.Type), m.Pinned
	e.Status, e.EndedReason = string(cmp.Or(m.Status, longterm.Stated)), string(m.EndedReason)
	e.Content = m.Content
	hasEnded := func(m longterm.Memory) bool { return !m.ValidUntil.IsZero() || m.SupersededBy != "" }
	switch {
	case !isWritten(in):
		return ""
	case e.Version == 1:
		return event.MemoryAdded
	case hasEnded(m) && !hasEnded(before):
		return event.MemoryEnded
	}
	return event.MemoryChanged
}

func todoEvent(in recordImages, e *event.Event) event.Type {
	t, before := decodeTodo(in.after), decodeTodo(in.before)
	e.TodoID, e.CoachID, e.Status, e.Content = t.ID, t.CoachID, string(t.Status), t.Content
	isOpen, wasOpen := t.Status == longterm.Pending, before.Status == longterm.Pending
	if !isWritten(in) || !in.isNew && isOpen == wasOpen {
		return ""
	}
	if isOpen {
		return event.TodoOpened
	}
	return event.TodoClosed
}

// isWritten reports whether a memory or a todo says something else than before.
func isWritten(in recordImages) bool {
	return in.after.Int64(table.AttrVersion) != in.before.Int64(table.AttrVersion) && !in.after.Bool(table.AttrMoved)
}

// erasedEvent returns the event of a tombstone: of a session of which nothing is left, or of a memory.
func erasedEvent(in recordImages, e *event.Event) event.Type {
	t, _ := decodeTombstone(in.after)
	switch {
	case !t.Emptied || in.before.Bool(table.AttrEmptied):
	case t.Session != nil:
		e.Context, e.SessionID, e.Files = t.Session.Context, t.Session.ID, t.Files
		return event.SessionErased
	case in.isNew && len(t.Vectors) == 1 && memories.IsID(t.Vectors[0]):
		e.MemoryID = t.Vectors[0]
		return event.MemoryForgotten
	}
	return ""
}

// EventStore keeps the events that wait for the bus. It is safe for concurrent use.
type EventStore struct{ db *DB }

// NewEventStore returns the waiting events of a DB.
func NewEventStore(db *DB) *EventStore { return &EventStore{db} }

// Current returns the events of users who have not been erased since.
func (s *EventStore) Current(ctx context.Context, all []event.Event) ([]event.Event, error) {
	keys := map[table.Key]bool{}
	for _, e := range all {
		keys[table.GenerationKey(e.User)] = true
	}
	records, err := s.db.Read(ctx, "read generations", slices.Collect(maps.Keys(keys))...)
	isErased := func(e event.Event) bool { return e.Generation < records.Generation(e.User) }
	return slices.DeleteFunc(slices.Clone(all), isErased), err
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
	it, err := s.db.readOne(ctx, "event", d.User, dueKey(d))
	if err != nil {
		return e, err
	}
	if json.Unmarshal([]byte(it.String(table.AttrText)), &e) != nil {
		return e, fault.Missing("event")
	}
	return e, nil
}

// DropEvent deletes the event of a due record.
func (s *EventStore) DropEvent(ctx context.Context, d sweep.Due) error {
	return s.db.DeleteWhere(ctx, "drop event", dueKey(d), table.Exists())
}
