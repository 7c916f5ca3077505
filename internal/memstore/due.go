package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// mark is the place of a record in the due index.
type mark struct {
	queue sweep.Queue
	at    time.Time
	// claimed says that a worker has the record until at, and version is the record's as it was claimed.
	claimed bool
	version int64
	// failures and since are those of sweep.Claim.
	failures int
	since    time.Time
}

// The ids of records in the due index begin with what they are. Those of memories, check-ins and documents are the ids
// of the records, and those of tombstones are the tombstones'.
const (
	sessionDue   = "session/"
	spineDue     = "spine/"
	skippedDue   = "skipped/"
	forgottenDue = "forgotten/"
	erasureID    = "user"
)

func sessionDueID(id string) string { return sessionDue + id }

// setDue makes a record due at a time. What is known of its failures stays.
func (r *records) setDue(q sweep.Queue, id string, at time.Time) {
	if m := r.due[id]; m != nil {
		m.at = conversation.Milliseconds(at)
		return
	}
	r.due[id] = &mark{queue: q, at: conversation.Milliseconds(at)}
}

// setDueIfNone makes a record due that is not.
func (r *records) setDueIfNone(q sweep.Queue, id string, at time.Time) {
	if r.due[id] == nil {
		r.setDue(q, id, at)
	}
}

// setDueAnew makes a record due as one that was written: no claim and no failure is left.
func (r *records) setDueAnew(q sweep.Queue, id string, at time.Time) {
	delete(r.due, id)
	r.setDue(q, id, at)
}

// dueAfterIdle returns when a session falls due whose first message without a summary is stored now.
func (db *DB) dueAfterIdle() time.Time { return conversation.Milliseconds(db.now().Add(db.idle)) }

// mark returns the place of a record in the index, or nil.
func (u *user) mark(id string) *mark {
	if id == erasureID {
		return u.erasureDue
	}
	return u.due[id]
}

func (u *user) removeDue(id string) {
	if id == erasureID {
		u.erasureDue = nil
	}
	delete(u.due, id)
}

// Due keeps the index of what is due.
type Due struct{ *DB }

var _ sweep.Store = Due{}

// Due reads what is due in a shard.
func (s Due) Due(_ context.Context, shard sweep.Shard, at time.Time, after *sweep.Due, limit int) ([]sweep.Due, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []sweep.Due
	for _, u := range s.users {
		for id, m := range u.marks() {
			d := sweep.Due{Partition: string(u.id), ID: id, User: u.id, Shard: shard, DueAt: m.at}
			isAfter := after == nil || compareDue(d, *after) > 0
			if isAfter && !m.at.After(at) && m.queue.ShardOf(string(u.id)+"/"+id) == shard {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, compareDue)
	return out[:min(limit, len(out))], nil
}

func compareDue(a, b sweep.Due) int {
	return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.ID, b.ID))
}

// marks returns all that is due of a user, by id.
func (u *user) marks() map[string]*mark {
	if u.erasureDue == nil {
		return u.due
	}
	all := maps.Clone(u.due)
	all[erasureID] = u.erasureDue
	return all
}

// Claim claims a record that is due when it was.
func (s Due) Claim(_ context.Context, d sweep.Due, until time.Time) (sweep.Claim, bool, error) {
	u, unlock := s.lock(d.User)
	defer unlock()
	m := u.mark(d.ID)
	if m == nil || !m.at.Equal(d.DueAt) {
		return sweep.Claim{}, false, nil
	}
	return u.claim(m, d, d.DueAt, until), true, nil
}

// claim claims a record that is due at a time. It counts a failure, which the end of a claim that succeeded takes back.
func (u *user) claim(m *mark, d sweep.Due, due, until time.Time) sweep.Claim {
	if m.failures++; m.since.IsZero() {
		m.since = due
	}
	m.at, m.claimed, m.version = conversation.Milliseconds(until), true, 0
	for id, s := range u.sessions {
		if sessionDueID(id) == d.ID {
			m.version = s.Version
		}
	}
	return sweep.Claim{Due: d, Until: m.at, Failures: m.failures, Since: m.since}
}

// claimed returns the mark of a claim, unless somebody has written the record since.
func (u *user) claimed(c sweep.Claim) (*mark, bool) {
	m := u.mark(c.ID)
	return m, m != nil && m.claimed && m.at.Equal(c.Until)
}

// Extend changes the time of a claim.
func (s Due) Extend(_ context.Context, c sweep.Claim, until time.Time) (sweep.Claim, error) {
	u, unlock := s.lock(c.User)
	defer unlock()
	c.Until, until = conversation.Milliseconds(until), c.Until
	if m, ok := u.claimed(sweep.Claim{Due: c.Due, Until: until}); ok {
		m.at = c.Until
	}
	return c, nil
}

// Postpone ends a claim and makes its record due at a time.
func (s Due) Postpone(_ context.Context, c sweep.Claim, at time.Time, succeeded bool) error {
	u, unlock := s.lock(c.User)
	defer unlock()
	if m, ok := u.claimed(c); ok {
		m.postpone(at, succeeded)
	}
	return nil
}

func (m *mark) postpone(at time.Time, succeeded bool) {
	m.at, m.claimed = conversation.Milliseconds(at), false
	if succeeded {
		m.failures, m.since = 0, time.Time{}
	}
}

// Remove takes a claimed record out of the index.
func (s Due) Remove(_ context.Context, c sweep.Claim) error {
	u, unlock := s.lock(c.User)
	defer unlock()
	if _, ok := u.claimed(c); ok {
		u.removeDue(c.ID)
	}
	return nil
}

// Lease gives a shard to an owner until a time.
func (s Due) Lease(_ context.Context, shard sweep.Shard, owner string, until time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leases[shard].isFree(s.now()) {
		return false, nil
	}
	s.leases[shard] = lease{owner, until}
	return true, nil
}

// Release gives a shard back.
func (s Due) Release(_ context.Context, shard sweep.Shard, owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[shard].owner == owner {
		delete(s.leases, shard)
	}
	return nil
}

// DueSessions are the sessions that the sweep works on.
type DueSessions struct{ *DB }

var _ summary.DueSessions = DueSessions{}

// SessionDue reads the session of a due record.
func (s DueSessions) SessionDue(_ context.Context, d sweep.Due) (conversation.Session, error) {
	u, unlock := s.lock(d.User)
	defer unlock()
	for id, x := range u.sessions {
		if sessionDueID(id) == d.ID {
			return u.read(x), nil
		}
	}
	return conversation.Session{}, fault.Missing("session")
}

// ClaimSession claims a session that is due when it was read, or was not due then.
func (s DueSessions) ClaimSession(_ context.Context, user conversation.UserID, session conversation.Session,
	until time.Time,
) (sweep.Claim, bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	_, ok := u.session(session.ID, &session)
	id := sessionDueID(session.ID)
	m, due := u.due[id], session.DueAt
	switch {
	case !ok, m == nil && !due.IsZero(), m != nil && !m.at.Equal(due):
		return sweep.Claim{}, false, nil
	case m == nil:
		due = s.clock()
		u.setDue(sweep.Sessions, id, due)
		m = u.due[id]
	}
	d := sweep.Due{
		Partition: string(user), ID: id, User: user, Shard: m.queue.ShardOf(string(user) + "/" + id), DueAt: session.DueAt,
	}
	return u.claim(m, d, due, until), true, nil
}

// Settle removes a session from the index if all of it is covered and it has not changed.
func (s DueSessions) Settle(_ context.Context, user conversation.UserID, session conversation.Session) (bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	return u.settle(session), nil
}

func (u *user) settle(as conversation.Session) bool {
	now, ok := u.session(as.ID, &as)
	if !ok || now.Version != as.Version || now.Summarized.Seq < now.LastSeq || now.Indexed.Seq < now.LastSeq ||
		now.NeedsExtraction() || !hasSummaryOf(now.Session, as) {
		return false
	}
	now.markSummaryIndexed(as)
	u.removeDue(sessionDueID(as.ID))
	return true
}

// hasSummaryOf reports whether two sessions have the same summary.
func hasSummaryOf(a, b conversation.Session) bool {
	if a.Summary == nil || b.Summary == nil {
		return a.Summary == b.Summary
	}
	return a.Summary.UpdatedAt.Equal(conversation.Milliseconds(b.Summary.UpdatedAt))
}

// markSummaryIndexed stores that the summary of a session is indexed, if it is.
func (s *session) markSummaryIndexed(as conversation.Session) {
	if as.Summary != nil && as.Summary.Indexed {
		s.Summary.Indexed = true
	}
}

// EndClaim ends the claim of a session that is not done.
func (s DueSessions) EndClaim(_ context.Context, c sweep.Claim, session conversation.Session, at time.Time,
	succeeded bool,
) error {
	u, unlock := s.lock(c.User)
	defer unlock()
	m, ok := u.claimed(c)
	if !ok {
		return nil
	}
	m.postpone(at, succeeded)
	if now, ok := u.session(session.ID, nil); ok && hasSummaryOf(now.Session, session) {
		now.markSummaryIndexed(session)
		u.settleCovered(now)
	}
	return nil
}

// settleCovered settles a session that was just written, if everything in it is covered.
func (u *user) settleCovered(s *session) {
	if now := u.read(s); !now.DueAt.IsZero() && now.Indexed.Seq >= now.LastSeq && summary.IsDone(now) {
		u.settle(now)
	}
}
