package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// SummaryWriter stores summaries.
type SummaryWriter struct{ *DB }

// SaveSummary stores a summary and the session's copy of it.
func (s SummaryWriter) SaveSummary(_ context.Context, user conversation.UserID, session conversation.Session,
	in summary.Summary,
) error {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(session.ID, &session)
	if !ok {
		return fault.Missing("session")
	}
	isBetter := in.Replaces(x.Session)
	if in.Text == "" {
		isBetter = x.Summarized.Seq < in.CoveredThrough
	}
	if !isBetter || x.Deleted.String() != session.Deleted.String() {
		return fault.New(fault.Conflict, "the session has a better summary, or lost a message")
	}
	sum := copied(in)
	if sum.Kind == conversation.ByModel || sum.Text == "" {
		x.Summarized = conversation.Watermark{Seq: sum.CoveredThrough, At: sum.CoveredAt}
	}
	if sum.Text == "" {
		return nil
	}
	x.Summary = &conversation.SessionSummary{
		Text: sum.Text, Tokens: sum.Tokens, Tags: sum.Tags, Kind: sum.Kind, InProgress: sum.InProgress,
		CoveredThrough: sum.CoveredThrough, UpdatedAt: sum.UpdatedAt, Model: sum.Model, Fields: sum.OwnFields,
		Digest: sum.Digest, Days: sum.Days,
	}
	if sum.IsNewForSpine(session) {
		u.makeSpineDue(session.CoachID, s.dueAfterIdle())
	}
	// Only the session has these.
	sum.OwnFields, sum.Digest, sum.SessionVersion, sum.CoveredAt, sum.Days = nil, "", 0, time.Time{}, nil
	sum.Generation = u.generation
	u.summaries[sum.ID()] = storedSummary{sum, x.CreatedAt}
	return nil
}

// dropSummary removes what a session has of its summary, with the record and what the coach's spine may be drawn from.
// It returns the ids of the summary's vectors.
func (u *user) dropSummary(s conversation.Session, now time.Time) []string {
	u.clearSpine(s.CoachID, now)
	appContext, err := conversation.AppContextOf(s.Context)
	if err != nil {
		return nil
	}
	id := summary.Summary{RecordType: appContext.Summary.Type, SessionID: s.ID}.ID()
	delete(u.summaries, id)
	return []string{id}
}

// makeSpineDue makes the spine of a coach due. A worker that has claimed it does not take it out of the index any more.
func (u *user) makeSpineDue(coachID string, at time.Time) {
	u.setDueIfNone(sweep.Spines, spineDue+coachID, at)
	u.due[spineDue+coachID].claimed = false
}

// clearSpine removes the text of a coach's spine, and makes it due.
func (u *user) clearSpine(coachID string, now time.Time) {
	if coachID == "" {
		return
	}
	version := u.spines[coachID].Version + 1
	u.spines[coachID] = longterm.Spine{CoachID: coachID, UpdatedAt: conversation.Milliseconds(now), Version: version}
	u.makeSpineDue(coachID, now)
}

// SpineStore keeps spines.
type SpineStore struct{ *DB }

// SpineDue reads the spine of a due record.
func (s SpineStore) SpineDue(_ context.Context, d sweep.Due) (summary.DueSpine, error) {
	u, unlock := s.lock(d.User)
	defer unlock()
	coach, ok := strings.CutPrefix(d.ID, spineDue)
	if !ok || u.due[d.ID] == nil {
		return summary.DueSpine{}, fault.Missing("spine")
	}
	due := summary.DueSpine{Spine: longterm.Spine{CoachID: coach}, Access: u.access()}
	if spine, ok := u.spines[coach]; ok {
		due.Spine = copied(spine)
	}
	if u.userSummary != nil {
		due.ReplacedAt = u.userSummary.StoredAt
	}
	return due, nil
}

// SaveSpine stores a spine. Where there are too many, those that were written longest ago go.
func (s SpineStore) SaveSpine(_ context.Context, user conversation.UserID, generation int64, spine longterm.Spine,
) error {
	u, unlock := s.lock(user)
	defer unlock()
	switch {
	case generation != u.generation:
		return fault.Missing("user")
	case u.spines[spine.CoachID].Version != spine.Version, !u.access().Preferences.Memory:
		return fault.New(fault.Conflict, "the spine was written or cleared, or memory is off")
	}
	spine.Version++
	u.spines[spine.CoachID] = copied(spine)
	all := slices.SortedFunc(maps.Values(u.spines), func(a, b longterm.Spine) int {
		return b.UpdatedAt.Compare(a.UpdatedAt)
	})
	for _, old := range all[min(len(all), longterm.MaxSpines):] {
		delete(u.spines, old.CoachID)
	}
	return nil
}

// Spines returns the spines that have a text.
func (s SpineStore) Spines(_ context.Context, user conversation.UserID,
) ([]longterm.Spine, longterm.Preferences, error) {
	u, unlock := s.lock(user)
	defer unlock()
	var out []longterm.Spine
	for _, id := range slices.Sorted(maps.Keys(u.spines)) {
		if spine := u.spines[id]; spine.Text != "" {
			out = append(out, copied(spine))
		}
	}
	return out, u.access().Preferences, nil
}
