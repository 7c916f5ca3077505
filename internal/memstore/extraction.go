package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// ExtractionWriter stores what is extracted.
type ExtractionWriter struct{ *DB }

// Known reads what is known of the user.
func (s ExtractionWriter) Known(_ context.Context, user conversation.UserID, generation int64,
) (extraction.Known, error) {
	u, unlock := s.lock(user)
	defer unlock()
	known := extraction.Known{Versions: map[string]int64{}}
	if generation != u.generation {
		return known, nil
	}
	known.Memories = addVersions(u.memories.live(memories, s.now()), memories, known.Versions)
	known.Todos = addVersions(u.todos.live(todos, s.now()), todos, known.Versions)
	for _, id := range slices.Sorted(maps.Keys(u.forgotten)) {
		if strings.HasPrefix(id, forgottenDue+memories.Name+"/") {
			known.Forgotten = append(known.Forgotten, u.forgotten[id].likeness)
		}
	}
	return copied(known), nil
}

func addVersions[T any](records []record[T], k kind[T], versions map[string]int64) []T {
	var out []T
	for _, r := range records {
		versions[*k.ID(&r.value)] = r.version
		out = append(out, r.value)
	}
	return out
}

// LeaseExtraction gives the user's extraction to an owner.
func (s ExtractionWriter) LeaseExtraction(_ context.Context, user conversation.UserID, session conversation.Session,
	l extraction.Lease,
) (bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if u.extraction.owner != l.Owner && !u.extraction.isFree(s.now()) {
		return false, nil
	}
	if x, ok := u.session(session.ID, &session); !ok || x.Extracted.Seq != session.Extracted.Seq {
		return false, fault.New(fault.Conflict, "the session has changed")
	}
	u.extraction = lease{l.Owner, l.Until}
	return true, nil
}

// ReleaseExtraction gives the lease back.
func (s ExtractionWriter) ReleaseExtraction(_ context.Context, user conversation.UserID, l extraction.Lease) error {
	u, unlock := s.lock(user)
	defer unlock()
	if u.extraction.owner == l.Owner {
		u.extraction = lease{}
	}
	return nil
}

// SkipExtraction raises the watermark to the session's end, unless another worker has raised it.
func (s ExtractionWriter) SkipExtraction(_ context.Context, user conversation.UserID, session conversation.Session,
) error {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(session.ID, &session)
	if ok && x.Extracted.Seq == session.Extracted.Seq {
		x.Extracted = conversation.Watermark{Seq: session.LastSeq, At: session.LastMessageAt}
		x.Reading = conversation.Reading{}
		u.settleCovered(x)
	}
	return nil
}

// SaveExtraction stores what follows from a batch, all or nothing.
func (s ExtractionWriter) SaveExtraction(_ context.Context, user conversation.UserID, session conversation.Session,
	b extraction.Batch,
) (forgotten []string, err error) {
	u, unlock := s.lock(user)
	defer unlock()
	b = copied(b)
	x, ok := u.session(session.ID, &session)
	changes := len(b.Memories.New) + len(b.Memories.Changed) + len(b.Todos.New) + len(b.Todos.Changed) + len(b.Forgotten)
	switch {
	case !ok:
		return nil, fault.Missing("session")
	case u.extraction.owner != b.Lease.Owner:
		return nil, extraction.ErrLeaseLost
	case x.Extracted.Seq != session.Extracted.Seq, x.Deleted.String() != session.Deleted.String(),
		changes > 0 && !u.access().Preferences.Memory,
		isStale(u, memories, b.Known.Versions, slices.Concat(b.Memories.Changed, b.Forgotten)),
		isStale(u, todos, b.Known.Versions, b.Todos.Changed):
		return nil, fault.New(fault.Conflict, "the session or what is known has changed")
	}
	forgotten = slices.Concat(deletedBefore(u, memories, b.Memories.New), deletedBefore(u, todos, b.Todos.New))
	if len(forgotten) > 0 {
		return forgotten, nil
	}
	u.saveReading(s.DB, x, b)
	for _, m := range b.Forgotten {
		u.forget(s.DB, m)
	}
	saveChanges(s.DB, u, memories, b.Memories)
	saveChanges(s.DB, u, todos, b.Todos)
	return nil, nil
}

// isStale reports whether somebody has written one of the records since they were read.
func isStale[T any](u *user, k kind[T], versions map[string]int64, records []T) bool {
	return slices.ContainsFunc(records, func(v T) bool {
		id := *k.ID(&v)
		return k.of(u.records)[id].version != versions[id]
	})
}

// deletedBefore returns the ids of the records whose contents the user has deleted before.
func deletedBefore[T any](u *user, k kind[T], records []T) []string {
	var ids []string
	for _, v := range records {
		if _, ok := u.forgotten[k.traceID(v)]; ok {
			ids = append(ids, *k.ID(&v))
		}
	}
	return ids
}

// saveReading stores how far a session is read, and makes the messages due again that were skipped.
func (u *user) saveReading(db *DB, x *session, b extraction.Batch) {
	id := func(m conversation.SkippedMessage) string {
		return fmt.Sprint(skippedDue, m.Seq, "/", x.Context, "/", x.ID)
	}
	for _, m := range b.Reading.Skipped {
		if !x.Reading.Skips(m.Seq) {
			u.setDue(sweep.Skipped, id(m), db.now().Add(extraction.RetryAfter))
		}
	}
	for _, m := range x.Reading.Skipped {
		if !b.Reading.Skips(m.Seq) {
			delete(u.due, id(m))
		}
	}
	x.Extracted, x.Reading = b.Through, b.Reading
	if u.extraction.until = b.Lease.Until; b.Last {
		u.extraction = lease{}
	}
}

// saveChanges stores the new and changed records of one kind, and makes those past that leave room for them.
func saveChanges[T any](db *DB, u *user, k kind[T], changes extraction.Changes[T]) {
	wanted := map[string]bool{}
	for _, v := range slices.Concat(changes.Changed, changes.New) {
		wanted[*k.ID(&v)] = true
	}
	var all []longterm.Sized[T]
	for _, r := range k.of(u.records).live(k, db.now()) {
		if !wanted[*k.ID(&r.value)] {
			all = append(all, longterm.Sized[T]{Value: r.value, Bytes: sizeOfJSON(r.value)})
		}
	}
	for _, v := range slices.Concat(changes.Changed, changes.New) {
		all = append(all, longterm.Sized[T]{Value: v, Bytes: sizeOfJSON(v)})
	}
	for i, live := range k.Live(all, db.now()) {
		if v := all[i].Value; wanted[*k.ID(&v)] || !live {
			k.write(db, u, v, live)
		}
	}
}

// forget deletes a memory as its user does, and makes its trace due, by which the sweep takes its messages out of what
// was made of them.
func (u *user) forget(db *DB, m longterm.Memory) {
	memories.remove(db, u, m, traceOf(m))
	u.setDue(sweep.Deletions, memories.traceID(m), db.now())
}

// Forget deletes the memories that choose returns of the user's valid ones. It asks choose without the lock. Those that
// extraction has deleted because of the same message count, too.
func (s ExtractionWriter) Forget(ctx context.Context, user conversation.UserID, messageID string,
	choose func([]longterm.Memory) []longterm.Memory,
) (gone int, err error) {
	for {
		access, _ := SessionReader(s).Access(ctx, user)
		known, err := s.Known(ctx, user, access.Generation)
		if err != nil {
			return gone, err
		}
		valid := slices.DeleteFunc(known.Memories, func(m longterm.Memory) bool { return !m.Valid(s.now()) })
		chosen := choose(valid)
		n := s.forgetAll(user, chosen, known.Versions, messageID)
		if gone += n; n == len(chosen) {
			return cmp.Or(gone, s.forgottenBy(user, messageID)), nil
		}
	}
}

// forgottenBy counts the deleted memories whose traces name a message.
func (s ExtractionWriter) forgottenBy(user conversation.UserID, messageID string) (n int) {
	u, unlock := s.lock(user)
	defer unlock()
	for _, t := range u.forgotten {
		if slices.Contains(t.messageIDs, messageID) {
			n++
		}
	}
	return n
}

// forgetAll deletes those of the memories that nobody has written since, and returns how many.
func (s ExtractionWriter) forgetAll(user conversation.UserID, chosen []longterm.Memory, versions map[string]int64,
	messageID string,
) (n int) {
	u, unlock := s.lock(user)
	defer unlock()
	for _, m := range chosen {
		if !isStale(u, memories, versions, []longterm.Memory{m}) {
			m.MessageIDs = append(slices.Clone(m.MessageIDs), messageID)
			u.forget(s.DB, m)
			n++
		}
	}
	return n
}

// SkippedDue names the skipped message of a due record.
func (ExtractionWriter) SkippedDue(d sweep.Due) (extraction.SkippedDue, bool) {
	rest, ok := strings.CutPrefix(d.ID, skippedDue)
	parts := strings.SplitN(rest, "/", 3)
	if !ok || len(parts) < 3 {
		return extraction.SkippedDue{}, false
	}
	seq, err := strconv.Atoi(parts[0])
	return extraction.SkippedDue{Context: parts[1], SessionID: parts[2], Seq: seq}, err == nil
}
