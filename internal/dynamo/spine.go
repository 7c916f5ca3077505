package dynamo

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// SpineStore saves and lists spines. It is safe for concurrent use.
type SpineStore struct {
	*SessionReader
	*DueStore
}

// NewSpineStore returns the spines of a DB.
func NewSpineStore(db *DB) *SpineStore { return &SpineStore{NewSessionReader(db), NewDueStore(db)} }

// addSpineDue makes the spine of a session's coach due. A spine that waits stays due at its time, unless isUrgent. A
// worker that has claimed it does not take it out of the index any more, because it may not have seen what made it due.
func addSpineDue(t *table.Transaction, user conversation.UserID, session conversation.Session, at time.Time,
	isUrgent bool,
) {
	k := table.SpineMarkKey(user, session.CoachID)
	u := table.Set(table.AttrGeneration, session.Generation)
	if isUrgent {
		u = u.SetDue(k, at)
	} else {
		u = u.SetDueIfNone(k, at)
	}
	t.Update(k, u.EndClaim(), isNotLater(session.Generation))
}

// clearSpine removes the text and the remarks of the spine of a session's coach, which may be drawn from what is being
// deleted, and makes it due at once, so that it is written anew from what is left. Its version rises, so that a worker
// that has read what is deleted does not store it.
func clearSpine(t *table.Transaction, user conversation.UserID, session conversation.Session, now time.Time) {
	if session.CoachID == "" {
		return // an app's own session may have none
	}
	u := table.Set(table.AttrGeneration, session.Generation).
		Set(table.AttrUpdatedAt, now).
		Add(table.AttrVersion, 1).
		Remove(table.AttrContent, table.AttrTokens, table.AttrPatterns, table.AttrWins, table.AttrStruggles,
			table.AttrContexts, table.AttrUnshared, table.AttrCoveredTo, table.AttrModel, table.AttrPromptVersion)
	t.Update(table.SpineKey(user, session.CoachID), u, isNotLater(session.Generation))
	addSpineDue(t, user, session, now, true)
}

// isNotLater is the condition that a record is not of a later generation.
func isNotLater(generation int64) table.Condition {
	return table.NotExists().Or(table.IsAtMost(table.AttrGeneration, generation))
}

// SpineDue reads the spine of a due record, with the preferences and the user summary of its user, in one call.
func (s *SpineStore) SpineDue(ctx context.Context, d sweep.Due) (summary.DueSpine, error) {
	coach, ok := strings.CutPrefix(d.ID, table.SpineMarkPrefix)
	if !ok {
		return summary.DueSpine{}, fault.Missing("spine")
	}
	mark, spine, app := dueKey(d), table.SpineKey(d.User, coach), table.NewKey(d.Partition, userSummarySK)
	records, err := s.DueStore.db.ReadCurrent(ctx, "read spine", d.User, mark, spine, app, preferencesKey(d.User))
	if err != nil {
		return summary.DueSpine{}, err
	}
	if _, ok := records.Current(d.User, mark); !ok {
		return summary.DueSpine{}, fault.Missing("spine")
	}
	due := summary.DueSpine{Spine: longterm.Spine{CoachID: coach}, Access: accessIn(records, d.User)}
	if it, ok := records.Current(d.User, spine); ok {
		due.Spine = decodeSpine(coach, it)
	}
	if it, ok := records.Current(d.User, app); ok {
		due.ReplacedAt = table.Decode[longterm.UserSummary](it).StoredAt
	}
	return due, nil
}

// SaveSpine stores a spine in one transaction. Its conditions are that nobody has written or cleared the spine since it
// was read, that the user still allows memory, and that the user's generation is the same.
func (s *SpineStore) SaveSpine(ctx context.Context, user conversation.UserID, generation int64, spine longterm.Spine,
) error {
	const op = "save spine"
	db := s.DueStore.db
	isAsRead := isVersion(spine.Version).And(table.Is(table.AttrGeneration, generation))
	isFirst := spine.Version == 0
	if isFirst {
		isAsRead = table.NotExists().Or(table.IsBelow(table.AttrGeneration, generation))
	}
	spine.Version++
	it := table.Encode(spine).With(table.SpineKey(user, spine.CoachID).Attributes())
	it.Set(table.AttrGeneration, generation)
	t := db.Transaction()
	t.Put(it, isAsRead)
	generationPlace := t.Check(table.GenerationKey(user), table.IsGeneration(generation))
	t.Check(preferencesKey(user), allowsMemory(generation))
	k := table.SpineKey(user, spine.CoachID)
	t.DoneIf(func(r table.RecordSet) bool {
		return r[k].Int64(table.AttrVersion) == spine.Version && r[k].String(table.AttrContent) == spine.Text
	}, k)
	failures, err := db.Commit(ctx, op, t, db.Backoff())
	if err != nil {
		return err
	}
	if failures != nil {
		if _, erased := failures[generationPlace]; erased {
			return fault.Missing("user")
		}
		return fault.New(fault.Conflict, "the spine was written or cleared, or memory is off")
	}
	if isFirst {
		return s.deleteOldSpines(ctx, user, generation)
	}
	return nil
}

// Spines returns the user's spines that have a text, by coach id, and the user's preferences.
func (s *SpineStore) Spines(ctx context.Context, user conversation.UserID,
) ([]longterm.Spine, longterm.Preferences, error) {
	const op = "read spines"
	db := s.DueStore.db
	records, err := db.ReadCurrent(ctx, op, user, preferencesKey(user))
	if err != nil {
		return nil, longterm.Preferences{}, err
	}
	spines, err := db.spines(ctx, op, user, records.Generation(user))
	isCleared := func(s longterm.Spine) bool { return s.Text == "" }
	return slices.DeleteFunc(spines, isCleared), accessIn(records, user).Preferences, err
}

// deleteOldSpines deletes the spines that were written longest ago where there are too many. When another session with
// such a coach comes to rest, its spine is written anew.
func (s *SpineStore) deleteOldSpines(ctx context.Context, user conversation.UserID, generation int64) error {
	const op = "delete old spines"
	db := s.DueStore.db
	spines, err := db.spines(ctx, op, user, generation)
	if err != nil || len(spines) <= longterm.MaxSpines {
		return err
	}
	slices.SortFunc(spines, func(a, b longterm.Spine) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	for _, old := range spines[:len(spines)-longterm.MaxSpines] {
		if err := db.DeleteWhere(ctx, op, table.SpineKey(user, old.CoachID), isVersion(old.Version)); err != nil {
			return err
		}
	}
	return nil
}

// spines reads the spines of a user of a generation.
func (db *DB) spines(ctx context.Context, op string, user conversation.UserID, generation int64,
) ([]longterm.Spine, error) {
	var spines []longterm.Spine
	for it, err := range db.Query(ctx, op, table.Query{Where: table.WithPrefix(user, table.SpinePrefix)}) {
		if err != nil {
			return nil, err
		}
		if it.Int64(table.AttrGeneration) == generation {
			spines = append(spines, decodeSpine(recordID(it), it))
		}
	}
	return spines, nil
}

// UserSummaryStore keeps user summaries: what the app has stored, and the remarks of the user's spines. It is safe for
// concurrent use.
type UserSummaryStore struct {
	*SingletonStore[longterm.UserSummary]
}

// NewUserSummaryStore returns the user summaries of a DB.
func NewUserSummaryStore(db *DB) *UserSummaryStore {
	return &UserSummaryStore{taggedSingleton[longterm.UserSummary](db, "user summary", userSummarySK)}
}

// Get returns the app's user summary with the remarks of the spines.
func (s *UserSummaryStore) Get(ctx context.Context, user conversation.UserID) (longterm.UserSummary, error) {
	k := table.UserKey(user, s.sk)
	records, err := s.db.ReadCurrent(ctx, "read user summary", user, k)
	if err != nil {
		return longterm.UserSummary{}, err
	}
	spines, err := s.db.spines(ctx, "read user summary", user, records.Generation(user))
	if err != nil {
		return longterm.UserSummary{}, err
	}
	it, stored := records.Current(user, k)
	all := table.Decode[longterm.UserSummary](it).With(spines)
	if !stored && all.IsEmpty() {
		return all, fault.Missing("user summary")
	}
	return all, nil
}

// Put replaces the user summary, the remarks that the spines have now included.
func (s *UserSummaryStore) Put(ctx context.Context, user conversation.UserID, u longterm.UserSummary,
) (longterm.UserSummary, error) {
	u.StoredAt = conversation.Milliseconds(s.db.Now())
	return s.SingletonStore.Put(ctx, user, u)
}
