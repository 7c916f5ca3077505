package extraction

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/longterm"
)

// endMemory ends a memory that no fact takes the place of, where a message that is newer than the memory says so. What
// the user asks to forget is deleted, also what the app has pinned.
func (p *planner) endMemory(e ending) {
	ids, at := p.evidence(e.MessageIDs)
	m := p.memoryOf(e.ID)
	if m == nil {
		m = e.pastOf(p, at)
	}
	if m == nil || len(ids) == 0 || m.AsOf().After(at) {
		return
	}
	switch e.Reason {
	case longterm.EndedForgotten:
		if slices.ContainsFunc(p.forget, func(gone longterm.Memory) bool { return gone.ID == m.ID }) {
			return // the answer names it twice
		}
		gone := *m
		gone.MessageIDs = slices.Concat(m.MessageIDs, m.EndedBy, ids)
		gone.ValidUntil, gone.EndedReason = at, e.Reason
		p.forget = append(p.forget, gone)
		p.end(m, e.Reason, at, nil)
		delete(p.changed, m.ID)
	case longterm.EndedOver, longterm.EndedFalse:
		if isAppPinned(m) {
			return
		}
		if e.Reason == longterm.EndedFalse && !slices.ContainsFunc(p.facts, e.isCorrectedBy) {
			p.denied = append(p.denied, *m)
		}
		p.end(m, e.Reason, at, ids)
	}
}

// pastOf returns the memory that an ending names, where it has ended already. The user may ask to forget it. Or a
// message that is read late ends it earlier than is known: then it does not hold again when its successor is denied.
func (e ending) pastOf(p *planner, at time.Time) *longterm.Memory {
	is := func(m longterm.Memory) bool { return m.ID == p.ids[e.ID] }
	i := slices.IndexFunc(p.past, is)
	live := slices.IndexFunc(p.memories, func(m *longterm.Memory) bool { return is(*m) })
	switch {
	case i < 0:
	case e.Reason == longterm.EndedForgotten:
		return new(p.past[i])
	case live >= 0 && p.past[i].ValidUntil.After(at):
		return p.memories[live]
	}
	return nil
}

func (p *planner) end(m *longterm.Memory, reason longterm.EndedReason, at time.Time, by []string) {
	at = notLater(at, p.now)
	if reason != longterm.EndedForgotten || m.From.IsAhead(p.now) { // what is forgotten once it holds brings nothing back
		p.inherit(m, nil, at)
	}
	m.ValidUntil, m.EndedReason, m.EndedBy, m.SupersededBy, p.changed[m.ID] = at, reason, by, "", true
}
