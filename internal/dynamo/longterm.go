package dynamo

import (
	"context"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// The sort keys of the records of which a user has one.
const (
	profileSK     = table.LivePrefix + "profile"
	seedSK        = table.LivePrefix + "seed"
	userSummarySK = table.LivePrefix + "user_summary"
)

// SingletonStore keeps one kind of record of which a user has one. It is safe for concurrent use.
type SingletonStore[T any] struct {
	db       *DB
	name, sk string
	encode   func(T) table.Item
	decode   func(table.Item) T
	// fallback is what a user has before the first Put. Without it, Get returns a NotFound error.
	fallback func() T
}

// taggedSingleton returns a store of records whose tags say how they are stored.
func taggedSingleton[T any](db *DB, name, sk string) *SingletonStore[T] {
	return &SingletonStore[T]{db, name, sk, table.Encode[T], table.Decode[T], nil}
}

// NewProfileStore returns the profiles of a DB.
func NewProfileStore(db *DB) *SingletonStore[longterm.Profile] {
	return taggedSingleton[longterm.Profile](db, "profile", profileSK)
}

// NewSeedStore returns the seeds of a DB.
func NewSeedStore(db *DB) *SingletonStore[longterm.Seed] {
	return taggedSingleton[longterm.Seed](db, "seed", seedSK)
}

// NewPreferencesStore returns the preferences of a DB. A user who has set none has the defaults.
func NewPreferencesStore(db *DB) *SingletonStore[longterm.Preferences] {
	return &SingletonStore[longterm.Preferences]{
		db, "preferences", table.PreferencesSK, encodePreferences, decodePreferences, longterm.DefaultPreferences,
	}
}

// Get returns the user's record.
func (s *SingletonStore[T]) Get(ctx context.Context, user conversation.UserID) (T, error) {
	var none T
	k := table.UserKey(user, s.sk)
	records, err := s.db.ReadCurrent(ctx, "read "+s.name, user, k)
	if err != nil {
		return none, err
	}
	if it, ok := records.Current(user, k); ok {
		return s.decode(it), nil
	}
	if s.fallback != nil {
		return s.fallback(), nil
	}
	return none, fault.Missing(s.name)
}

// Put replaces the user's record and returns it as stored.
func (s *SingletonStore[T]) Put(ctx context.Context, user conversation.UserID, record T) (T, error) {
	it := s.encode(record).With(table.UserKey(user, s.sk).Attributes())
	if err := s.db.putCurrent(ctx, "write "+s.name, user, it); err != nil {
		return record, err
	}
	return s.decode(it), nil
}

// putCurrent puts a record with the user's generation, whether or not there is one.
func (db *DB) putCurrent(ctx context.Context, op string, user conversation.UserID, it table.Item) error {
	ctx, cancel := context.WithTimeout(ctx, table.OperationTimeout)
	defer cancel()
	_, err := db.commitAtGeneration(ctx, op, user, db.Backoff(), func(generation int64) (*table.Transaction, int) {
		it.Set(table.AttrGeneration, generation)
		t := db.Transaction()
		t.Replace(it)
		return t, t.Check(table.GenerationKey(user), table.IsGeneration(generation))
	})
	return err
}

const coachPrefix = table.LivePrefix + table.CoachKind + "#"

// CoachStore keeps coaches. It is safe for concurrent use.
type CoachStore struct{ db *DB }

// NewCoachStore returns the coaches of a DB.
func NewCoachStore(db *DB) *CoachStore { return &CoachStore{db} }

// Coach reads one coach.
func (s *CoachStore) Coach(ctx context.Context, user conversation.UserID, id string) (longterm.Coach, error) {
	k := table.UserKey(user, coachPrefix+id)
	it, err := s.db.readOne(ctx, "coach", user, k)
	if err != nil {
		return longterm.Coach{}, err
	}
	return decodeCoach(id, it), nil
}

// Coaches lists coaches by id.
func (s *CoachStore) Coaches(ctx context.Context, user conversation.UserID, page conversation.Page,
) ([]longterm.Coach, conversation.Position, error) {
	isCoach := func(sk string) bool { return len(sk) > len(coachPrefix) }
	after, err := table.StartAfter(user, page.After, coachPrefix, table.AfterPrefix(coachPrefix), isCoach)
	if err != nil {
		return nil, "", err
	}
	q := table.Query{Where: table.WithPrefix(user, coachPrefix), Page: page.Limit + 1, After: after}
	records := s.db.Query(ctx, "list coaches", q)
	return collectCurrent(ctx, s.db, user, page.Limit, records, func(it table.Item) (longterm.Coach, bool) {
		return decodeCoach(recordID(it), it), true
	})
}

// PutCoach replaces a coach or adds one.
func (s *CoachStore) PutCoach(ctx context.Context, user conversation.UserID, coach longterm.Coach,
) (longterm.Coach, error) {
	all, _, err := s.Coaches(ctx, user, conversation.Page{Limit: longterm.MaxCoaches})
	if err != nil {
		return longterm.Coach{}, err
	}
	size := func(c longterm.Coach) int { return table.Encode(c).Size() }
	if err := longterm.CheckCoach(coach, all, size); err != nil {
		return longterm.Coach{}, err
	}
	it := table.Encode(coach).With(table.UserKey(user, coachPrefix+coach.ID).Attributes())
	return coach, s.db.putCurrent(ctx, "write coach", user, it)
}

// DeleteCoach deletes a coach. Its sessions get the default persona.
func (s *CoachStore) DeleteCoach(ctx context.Context, user conversation.UserID, id string) error {
	if _, err := s.Coach(ctx, user, id); err != nil {
		return err
	}
	err := s.db.DeleteItem(ctx, table.UserKey(user, coachPrefix+id), table.Exists())
	if _, gone := table.ConditionFailed(err); gone {
		return fault.Missing("coach")
	}
	return table.Failed("delete coach", err)
}

// LongTermStore reads all of a user's long-term memory at once. It is safe for concurrent use.
type LongTermStore struct{ db *DB }

// NewLongTermStore returns the long-term memory of a DB.
func NewLongTermStore(db *DB) *LongTermStore { return &LongTermStore{db} }

// LongTerm returns the user's live long-term records, read consistently in one query. Their number is limited when they
// are written. Records that are no longer live because of their age are left out, until a later write makes them past.
//
// Only records of the latest generation among them count. While the user is being erased, a mark among them is of the
// new generation.
func (s *LongTermStore) LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error) {
	snapshot := longterm.Snapshot{Spines: map[string]longterm.Spine{}, Coaches: map[string]longterm.Coach{}}
	var records []table.Item
	var generation int64
	for it, err := range s.db.Query(ctx, "read long-term memory",
		table.Query{Where: table.WithPrefix(user, table.LivePrefix)}) {
		if err != nil {
			return longterm.Snapshot{}, err
		}
		records = append(records, it)
		generation = max(generation, it.Int64(table.AttrGeneration))
	}
	for _, it := range records {
		if it.Int64(table.AttrGeneration) == generation {
			s.addTo(&snapshot, it)
		}
	}
	return snapshot, nil
}

func (s *LongTermStore) addTo(snapshot *longterm.Snapshot, it table.Item) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(it.String(table.AttrSK), table.LivePrefix), "#")
	now := s.db.Now()
	switch kind {
	case "profile":
		snapshot.Profile = new(table.Decode[longterm.Profile](it))
	case "seed":
		snapshot.Seed = new(table.Decode[longterm.Seed](it))
	case "user_summary":
		snapshot.UserSummary = new(table.Decode[longterm.UserSummary](it))
	case table.SpineKind:
		snapshot.Spines[id] = decodeSpine(id, it)
	case table.CoachKind:
		snapshot.Coaches[id] = decodeCoach(id, it)
	case table.GoalKind:
		snapshot.Goals = goals.appendLive(snapshot.Goals, it, now)
	case table.CheckInKind:
		if c := checkIns.decode(it); snapshot.LatestCheckIn == nil || c.Timestamp.After(snapshot.LatestCheckIn.Timestamp) {
			snapshot.LatestCheckIn = &c
		}
	case table.MemoryKind:
		snapshot.Memories = memories.appendLive(snapshot.Memories, it, now)
	case table.TodoKind:
		snapshot.Todos = todos.appendLive(snapshot.Todos, it, now)
	}
}
