package dynamo

import (
	"context"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

var _ recall.Store = (*Store)(nil)

// Resolve reads the records behind vector ids, in their order, consistently, in as few batch reads as there are
// hundreds of keys. The parts of one long text are one hit, under the first part's id. What is deleted, superseded,
// expired or of another generation is left out, and so is what is no id of this user's.
func (s *Store) Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]recall.Hit, error) {
	var keys []key
	candidates := map[string][]key{} // by vector id
	taken := map[key]bool{}
	for _, id := range ids {
		c := candidatesFor(user, id)
		if len(c) == 0 || taken[c[0]] {
			continue
		}
		taken[c[0]] = true
		candidates[id] = c
		keys = append(keys, c...)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	f, err := s.read(ctx, "resolve hits", keys...)
	if err != nil {
		return nil, err
	}
	var hits []recall.Hit
	for _, id := range ids {
		if h, ok := s.hit(f, candidates[id], generation); ok {
			h.ID = id
			hits = append(hits, h)
			delete(candidates, id)
		}
	}
	return hits, nil
}

// candidatesFor are the keys that a vector id may stand for: a record may have moved from what is live to what is past.
func candidatesFor(user conversation.UserID, id string) []key {
	if keys := keysOfVector(user, id); keys != nil {
		return keys
	}
	if whole, ok := wholeOfPart(id); ok {
		return keysOfVector(user, whole)
	}
	return nil
}

func keysOfVector(user conversation.UserID, id string) []key {
	pk := partition(user)
	if sk, ok := parseMessageID(user, id); ok {
		return []key{{pk, sk}}
	}
	if recordType, subject, ok := strings.Cut(id, "#"); ok {
		if sk, ok := summarySK(conversation.RecordType(recordType), subject); ok {
			return []key{{pk, sk}}
		}
		return nil
	}
	for _, kind := range []string{memoryKind, checkInKind} {
		if _, ok := conversation.TimeOfID(kind, id); ok {
			return []key{{pk, recordSK(livePrefix, kind, id)}, {pk, recordSK(pastPrefix, kind, id)}}
		}
	}
	return nil
}

// wholeOfPart cuts the number off a part's id: "...#3" or "...#p3".
func wholeOfPart(id string) (string, bool) {
	i := strings.LastIndexByte(id, '#')
	if i < 0 {
		return "", false
	}
	digits := strings.TrimPrefix(id[i+1:], "p")
	return id[:i], digits != "" && strings.Trim(digits, "0123456789") == ""
}

func (s *Store) hit(f found, candidates []key, generation int64) (recall.Hit, bool) {
	for _, k := range candidates {
		if it, ok := f[k]; ok && it.whole(attrGeneration) == generation {
			return s.decodeHit(it)
		}
	}
	return recall.Hit{}, false
}

func (s *Store) decodeHit(it item) (recall.Hit, bool) {
	sk := it.text(attrSK)
	if m, ok := decodeMessage(it); ok {
		return recall.Hit{Message: &m}, true
	}
	if sum, ok := decodeSummary(it); ok {
		return recall.Hit{Summary: &sum}, true
	}
	if _, _, ok := recordIDIn(sk, memoryKind); ok {
		m := memories.decode(it)
		return recall.Hit{Memory: &m}, m.Valid(s.now())
	}
	if _, _, ok := recordIDIn(sk, checkInKind); ok {
		c := checkIns.decode(it)
		return recall.Hit{CheckIn: &c}, true
	}
	return recall.Hit{}, false
}
