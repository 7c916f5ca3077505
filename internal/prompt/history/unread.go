package history

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// isUnread reports whether a session has messages before those that were read.
func (h *History) isUnread(s *conversation.Session, read []*Sitting) bool {
	if h.reach.Exhausted[s.ID] {
		return false
	}
	seq := s.LastSeq
	if len(read) > 0 && len(read[0].Messages) > 0 {
		seq = read[0].Messages[0].Seq - 1
		if h.reach.Since.IsZero() {
			return false
		}
	}
	for ; seq > 0; seq-- {
		if !s.Deleted.Contains(seq) {
			return true
		}
	}
	return false
}

// newestUnread is the latest time that a message before those that were read may have.
func (h *History) newestUnread(s *conversation.Session, read []*Sitting) time.Time {
	if len(read) == 0 || len(read[0].Messages) == 0 {
		return s.LastMessageAt
	}
	if first := read[0].First; first.Before(h.reach.Since) {
		return first
	}
	return h.reach.Since
}

// Since is the time since which a prompt has sittings in full: the beginning of the user's day or, if earlier, the
// time at which a sitting would still belong to the thread. Without transcripts only the latter counts.
func (h *History) Since(transcripts bool) time.Time {
	since := h.thread.edge.Add(-ThreadGap)
	local := h.now.In(h.zone)
	if midnight := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, h.zone); transcripts &&
		midnight.Before(since) {
		return midnight
	}
	return since
}

// LacksMessages reports whether messages of a session were not read that the prompt should have.
func (h *History) LacksMessages(s *conversation.Session, since time.Time, transcripts bool) bool {
	all := h.bySession[s.ID]
	if !h.isUnread(s, all) {
		return false
	}
	first := len(all) > 0 && all[0].Partial && all[0].Tier.IsFull()
	own := s == h.Own() && len(all) == 1 && len(all[0].Messages) == 0
	return transcripts && (first || own) || !h.newestUnread(s, all).Before(since)
}

// LacksDay reports whether the day of a session's newest sitting that the prompt does not have in full is unknown.
func (h *History) LacksDay(s *conversation.Session) bool {
	all := h.bySession[s.ID]
	return len(all) > 0 && len(all[0].Messages) > 0 && all[0].Tier.IsFull() && h.isUnread(s, all)
}
