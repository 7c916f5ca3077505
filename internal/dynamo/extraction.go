package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
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

// Known reads the user's memories and todos that are among the live records, also those that are too old by now. One
// query reads both, and the few small records between them.
func (s *ExtractionStore) Known(ctx context.Context, user conversation.UserID, generation int64,
) (extraction.Known, error) {
	known := extraction.Known{Versions: map[string]int64{}}
	low, high := recordSK(livePrefix, memoryKind, ""), afterPrefix(recordSK(livePrefix, todoKind, ""))
	for it, err := range s.db.query(ctx, "read what is known", query{where: between(user, low, high)}) {
		if err != nil {
			return known, err
		}
		if it.int64(attrGeneration) != generation {
			continue
		}
		sk := it.string(attrSK)
		if id, _, ok := parseRecordSK(sk, memoryKind); ok {
			known.Memories = append(known.Memories, decodeMemory(it))
			known.Versions[id] = it.int64(attrVersion)
		}
		if id, _, ok := parseRecordSK(sk, todoKind); ok {
			known.Todos = append(known.Todos, decodeTodo(it))
			known.Versions[id] = it.int64(attrVersion)
		}
	}
	var err error
	known.Forgotten, err = s.forgotten(ctx, user, generation)
	return known, err
}

// forgotten reads the likenesses of the memories that the user has deleted.
func (s *ExtractionStore) forgotten(ctx context.Context, user conversation.UserID, generation int64,
) ([]longterm.Likeness, error) {
	prefix := forgottenPrefix + memoryKind + "#"
	var out []longterm.Likeness
	q := query{where: between(user, prefix, afterPrefix(prefix))}
	for it, err := range s.db.query(ctx, "read what is forgotten", q) {
		if err != nil {
			return nil, err
		}
		if it.int64(attrGeneration) == generation {
			out = append(out, longterm.LikenessOf(it.bytes(attrLikeness)))
		}
	}
	return out, nil
}

// extractionKey is the key of the lease on a user's extraction.
func extractionKey(user conversation.UserID) key { return key{partition(user), extractionSK} }

// LeaseExtraction takes the lease, on condition that it is free, that the session is as far as it was read, and that
// the user was not erased.
func (s *ExtractionStore) LeaseExtraction(ctx context.Context, user conversation.UserID, session conversation.Session,
	l extraction.Lease,
) (bool, error) {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return false, fault.Missing("session")
	}
	t := s.db.transaction()
	u := expression.Set(field(attrLease), value(stringAttr(l.Owner))).
		Set(field(attrLeaseUntil), value(timeAttr(l.Until))).
		Set(field(attrGeneration), value(intAttr(session.Generation)))
	isFree := notExists().Or(field(attrLeaseUntil).LessThanEqual(value(timeAttr(s.db.now()))), isLeasedBy(l))
	place := t.update(extractionKey(user), u, isFree)
	t.check(key{partition(user), sk}, isIncarnation(session).And(isExtractedAs(session)))
	t.check(generationKey(user), isGeneration(session.Generation))
	failures, err := s.db.commit(ctx, "lease extraction", t, s.db.backoff())
	if err != nil || failures == nil {
		return err == nil, err
	}
	if _, taken := failures.existing(place); taken {
		return false, nil
	}
	return false, fault.New(fault.Conflict, "the session has changed")
}

// ReleaseExtraction deletes the lease, if the owner still has it.
func (s *ExtractionStore) ReleaseExtraction(ctx context.Context, user conversation.UserID, l extraction.Lease) error {
	err := s.db.deleteItem(ctx, extractionKey(user), isLeasedBy(l))
	return failed("release extraction", ignoreConditionFailed(err))
}

// isLeasedBy is the condition that the owner has the lease, whether or not its time is over: nobody has taken it over.
func isLeasedBy(l extraction.Lease) expression.ConditionBuilder {
	return field(attrLease).Equal(value(stringAttr(l.Owner)))
}

// isExtractedAs is the condition that the session is read as far as it was when the worker read it.
func isExtractedAs(session conversation.Session) expression.ConditionBuilder {
	return field(attrExtractedSeq).Equal(value(intAttr(session.Extracted.Seq)))
}

func setExtracted(through conversation.Watermark, r conversation.Reading) expression.UpdateBuilder {
	u := setWatermark(expression.UpdateBuilder{}, attrExtractedSeq, attrExtractedAt, through)
	text, _ := json.Marshal(r) // numbers and strings always are JSON
	return setOrRemove(u, attrReading, stringAttr(string(text)), !r.IsZero())
}

// decodeReading reads what setExtracted writes. A record without it, or with what is no JSON, had no bad answer.
func decodeReading(it item) (r conversation.Reading) {
	if json.Unmarshal([]byte(it.string(attrReading)), &r) != nil {
		return conversation.Reading{}
	}
	return r
}

// SkipExtraction raises the session's watermark to its end, unless another worker has raised it.
func (s *ExtractionStore) SkipExtraction(ctx context.Context, user conversation.UserID, session conversation.Session,
) error {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return fault.Missing("session")
	}
	end := conversation.Watermark{Seq: session.LastSeq, At: session.LastMessageAt}
	u := setExtracted(end, conversation.Reading{}) // what was skipped is not asked again, either
	it, err := s.db.updateItem(ctx, key{partition(user), sk}, u, isIncarnation(session).And(isExtractedAs(session)))
	if err == nil {
		return NewDueStore(s.db).settleCovered(ctx, user, it)
	}
	return failed("skip extraction", ignoreConditionFailed(err))
}

// extractionWrite is the transaction of a batch, with the places of its conditions. forgotten has the places that check
// whether the user has deleted a new record before, by the record's id.
type extractionWrite struct {
	tx                       *transaction
	sessionPlace, leasePlace int
	forgotten                map[string]int
}

// SaveExtraction stores what follows from a batch in one transaction: the watermark, the lease, the records, and those
// that make room for them.
func (s *ExtractionStore) SaveExtraction(ctx context.Context, user conversation.UserID, session conversation.Session,
	b extraction.Batch,
) (forgotten []string, err error) {
	w, err := s.newExtractionWrite(user, session, b)
	if err != nil {
		return nil, err
	}
	failures, err := s.db.commit(ctx, "save extraction", w.tx, s.db.backoff())
	if err != nil || failures == nil {
		return nil, err
	}
	existing, moved := failures.existing(w.sessionPlace)
	now, _ := decodeSession(existing)
	_, lost := failures.existing(w.leasePlace)
	switch {
	case moved && !now.IsSame(session):
		return nil, fault.Missing("session")
	case moved && failures.ambiguous && now.Extracted.Seq == b.Through.Seq:
		return nil, nil // an earlier attempt stored it, and its answer was lost
	case lost:
		return nil, extraction.ErrLeaseLost
	}
	for id, place := range w.forgotten {
		if _, found := failures.existing(place); found {
			forgotten = append(forgotten, id)
		}
	}
	if len(forgotten) > 0 && len(forgotten) == len(failures.byPlace) {
		return forgotten, nil
	}
	return nil, fault.New(fault.Conflict, "the session or what is known has changed")
}

func (s *ExtractionStore) newExtractionWrite(user conversation.UserID, session conversation.Session, b extraction.Batch,
) (extractionWrite, error) {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return extractionWrite{}, fault.Missing("session")
	}
	w := extractionWrite{tx: s.db.transaction(), forgotten: map[string]int{}}
	w.sessionPlace = w.tx.update(key{partition(user), sk}, setExtracted(b.Through, b.Reading),
		isIncarnation(session).And(isExtractedAs(session), isDeletedSeqs(session)))
	if b.Last {
		w.leasePlace = w.tx.delete(extractionKey(user), isLeasedBy(b.Lease))
	} else {
		u := expression.Set(field(attrLeaseUntil), value(timeAttr(b.Lease.Until)))
		w.leasePlace = w.tx.update(extractionKey(user), u, isLeasedBy(b.Lease))
	}
	w.tx.check(generationKey(user), isGeneration(session.Generation))
	s.addSkipped(w.tx, user, session, sk, b.Reading)
	if len(b.Memories.New)+len(b.Memories.Changed)+len(b.Todos.New)+len(b.Todos.Changed)+len(b.Forgotten) == 0 {
		return w, nil
	}
	allowsMemory := expression.AttributeNotExists(field(attrMemory)).Or(
		field(attrMemory).Equal(value(boolAttr(true))), field(attrGeneration).LessThan(value(intAttr(session.Generation))))
	w.tx.check(preferencesKey(user), allowsMemory)
	at := recordsAt{user, session.Generation}
	known := slices.Clone(b.Known.Memories)
	for _, m := range b.Forgotten {
		it := s.memories.encode(user, m, true, b.Known.Versions[m.ID], session.Generation)
		from := stored[longterm.Memory]{value: m, key: keyOf(it), live: true, version: b.Known.Versions[m.ID]}
		s.memories.addDelete(w.tx, user, from, session.Generation, s.dueForgetting(user, m))
		known = slices.DeleteFunc(known, func(k longterm.Memory) bool { return k.ID == m.ID })
	}
	addRecords(s.memories, &w, at, known, b.Known.Versions, b.Memories)
	addRecords(s.todos, &w, at, b.Known.Todos, b.Known.Versions, b.Todos)
	return w, nil
}

// skippedKey is the key of the record by which a skipped message of a session is due again.
func skippedKey(user conversation.UserID, sessionSK string, seq int) key {
	return key{partition(user), fmt.Sprintf("%s%010d#%s", skippedPrefix, seq, sessionSK)}
}

// parseSkippedSK is the inverse of skippedKey for the sort key.
func parseSkippedSK(sk string) (context, sessionID string, seq int, ok bool) {
	rest, isSkipped := strings.CutPrefix(sk, skippedPrefix)
	number, sessionSK, _ := strings.Cut(rest, "#")
	seq, err := strconv.Atoi(number)
	context, sessionID, ok = parseSessionSK(sessionSK)
	return context, sessionID, seq, ok && isSkipped && err == nil
}

// addSkipped makes the messages due again that a batch skips, and removes the records of those that it has read.
func (s *ExtractionStore) addSkipped(t *transaction, user conversation.UserID, session conversation.Session, sk string,
	after conversation.Reading,
) {
	for _, m := range after.Skipped {
		if !session.Reading.Skips(m.Seq) {
			k := skippedKey(user, sk, m.Seq)
			u := expression.Set(field(attrGeneration), value(intAttr(session.Generation)))
			t.update(k, setDue(u, k, s.db.now().Add(extraction.RetryAfter)), isNotLater(session.Generation))
		}
	}
	for _, m := range session.Reading.Skipped {
		if !after.Skips(m.Seq) {
			t.remove(skippedKey(user, sk, m.Seq))
		}
	}
}

// SkippedDue names the skipped message of a due record.
func (s *ExtractionStore) SkippedDue(d sweep.Due) (extraction.SkippedDue, bool) {
	context, id, seq, ok := parseSkippedSK(d.ID)
	return extraction.SkippedDue{Context: context, SessionID: id, Seq: seq}, ok
}

// dueForgetting makes the trace of a forgotten memory due, by which the sweep takes its messages out of what was made
// of them.
func (s *ExtractionStore) dueForgetting(user conversation.UserID, m longterm.Memory) item {
	return item{
		attrDueAt: timeAttr(s.db.now()), attrDueShard: intAttr(dueShard(s.memories.forgottenKey(user, m))),
	}
}

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
		c := change[T]{from: &stored[T]{v, keyOf(it), true, versions[id], it.size()}, to: v}
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
			w.forgotten[*k.ID(&c.to)] = w.tx.check(s.forgottenKey(at.user, c.to), notExists())
		}
		if !c.isWanted {
			if c.live {
				continue
			}
			if moved++; moved > len(changes.New)+spareMoves {
				continue // a later write makes it past
			}
		}
		s.addOwn(w.tx, at.user, recordChange[T]{from: c.from, to: c.to, generation: at.generation}, c.live)
	}
}

// spareMoves is how many more records of one kind a batch makes past than it creates, so that what earlier batches left
// is made past, too. It leaves room in the transaction, of at most 100 writes, for all that a batch may change.
const spareMoves = 2

// makeRoom says which records are live when all changes are written.
func (s *CollectionStore[T]) makeRoom(all []change[T], at recordsAt) {
	records := make([]longterm.Sized[T], len(all))
	for i, c := range all {
		records[i] = longterm.Sized[T]{Value: c.to, Bytes: s.encode(at.user, c.to, true, 1, at.generation).size()}
	}
	for i, live := range s.kind.Kind.Live(records, s.db.now()) {
		all[i].live = live
	}
}

// forgottenKey is the key of the hash that a record leaves when its user deletes it.
func (s *CollectionStore[T]) forgottenKey(user conversation.UserID, record T) key {
	return key{partition(user), forgottenSK(s.kind.Name, longterm.Normalize(s.kind.Content(record)))}
}

// WithoutTrace returns the same store, whose deletions leave no hash: what was deleted may be extracted again when the
// user says it again.
func (s *CollectionStore[T]) WithoutTrace() *CollectionStore[T] {
	kind := s.kind
	kind.Content = nil
	return &CollectionStore[T]{s.db, kind}
}
