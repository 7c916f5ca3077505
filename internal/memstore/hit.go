package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/vector"
)

// RecordReader reads the records of vector ids.
type RecordReader struct{ *DB }

// Resolve reads the records of vector ids, each once.
func (s RecordReader) Resolve(_ context.Context, user conversation.UserID, generation int64, ids []string,
) ([]recall.Hit, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if generation != u.generation {
		return nil, nil
	}
	var hits []recall.Hit
	taken := map[string]bool{}
	for _, id := range ids {
		recordID, h, ok := u.recordOf(id, s.now())
		if !ok || taken[recordID] {
			continue
		}
		taken[recordID] = true
		h.ID = id
		hits = append(hits, copied(h))
	}
	return hits, nil
}

// recordOf returns the record of a vector id, which may be that of a part. A memory has to be valid.
func (r *records) recordOf(vectorID string, now time.Time) (recordID string, h recall.Hit, ok bool) {
	if h, ok := r.hit(vectorID, now); ok {
		return vectorID, h, true
	}
	if whole, isPart := vector.CutPart(vectorID); isPart {
		h, ok = r.hit(whole, now)
		return whole, h, ok
	}
	return "", h, false
}

func (r *records) hit(id string, now time.Time) (recall.Hit, bool) {
	if m, ok := r.messages[id]; ok {
		return recall.Hit{Message: m}, true
	}
	if sum, ok := r.summaries[id]; ok {
		return recall.Hit{Summary: &sum.Summary}, true
	}
	if m, ok := r.memories.get(memories, id, now); ok {
		return recall.Hit{Memory: &m.value}, m.value.Valid(longterm.InLastZone(now))
	}
	if c, ok := r.checkIns[id]; ok {
		return recall.Hit{CheckIn: &c.value}, true
	}
	d, ok := r.documents[id]
	return recall.Hit{Document: &d.Document}, ok && !d.isExpired(now)
}

// Memories returns the user's memories, the newest first.
func (s RecordReader) Memories(_ context.Context, user conversation.UserID, generation int64, withPast bool,
) ([]longterm.Memory, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if generation != u.generation {
		return nil, nil
	}
	var live, past []longterm.Memory
	for _, r := range slices.Backward(u.memories.all(memories, s.now())) {
		if r.live {
			live = append(live, r.value)
		} else if withPast && len(past) < recall.PastMemories {
			past = append(past, r.value)
		}
	}
	return copied(append(live, past...)), nil
}

// Progress keeps how far sessions and records are indexed.
type Progress struct{ *DB }

// SessionsAt reads sessions.
func (s Progress) SessionsAt(_ context.Context, refs []indexing.SessionRef,
) (map[indexing.SessionRef]conversation.Session, error) {
	out := map[indexing.SessionRef]conversation.Session{}
	for _, ref := range refs {
		u, unlock := s.lock(ref.User)
		if x, ok := u.session(ref.SessionID, nil); ok && x.Context == ref.Context && ref.Generation == u.generation {
			out[ref] = u.read(x)
		}
		unlock()
	}
	return out, nil
}

// MarkIndexed raises the watermark of a session.
func (s Progress) MarkIndexed(_ context.Context, user conversation.UserID, session conversation.Session,
	through conversation.Watermark,
) error {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(session.ID, &session)
	switch {
	case !ok:
		return fault.Missing("session")
	case x.Indexed.Seq < session.Indexed.Seq, x.Indexed.Seq >= through.Seq:
		return fault.New(fault.Conflict, "the session is indexed as far already")
	}
	x.Indexed = copied(through)
	u.settleCovered(x)
	return nil
}

// ClaimIndexing claims the messages of a session until a time.
func (s Progress) ClaimIndexing(_ context.Context, user conversation.UserID, session conversation.Session,
	now, until time.Time,
) (conversation.Session, bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(session.ID, &session)
	if !ok {
		return session, false, fault.Missing("session")
	}
	isFree := x.indexingUntil.IsZero() || x.indexingUntil.Before(now)
	if isFree {
		x.indexingUntil = conversation.Milliseconds(until)
	}
	return u.read(x), isFree, nil
}

// EndIndexing ends a claim that was made until that time.
func (s Progress) EndIndexing(_ context.Context, user conversation.UserID, session conversation.Session,
	until time.Time,
) (conversation.Session, error) {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(session.ID, &session)
	if !ok {
		return session, fault.Missing("session")
	}
	if x.indexingUntil.Equal(conversation.Milliseconds(until)) {
		x.indexingUntil = time.Time{}
	}
	return u.read(x), nil
}

// recordRef returns a memory, check-in or document by its id. A document may have expired.
func (u *user) recordRef(id string, now time.Time) (indexing.RecordRef, bool) {
	ref := indexing.RecordRef{ID: id, Generation: u.generation}
	if m, ok := u.memories.get(memories, id, now); ok {
		ref.Version, ref.Past = m.version, !m.live
		return ref, true
	}
	if c, ok := u.checkIns[id]; ok {
		ref.Version, ref.Past = c.version, !c.live
		return ref, true
	}
	d, ok := u.documents[id]
	ref.Version, ref.Vectors = d.version, d.Vectors
	return ref, ok
}

// MarkRecordIndexed takes a record out of the due index, or makes it due when it expires.
func (s Progress) MarkRecordIndexed(_ context.Context, user conversation.UserID, r indexing.RecordRef) error {
	u, unlock := s.lock(user)
	defer unlock()
	now, ok := u.recordRef(r.ID, s.now())
	switch {
	case !ok, now.Version != r.Version, u.due[r.ID] == nil:
	case r.ExpiresAt.IsZero():
		u.removeDue(r.ID)
	default:
		u.setDueAnew(sweep.Records, r.ID, r.ExpiresAt)
	}
	return nil
}

// RecordDue returns the record of a due one.
func (s Progress) RecordDue(_ context.Context, d sweep.Due) (indexing.RecordRef, error) {
	u, unlock := s.lock(d.User)
	defer unlock()
	if ref, ok := u.recordRef(d.ID, s.now()); ok {
		return ref, nil
	}
	return indexing.RecordRef{}, fault.Missing("record")
}
