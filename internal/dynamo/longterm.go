package dynamo

import (
	"context"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// The sort keys of the records of which a user has one.
const (
	profileSK     = livePrefix + "profile"
	seedSK        = livePrefix + "seed"
	userSummarySK = livePrefix + "user_summary"
)

// SingletonStore keeps one kind of record of which a user has one. It is safe for concurrent use.
type SingletonStore[T any] struct {
	db       *DB
	name, sk string
	encode   func(T) item
	decode   func(item) T
	// fallback is what a user has before the first Put. Without it, Get returns a NotFound error.
	fallback func() T
}

var _ longterm.Singleton[longterm.Seed] = (*SingletonStore[longterm.Seed])(nil)

// NewProfileStore returns the profiles of a DB.
func NewProfileStore(db *DB) *SingletonStore[longterm.Profile] {
	return &SingletonStore[longterm.Profile]{db, "profile", profileSK, encodeProfile, decodeProfile, nil}
}

// NewSeedStore returns the seeds of a DB.
func NewSeedStore(db *DB) *SingletonStore[longterm.Seed] {
	return &SingletonStore[longterm.Seed]{db, "seed", seedSK, encodeSeed, decodeSeed, nil}
}

// NewPreferencesStore returns the preferences of a DB. A user who has set none has the defaults.
func NewPreferencesStore(db *DB) *SingletonStore[longterm.Preferences] {
	return &SingletonStore[longterm.Preferences]{
		db, "preferences", preferencesSK, encodePreferences, decodePreferences, longterm.DefaultPreferences,
	}
}

// Get returns the user's record.
func (s *SingletonStore[T]) Get(ctx context.Context, user conversation.UserID) (T, error) {
	var none T
	k := key{partition(user), s.sk}
	records, err := s.db.readCurrent(ctx, "read "+s.name, user, k)
	if err != nil {
		return none, err
	}
	if it, ok := records.current(user, k); ok {
		return s.decode(it), nil
	}
	if s.fallback != nil {
		return s.fallback(), nil
	}
	return none, fault.Missing(s.name)
}

// Put replaces the user's record and returns it as stored.
func (s *SingletonStore[T]) Put(ctx context.Context, user conversation.UserID, record T) (T, error) {
	it := s.encode(record).with(key{partition(user), s.sk}.attributes())
	if err := s.db.putCurrent(ctx, "write "+s.name, user, it); err != nil {
		return record, err
	}
	return s.decode(it), nil
}

// putCurrent puts a record with the user's generation, whether or not there is one.
func (db *DB) putCurrent(ctx context.Context, op string, user conversation.UserID, it item) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	_, err := db.commitAtGeneration(ctx, op, user, db.backoff(), func(generation int64) (*transaction, int) {
		it[attrGeneration] = intAttr(generation)
		t := db.transaction()
		t.replace(it)
		return t, t.check(generationKey(user), isGeneration(generation))
	})
	return err
}

const coachPrefix = livePrefix + coachKind + "#"

// CoachStore keeps coaches. It is safe for concurrent use.
type CoachStore struct{ db *DB }

var _ longterm.CoachStore = (*CoachStore)(nil)

// NewCoachStore returns the coaches of a DB.
func NewCoachStore(db *DB) *CoachStore { return &CoachStore{db} }

// Coach reads one coach.
func (s *CoachStore) Coach(ctx context.Context, user conversation.UserID, id string) (longterm.Coach, error) {
	k := key{partition(user), coachPrefix + id}
	records, err := s.db.readCurrent(ctx, "read coach", user, k)
	if err != nil {
		return longterm.Coach{}, err
	}
	it, ok := records.current(user, k)
	if !ok {
		return longterm.Coach{}, fault.Missing("coach")
	}
	return decodeCoach(id, it), nil
}

// Coaches lists coaches by id.
func (s *CoachStore) Coaches(ctx context.Context, user conversation.UserID, page conversation.Page,
) ([]longterm.Coach, conversation.Position, error) {
	isCoach := func(sk string) bool { return len(sk) > len(coachPrefix) }
	after, err := startAfter(user, page.After, coachPrefix, afterPrefix(coachPrefix), isCoach)
	if err != nil {
		return nil, "", err
	}
	q := query{where: withPrefix(user, coachPrefix), page: page.Limit + 1, after: after}
	records := s.db.query(ctx, "list coaches", q)
	return collectCurrent(ctx, s.db, user, page.Limit, records, func(it item) (longterm.Coach, bool) {
		return decodeCoach(recordID(it), it), true
	})
}

// PutCoach replaces a coach or adds one. A user has at most 100, of limited size together, because every prompt reads
// them all.
func (s *CoachStore) PutCoach(ctx context.Context, user conversation.UserID, coach longterm.Coach,
) (longterm.Coach, error) {
	if !conversation.ValidID(coach.ID) {
		return longterm.Coach{}, fault.InvalidField("coachId", "must be 1 to 128 of [A-Za-z0-9_.:-]")
	}
	all, _, err := s.Coaches(ctx, user, conversation.Page{Limit: maxCoaches})
	if err != nil {
		return longterm.Coach{}, err
	}
	exists, bytes := false, encodeCoach(coach).size()
	for _, c := range all {
		if c.ID == coach.ID {
			exists = true
		} else {
			bytes += encodeCoach(c).size()
		}
	}
	if !exists && len(all) >= maxCoaches {
		return longterm.Coach{}, fault.Newf(fault.Conflict, "a user can have at most %d coaches", maxCoaches)
	}
	if bytes > maxCoachBytes {
		return longterm.Coach{}, fault.Newf(fault.Conflict, "a user's coaches can take at most %d KiB together",
			maxCoachBytes>>10)
	}
	it := encodeCoach(coach).with(key{partition(user), coachPrefix + coach.ID}.attributes())
	return coach, s.db.putCurrent(ctx, "write coach", user, it)
}

// DeleteCoach deletes a coach. Its sessions get the default persona.
func (s *CoachStore) DeleteCoach(ctx context.Context, user conversation.UserID, id string) error {
	if _, err := s.Coach(ctx, user, id); err != nil {
		return err
	}
	err := s.db.deleteItem(ctx, key{partition(user), coachPrefix + id}, exists())
	if _, gone := conditionFailed(err); gone && !deletedBefore(err) {
		return fault.Missing("coach")
	}
	return failed("delete coach", ignoreConditionFailed(err))
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
	var records []item
	var generation int64
	for it, err := range s.db.query(ctx, "read long-term memory", query{where: withPrefix(user, livePrefix)}) {
		if err != nil {
			return longterm.Snapshot{}, err
		}
		records = append(records, it)
		generation = max(generation, it.int64(attrGeneration))
	}
	for _, it := range records {
		if it.int64(attrGeneration) == generation {
			s.addTo(&snapshot, it)
		}
	}
	return snapshot, nil
}

func (s *LongTermStore) addTo(snapshot *longterm.Snapshot, it item) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(it.string(attrSK), livePrefix), "#")
	now := s.db.now()
	switch kind {
	case "profile":
		snapshot.Profile = new(decodeProfile(it))
	case "seed":
		snapshot.Seed = new(decodeSeed(it))
	case "user_summary":
		snapshot.UserSummary = new(decodeUserSummary(it))
	case spineKind:
		snapshot.Spines[id] = decodeSpine(id, it)
	case coachKind:
		snapshot.Coaches[id] = decodeCoach(id, it)
	case goalKind:
		snapshot.Goals = goals.appendLive(snapshot.Goals, it, now)
	case checkInKind:
		if c := checkIns.decode(it); snapshot.LatestCheckIn == nil || c.Timestamp.After(snapshot.LatestCheckIn.Timestamp) {
			snapshot.LatestCheckIn = &c
		}
	case memoryKind:
		snapshot.Memories = memories.appendLive(snapshot.Memories, it, now)
	case todoKind:
		snapshot.Todos = todos.appendLive(snapshot.Todos, it, now)
	}
}
