package dynamo

import (
	"context"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// LongTerm returns the user's live long-term memory, read consistently in one query: it is capped when it is written.
// What is no longer live by the clock is left out; a later write makes it past. While the user is being erased, a mark
// among the records says which of them count.
func (s *Store) LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error) {
	snap := longterm.Snapshot{Spines: map[string]longterm.Spine{}, Coaches: map[string]longterm.Coach{}}
	var records []item
	var generation int64
	for it, err := range s.query(ctx, "read long-term memory", query{where: beginning(user, livePrefix)}) {
		if err != nil {
			return longterm.Snapshot{}, err
		}
		records = append(records, it)
		generation = max(generation, it.whole(attrGeneration))
	}
	for _, it := range records {
		if it.whole(attrGeneration) == generation {
			s.addTo(&snap, it)
		}
	}
	return snap, nil
}

func (s *Store) addTo(snap *longterm.Snapshot, it item) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(it.text(attrSK), livePrefix), "#")
	now := s.now()
	switch kind {
	case "profile":
		snap.Profile = new(decodeProfile(it))
	case "seed":
		snap.Seed = new(decodeSeed(it))
	case "user_summary":
		snap.UserSummary = new(decodeUserSummary(it))
	case spineKind:
		snap.Spines[id] = decodeSpine(id, it)
	case coachKind:
		snap.Coaches[id] = decodeCoach(id, it)
	case goalKind:
		snap.Goals = appendLive(snap.Goals, goals.decode(it), goals.live(goals.decode(it), now))
	case checkInKind:
		if c := checkIns.decode(it); snap.LatestCheckIn == nil || c.Timestamp.After(snap.LatestCheckIn.Timestamp) {
			snap.LatestCheckIn = &c
		}
	case memoryKind:
		m := memories.decode(it)
		snap.Memories = appendLive(snap.Memories, m, memories.live(m, now))
	case todoKind:
		t := todos.decode(it)
		snap.Todos = appendLive(snap.Todos, t, todos.live(t, now))
	}
}

func appendLive[T any](list []T, v T, live bool) []T {
	if live {
		return append(list, v)
	}
	return list
}
