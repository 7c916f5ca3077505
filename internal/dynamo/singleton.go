package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// The sort keys of what a user has one of.
const (
	profileSK     = livePrefix + "profile"
	seedSK        = livePrefix + "seed"
	userSummarySK = livePrefix + "user_summary"
)

// Profiles is the store of users' profiles.
func (s *Store) Profiles() longterm.Singleton[longterm.Profile] {
	return singleton[longterm.Profile]{s, "profile", profileSK, encodeProfile, decodeProfile, nil}
}

// Seeds is the store of users' seeds.
func (s *Store) Seeds() longterm.Singleton[longterm.Seed] {
	return singleton[longterm.Seed]{s, "seed", seedSK, encodeSeed, decodeSeed, nil}
}

// UserSummaries is the store of users' summaries.
func (s *Store) UserSummaries() longterm.Singleton[longterm.UserSummary] {
	return singleton[longterm.UserSummary]{s, "user summary", userSummarySK, encodeUserSummary, decodeUserSummary, nil}
}

// Preferences is the store of users' preferences; who has set none has the defaults.
func (s *Store) Preferences() longterm.Singleton[longterm.Preferences] {
	return singleton[longterm.Preferences]{
		s, "preferences", preferencesSK, encodePreferences, decodePreferences, longterm.DefaultPreferences,
	}
}

// singleton keeps the one record of a kind that a user has.
type singleton[T any] struct {
	*Store
	name, sk string
	encode   func(T) item
	decode   func(item) T
	fallback func() T // what stands for the record before the first Put; nil makes that NotFound
}

func (c singleton[T]) Get(ctx context.Context, user conversation.UserID) (T, error) {
	var none T
	k := key{partition(user), c.sk}
	f, err := c.readOf(ctx, "read "+c.name, user, k)
	if err != nil {
		return none, err
	}
	if it, ok := f.of(user, k); ok {
		return c.decode(it), nil
	}
	if c.fallback != nil {
		return c.fallback(), nil
	}
	return none, fault.Missing(c.name)
}

func (c singleton[T]) Put(ctx context.Context, user conversation.UserID, record T) (T, error) {
	it := c.encode(record).with(key{partition(user), c.sk}.attributes())
	if err := c.replace(ctx, "write "+c.name, user, it); err != nil {
		return record, err
	}
	return c.decode(it), nil
}

// replace puts a record on condition of the user's generation, which it takes from what the condition meets.
func (s *Store) replace(ctx context.Context, op string, user conversation.UserID, it item) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	generation := s.known.generation(user)
	for p := s.patience(); ; {
		it[attrGeneration] = whole(generation)
		t := s.transaction()
		t.set(it)
		place := t.check(generationKey(user), isGeneration(generation))
		refused, err := s.commit(ctx, op, t, p)
		if err != nil || refused == nil {
			return err
		}
		met, _ := refused.met(place)
		generation = met.whole(attrGeneration)
		s.known.keepGeneration(user, generation)
	}
}
