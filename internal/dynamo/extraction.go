package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// ExtractionStore stores what is extracted from messages. It is safe for concurrent use.
type ExtractionStore struct {
	*SessionReader
	*MessageStore
	*HitStore
	db       *DB
	memories *CollectionStore[longterm.Memory]
	todos    *CollectionStore[longterm.Todo]
}

var _ extraction.Store = (*ExtractionStore)(nil)

// NewExtractionStore returns what the extraction of a DB reads and writes.
func NewExtractionStore(db *DB) *ExtractionStore {
	return &ExtractionStore{
		NewSessionReader(db), NewMessageStore(db), NewHitStore(db), db, NewMemoryStore(db), NewTodoStore(db),
	}
}

// extractionKey is the key of the lease on a user's extraction.
func extractionKey(user conversation.UserID) table.Key {
	return table.UserKey(user, table.ExtractionSK)
}

// LeaseExtraction takes the lease, on condition that it is free, that the session is as far as it was read, and that
// the user was not erased.
func (s *ExtractionStore) LeaseExtraction(ctx context.Context, user conversation.UserID, session conversation.Session,
	l extraction.Lease,
) (bool, error) {
	t := s.db.Transaction()
	u := table.Set(table.AttrLease, l.Owner).
		Set(table.AttrLeaseUntil, l.Until).
		Set(table.AttrGeneration, session.Generation)
	isFree := table.NotExists().Or(table.IsAtMost(table.AttrLeaseUntil, s.db.Now()), isLeasedBy(l))
	place := t.Update(extractionKey(user), u, isFree)
	t.Check(table.KeyOfSession(user, session), table.IsIncarnation(session).And(isExtractedAs(session)))
	t.Check(table.GenerationKey(user), table.IsGeneration(session.Generation))
	failures, err := s.db.Commit(ctx, "lease extraction", t, s.db.Backoff())
	if err != nil || failures == nil {
		return err == nil, err
	}
	if _, taken := failures[place]; taken {
		return false, nil
	}
	return false, fault.New(fault.Conflict, "the session has changed")
}

// ReleaseExtraction deletes the lease, if the owner still has it.
func (s *ExtractionStore) ReleaseExtraction(ctx context.Context, user conversation.UserID, l extraction.Lease) error {
	return s.db.DeleteWhere(ctx, "release extraction", extractionKey(user), isLeasedBy(l))
}

// isLeasedBy is the condition that the owner has the lease, whether or not its time is over: nobody has taken it over.
func isLeasedBy(l extraction.Lease) table.Condition {
	return table.Is(table.AttrLease, l.Owner)
}

// isExtractedAs is the condition that the session is read as far as it was when the worker read it.
func isExtractedAs(session conversation.Session) table.Condition {
	return table.Is(table.AttrExtractedSeq, session.Extracted.Seq)
}

func setExtracted(through conversation.Watermark, r conversation.Reading) table.Update {
	u := table.Update{}.SetWatermark(table.AttrExtractedSeq, table.AttrExtractedAt, through)
	text, _ := json.Marshal(r) // numbers and strings always are JSON
	return u.SetOrRemove(table.AttrReading, string(text), !r.IsZero())
}

// SkipExtraction raises the session's watermark to its end, unless another worker has raised it.
func (s *ExtractionStore) SkipExtraction(ctx context.Context, user conversation.UserID, session conversation.Session,
) error {
	end := conversation.Watermark{Seq: session.LastSeq, At: session.LastMessageAt}
	u := setExtracted(end, conversation.Reading{}) // what was skipped is not asked again, either
	it, err := s.db.UpdateItem(ctx, table.KeyOfSession(user, session), u,
		table.IsIncarnation(session).And(isExtractedAs(session)))
	if err == nil {
		return NewDueStore(s.db).settleCovered(ctx, user, it)
	}
	return table.Failed("skip extraction", table.IgnoreConditionFailed(err))
}

// extractionWrite is the transaction of a batch, with the places of its conditions. forgotten has the places that check
// whether the user has deleted a new record before, by the record's id.
type extractionWrite struct {
	tx                       *table.Transaction
	sessionPlace, leasePlace int
	forgotten                map[string]int
}

// SaveExtraction stores what follows from a batch in one transaction: the watermark, the lease, the records, and those
// that make room for them.
func (s *ExtractionStore) SaveExtraction(ctx context.Context, user conversation.UserID, session conversation.Session,
	b extraction.Batch,
) (forgotten []string, err error) {
	for _, m := range b.Denied {
		if err := longterm.GiveBack(ctx, s.memories, user, m, b.Zone, nil); err != nil {
			return nil, err
		}
	}
	w := s.newExtractionWrite(user, session, b)
	k := table.KeyOfSession(user, session)
	lease := extractionKey(user)
	w.tx.DoneIf(func(r table.RecordSet) bool { // the watermark stays where more of the same answer follows
		now, _ := s.db.DecodeSession(r[k])
		isExtended := r[lease].Time(table.AttrLeaseUntil).Equal(conversation.Milliseconds(b.Lease.Until))
		return now.IsSame(session) && now.Extracted.Seq == b.Through.Seq && (b.Last || isExtended)
	}, k, lease)
	failures, err := s.db.Commit(ctx, "save extraction", w.tx, s.db.Backoff())
	if err != nil || failures == nil {
		return nil, err
	}
	existing, moved := failures[w.sessionPlace]
	now, _ := s.db.DecodeSession(existing)
	_, lost := failures[w.leasePlace]
	switch {
	case moved && !now.IsSame(session):
		return nil, fault.Missing("session")
	case lost:
		return nil, extraction.ErrLeaseLost
	}
	for id, place := range w.forgotten {
		if _, found := failures[place]; found {
			forgotten = append(forgotten, id)
		}
	}
	if len(forgotten) > 0 && len(forgotten) == len(failures) {
		return forgotten, nil
	}
	return nil, fault.New(fault.Conflict, "the session or what is known has changed")
}

func (s *ExtractionStore) newExtractionWrite(user conversation.UserID, session conversation.Session, b extraction.Batch,
) extractionWrite {
	k := table.KeyOfSession(user, session)
	w := extractionWrite{tx: s.db.Transaction(), forgotten: map[string]int{}}
	w.sessionPlace = w.tx.Update(k, setExtracted(b.Through, b.Reading),
		table.IsIncarnation(session).And(isExtractedAs(session), isDeletedSeqs(session)))
	if b.Last {
		w.leasePlace = w.tx.Delete(extractionKey(user), isLeasedBy(b.Lease))
	} else {
		u := table.Set(table.AttrLeaseUntil, b.Lease.Until)
		w.leasePlace = w.tx.Update(extractionKey(user), u, isLeasedBy(b.Lease))
	}
	w.tx.Check(table.GenerationKey(user), table.IsGeneration(session.Generation))
	s.addSkipped(w.tx, user, session, k.SK, b.Reading)
	records := len(b.Memories.New) + len(b.Memories.Changed) + len(b.Todos.New) + len(b.Todos.Changed)
	if records+len(b.Forgotten)+len(b.ForgottenMessages) == 0 {
		return w
	}
	w.tx.Check(preferencesKey(user), allowsMemory(session.Generation))
	at := recordsAt{user, session.Generation}
	s.deleteForgotten(w.tx, at, b)
	known := slices.DeleteFunc(slices.Clone(b.Known.Memories), func(k longterm.Memory) bool {
		return slices.ContainsFunc(b.Forgotten, func(m longterm.Memory) bool { return k.ID == m.ID })
	})
	s.addForgottenMessages(w.tx, at, b)
	addRecords(s.memories, &w, at, known, b.Known.Versions, b.Memories)
	addRecords(s.todos, &w, at, b.Known.Todos, b.Known.Versions, b.Todos)
	return w
}

// storedAs returns a known memory as it is stored, with what has changed of it since.
func (s *ExtractionStore) storedAs(user conversation.UserID, m longterm.Memory, known extraction.Known,
	generation int64,
) stored[longterm.Memory] {
	isLive := !slices.ContainsFunc(known.Past, func(p longterm.Memory) bool { return p.ID == m.ID })
	it := s.memories.encode(user, m, isLive, known.Versions[m.ID], generation)
	return stored[longterm.Memory]{value: m, key: table.KeyOf(it), live: isLive, version: known.Versions[m.ID]}
}

// allowsMemory is the condition that a user of a generation has not turned memory off.
func allowsMemory(generation int64) table.Condition {
	return table.Lacks(table.AttrMemory).Or(table.Is(table.AttrMemory, true),
		table.IsBelow(table.AttrGeneration, generation))
}

// skippedKey is the key of the record by which a skipped message of a session is due again.
func skippedKey(user conversation.UserID, sessionSK string, seq int) table.Key {
	return table.UserKey(user, fmt.Sprintf("%s%010d#%s", table.SkippedPrefix, seq, sessionSK))
}

// parseSkippedSK is the inverse of skippedKey for the sort key.
func parseSkippedSK(sk string) (context, sessionID string, seq int, ok bool) {
	rest, isSkipped := strings.CutPrefix(sk, table.SkippedPrefix)
	number, sessionSK, _ := strings.Cut(rest, "#")
	seq, err := strconv.Atoi(number)
	context, sessionID, ok = table.ParseSessionSK(sessionSK)
	return context, sessionID, seq, ok && isSkipped && err == nil
}

// addSkipped makes the messages due again that a batch skips, and removes the records of those that it has read.
func (s *ExtractionStore) addSkipped(t *table.Transaction, user conversation.UserID, session conversation.Session,
	sk string, after conversation.Reading,
) {
	for _, m := range after.Skipped {
		if !session.Reading.Skips(m.Seq) {
			k := skippedKey(user, sk, m.Seq)
			u := table.Set(table.AttrGeneration, session.Generation)
			t.Update(k, u.SetDue(k, s.db.Now().Add(extraction.RetryAfter)), isNotLater(session.Generation))
		}
	}
	for _, m := range session.Reading.Skipped {
		if !after.Skips(m.Seq) {
			t.Remove(skippedKey(user, sk, m.Seq))
		}
	}
}

// SkippedDue names the skipped message of a due record.
func (s *ExtractionStore) SkippedDue(d sweep.Due) (extraction.SkippedDue, bool) {
	context, id, seq, ok := parseSkippedSK(d.ID)
	return extraction.SkippedDue{Context: context, SessionID: id, Seq: seq}, ok
}

// deleteForgotten adds the deletions of memories that the user asked to forget. Those of one content leave one trace,
// with the messages of all.
func (s *ExtractionStore) deleteForgotten(t *table.Transaction, at recordsAt, b extraction.Batch) {
	for i, m := range b.Forgotten {
		memories := s.memories
		isSame := func(o longterm.Memory) bool {
			return s.memories.forgottenKey(at.user, o) == s.memories.forgottenKey(at.user, m)
		}
		if slices.ContainsFunc(b.Forgotten[:i], isSame) {
			memories = memories.WithoutTrace()
		}
		for _, later := range b.Forgotten[i+1:] {
			if isSame(later) {
				m.MessageIDs = slices.Concat(m.MessageIDs, later.MessageIDs)
			}
		}
		memories.addDelete(t, at.user, s.storedAs(at.user, m, b.Known, at.generation), at.generation)
	}
}

// addForgottenMessages adds the trace by which the sweep forgets messages of which there is no memory.
func (s *ExtractionStore) addForgottenMessages(t *table.Transaction, at recordsAt, b extraction.Batch) {
	if len(b.ForgottenMessages) == 0 {
		return
	}
	k := table.UserKey(at.user, table.ForgottenSK(messageTrace, strings.Join(b.ForgottenMessages, "\n")))
	it := k.Attributes().With(table.Item{
		table.AttrGeneration: table.IntAttr(at.generation), table.AttrDeletedAt: table.TimeAttr(s.db.Now()),
	}).With(s.db.dueNow(k))
	it.SetStrings(table.AttrMessageIDs, b.ForgottenMessages)
	it.SetTime(table.AttrAskedAt, b.PromisedAt)
	t.Replace(it)
}

// messageTrace is the kind of the traces of forgotten messages.
const messageTrace = "message"

// recordsAt says whose records are written.
type recordsAt struct {
	user       conversation.UserID
	generation int64
}

// change is a record that one transaction writes, from what it was. Nothing is written of one that stays as it is.
type change[T any] struct {
	from     *stored[T] // nil for a new record
	to       T
	live     bool
	isWanted bool // the caller wants the write, and not only the room
}

// addRecords adds the writes of new and changed records of one kind, and of those that become past by that.
func addRecords[T any](s *CollectionStore[T], w *extractionWrite, at recordsAt, known []T, versions map[string]int64,
	changes extraction.Changes[T],
) {
	k := s.kind
	var all []change[T]
	for _, v := range known {
		id := *k.ID(&v)
		it := s.encode(at.user, v, true, versions[id], at.generation)
		c := change[T]{from: &stored[T]{v, table.KeyOf(it), true, versions[id], it.Size()}, to: v}
		i := slices.IndexFunc(changes.Changed, func(changed T) bool { return *k.ID(&changed) == id })
		if i >= 0 {
			c.to, c.isWanted = changes.Changed[i], true
		}
		all = append(all, c)
	}
	for _, v := range changes.New {
		all = append(all, change[T]{to: v, isWanted: true})
	}
	s.makeRoom(all, at)
	moved := 0
	for _, c := range all {
		if c.from == nil {
			isNew := table.NotExists().Or(table.IsBelow(table.AttrAskedAt, k.At(c.to)))
			w.forgotten[*k.ID(&c.to)] = w.tx.Check(s.forgottenKey(at.user, c.to), isNew)
		}
		if !c.isWanted {
			if c.live {
				continue
			}
			if moved++; moved > len(changes.New)+spareMoves {
				continue // a later write makes it past
			}
		}
		s.addOwn(w.tx, at.user, recordChange[T]{
			from: c.from, to: c.to, generation: at.generation, isMove: !c.isWanted,
		}, c.live)
	}
}

// spareMoves is how many more records of one kind a batch makes past than it creates, so that what earlier batches left
// is made past, too. It leaves room in the transaction, of at most 100 writes, for all that a batch may change.
const spareMoves = 2

// makeRoom says which records are live when all changes are written.
func (s *CollectionStore[T]) makeRoom(all []change[T], at recordsAt) {
	records := make([]longterm.Sized[T], len(all))
	for i, c := range all {
		records[i] = longterm.Sized[T]{Value: c.to, Bytes: s.encode(at.user, c.to, true, 1, at.generation).Size()}
	}
	for i, live := range s.kind.Kind.Live(records, s.db.Now()) {
		all[i].live = live
	}
}

// forgottenKey is the key of the hash that a record leaves when its user deletes it.
func (s *CollectionStore[T]) forgottenKey(user conversation.UserID, record T) table.Key {
	return table.UserKey(user, table.ForgottenSK(s.kind.Name, longterm.Normalize(s.kind.Content(record))))
}

// WithoutTrace returns the same store, whose deletions leave no hash: what was deleted may be extracted again when the
// user says it again.
func (s *CollectionStore[T]) WithoutTrace() *CollectionStore[T] {
	kind := s.kind
	kind.Content = nil
	return &CollectionStore[T]{s.db, kind}
}
