package longterm

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Evidence is a message that a memory was drawn from and that is still there.
type Evidence struct {
	MessageID, SessionID string
	Timestamp            time.Time
}

// Past is a memory in the history of another one, with its evidence, oldest first.
type Past struct {
	Memory   Memory
	Messages []Evidence
}

// HistoryOf returns the memories that led to the one of an id, itself, and those that came after it, oldest first. The
// memory is one of them.
func HistoryOf(all []Memory, id string) []Memory {
	successors, in := map[string]string{}, map[string]bool{id: true}
	for _, m := range all {
		successors[m.ID] = m.SupersededBy
	}
	for known := 0; known < len(in); {
		known = len(in)
		for _, m := range all {
			if in[m.SupersededBy] {
				in[m.ID] = true
			}
		}
	}
	for next := successors[id]; next != "" && !in[next]; next = successors[next] {
		in[next] = true
	}
	history := slices.DeleteFunc(slices.Clone(all), func(m Memory) bool { return !in[m.ID] })
	slices.SortFunc(history, func(a, b Memory) int {
		return cmp.Or(a.Said().Compare(b.Said()), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return history
}

// isRejected reports whether a memory ended because its review found it wrong.
func (m Memory) isRejected() bool { return m.Status == Waiting && m.EndedReason == EndedFalse }

// Restored returns a memory that holds again from a time.
func (m Memory) Restored(now time.Time) Memory {
	if !m.SaidUntil.IsZero() || m.endsBeforeADay() {
		m.Until, m.SaidUntil = m.SaidUntil, Moment{}
	}
	if m.Until.IsOver(InLastZone(now)) {
		m.Until = Moment{}
	}
	m.ValidUntil, m.SupersededBy, m.EndedReason, m.EndedBy, m.UpdatedAt = time.Time{}, "", "", nil, now
	return m
}

// GiveBack has the memories hold that another one has replaced or was to replace, before that is deleted, denied or
// changed. A plan that gave way before its day, or was put off, stays given up. The zone is the user's, nil where it is
// not known. next changes each memory further, unless it is nil.
func GiveBack(ctx context.Context, memories Collection[Memory], user conversation.UserID, by Memory,
	zone *time.Location, next func(*Memory),
) error {
	zone = cmp.Or(zone, lastZone)
	deleted := map[string]Memory{by.ID: by}
	all, err := Newest(ctx, user, memories, 0)
	if err != nil {
		return err
	}
	for _, m := range all {
		isPutOff := by.Status == Planned && by.From.IsAhead(m.ValidUntil.In(firstZone))
		isGivenUp := m.Status == Planned && (m.From.IsZero() || m.From.IsAhead(m.ValidUntil.In(zone)) || isPutOff)
		if _, ok := m.WithoutEnd(false, deleted); !ok || isGivenUp {
			continue
		}
		if _, err := memories.Update(ctx, user, m.ID, func(m *Memory) error {
			*m, _ = m.WithoutEnd(false, deleted)
			if next != nil {
				next(m)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// WithoutEnd returns a memory that has not ended, because the memory that took its place is deleted, or because all
// messages that ended it are gone (isUndone) and it is pinned: another one may hold beside it then. Where another one
// took the place of the deleted one, it takes this one's place. ok is false for a memory that ended for another reason,
// or has not ended.
func (m Memory) WithoutEnd(isUndone bool, deleted map[string]Memory) (_ Memory, ok bool) {
	_, ok = deleted[m.SupersededBy]
	if !ok && (!isUndone || !m.Pinned || m.EndedReason == "" || m.SupersededBy != "") {
		return m, false
	}
	for range deleted { // and not for ever where they replace each other
		by, isDeleted := deleted[m.SupersededBy]
		if !isDeleted {
			break
		}
		switch {
		case m.Until != by.From.Before():
		case by.SupersededBy == "":
			m.Until, m.SaidUntil = m.SaidUntil, Moment{}
		default:
			m.Until = by.Until
		}
		m.ValidUntil, m.EndedReason, m.SupersededBy, m.EndedBy = by.ValidUntil, by.EndedReason, by.SupersededBy, by.EndedBy
	}
	if m.SupersededBy == "" && (!ok || m.EndedReason != EndedOver) { // what is over would have ended this one
		m.ValidUntil, m.EndedReason, m.EndedBy = time.Time{}, "", nil
	}
	return m, true
}

// Confirmed returns a memory that waited no longer.
func (m Memory) Confirmed(now time.Time) Memory {
	m.Status, m.WaitingAs, m.Supersedes, m.UpdatedAt = m.WaitingAs, "", nil, now
	return m
}

// StaysBeside reports whether a memory holds on beside one that is to take its place: a plan without a day does so when
// it has come true.
func (m Memory) StaysBeside(by Memory) bool {
	return by.Status == Planned && by.From.IsZero() && m.Status != Planned
}

// GivenWayTo returns a memory that gives way to another one: at a time, or on the day on which that begins, in the zone
// of the time. A plan that has not begun gives way at once. Its last day is the one before, if that is not over yet in
// each zone.
func (m Memory) GivenWayTo(by Memory, at, now time.Time) Memory {
	start := by.From.Start(at.Location())
	if holds := !m.From.IsAhead(at) && (m.Status != Planned || !m.From.IsZero()); holds {
		if start.After(at) {
			at = start
		}
		if by.From.IsAhead(InLastZone(now)) {
			if m.SupersededBy == "" {
				m.SaidUntil = m.Until
			}
			if !m.Until.IsOver(start) {
				m.Until = by.From.Before()
			}
		}
	}
	m.ValidUntil, m.EndedReason, m.SupersededBy = at, EndedReplaced, by.ID
	return m
}

// EndedAs returns a memory that ended at a time, for a reason, in favour of another one where by is not empty.
func (m Memory) EndedAs(reason EndedReason, by string, now time.Time) Memory {
	m.ValidUntil, m.EndedReason, m.SupersededBy, m.EndedBy, m.UpdatedAt = now, reason, by, nil, now
	return m
}
