package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

var _ longterm.CoachStore = (*Store)(nil)

const coachPrefix = livePrefix + coachKind + "#"

// Coach reads one coach.
func (s *Store) Coach(ctx context.Context, user conversation.UserID, id string) (longterm.Coach, error) {
	k := key{partition(user), coachPrefix + id}
	f, err := s.readOf(ctx, "read coach", user, k)
	if err != nil {
		return longterm.Coach{}, err
	}
	it, ok := f.of(user, k)
	if !ok {
		return longterm.Coach{}, fault.Missing("coach")
	}
	return decodeCoach(id, it), nil
}

// Coaches lists coaches by id.
func (s *Store) Coaches(ctx context.Context, user conversation.UserID, page conversation.Page) ([]longterm.Coach, conversation.Position, error) {
	after, err := startBehind(user, page.After, coachPrefix, afterPrefix(coachPrefix), func(sk string) bool {
		return len(sk) > len(coachPrefix)
	})
	if err != nil {
		return nil, "", err
	}
	q := query{where: beginning(user, coachPrefix), page: page.Limit + 1, after: after}
	return collectPresent(ctx, s, user, page.Limit, s.query(ctx, "list coaches", q), func(it item) (longterm.Coach, bool) {
		return decodeCoach(idIn(it), it), true
	})
}

// PutCoach replaces a coach or adds one. A user has at most 100: every prompt reads them all.
func (s *Store) PutCoach(ctx context.Context, user conversation.UserID, coach longterm.Coach) (longterm.Coach, error) {
	if !conversation.ValidID(coach.ID) {
		return longterm.Coach{}, fault.InvalidField("coachId", "must be 1 to 128 of [A-Za-z0-9_.:-]")
	}
	all, _, err := s.Coaches(ctx, user, conversation.Page{Limit: maxCoaches})
	if err != nil {
		return longterm.Coach{}, err
	}
	known := false
	for _, c := range all {
		known = known || c.ID == coach.ID
	}
	if !known && len(all) >= maxCoaches {
		return longterm.Coach{}, fault.Newf(fault.Conflict, "a user can have at most %d coaches", maxCoaches)
	}
	it := encodeCoach(coach).with(key{partition(user), coachPrefix + coach.ID}.attributes())
	return coach, s.replace(ctx, "write coach", user, it)
}

// DeleteCoach deletes a coach; the sessions with it get the default persona.
func (s *Store) DeleteCoach(ctx context.Context, user conversation.UserID, id string) error {
	if _, err := s.Coach(ctx, user, id); err != nil {
		return err
	}
	err := s.deleteItem(ctx, key{partition(user), coachPrefix + id}, exists())
	if _, gone := conditionFailed(err); gone {
		return fault.Missing("coach")
	}
	return failed("delete coach", err)
}
