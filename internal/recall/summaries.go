package recall

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// The defaults and bounds of a context query (api 4).
const (
	DefaultWithin    = 48 * time.Hour
	DefaultSummaries = 3
	MaxSummaries     = 10
)

const (
	// summaryHalfLife lets a newer summary win over an older one that fits about as well.
	summaryHalfLife = 7 * 24 * time.Hour
	// freshHalfLife is what the score of a summary means when nothing was asked for: 1 now, a half a day ago.
	freshHalfLife = 24 * time.Hour
	// recentSessions is how many of the latest sessions a query looks through for summaries.
	recentSessions = 50
)

// ContextQuery is the body of POST /v1/context/query (api 4).
type ContextQuery struct {
	Context   string `json:"context"`
	CoachID   string `json:"coachId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Query     string `json:"query,omitempty"`
	// RecordTypes are those of the context's registry entry where none is given.
	RecordTypes []string `json:"recordTypes,omitempty"`
	// Within is how old a summary may be, in days, hours, minutes and seconds as "2d", "1d12h" or "90m"; 48 hours
	// where it is empty.
	Within string `json:"within,omitempty"`
	// Limit is 1 to 10; 3 where it is not given.
	Limit *int `json:"limit,omitempty"`
}

// SummaryHit is one summary of another session, as the API shows it.
type SummaryHit struct {
	RecordType string `json:"recordType"`
	Context    string `json:"context"`
	SessionID  string `json:"sessionId"`
	CoachID    string `json:"coachId"`
	Text       string `json:"text"`
	// OccurredAt is the time of the last message that it covers, in conversation.TimeFormat.
	OccurredAt string `json:"occurredAt"`
	// AgeLabel words that time as the user would say it now, in their zone: "2 hours ago".
	AgeLabel   string  `json:"ageLabel"`
	Score      float64 `json:"score"`
	InProgress bool    `json:"inProgress"`
}

// Summaries is the answer to a context query, best first: by likeness to the query, or the newest first without one.
type Summaries struct {
	Summaries []SummaryHit  `json:"summaries"`
	Degraded  []Degradation `json:"degraded"`
}

// Query returns summaries of the user's other sessions that matter in a context. What the index does not show yet is
// found in the table; when the embedding or the index does not answer, the table's summaries are ranked by their words
// and the answer says so. Its errors are Invalid, with the fields, NotFound where the user has no such session, and the
// store's.
func (s *Service) Query(ctx context.Context, user conversation.UserID, q ContextQuery) (Summaries, error) {
	search, err := q.search(s.Now())
	if err != nil {
		return Summaries{}, err
	}
	if search.Text == "" {
		return s.newest(ctx, user, search)
	}
	limit := search.Limit
	search.Limit = recentSessions // all that the index knows: what it does not find of the table's, it does not have
	var found Found
	var from view
	sessions, err := s.recentBeside(ctx, user, search, func(ctx context.Context) (err error) {
		found, from, err = s.search(ctx, user, search)
		return err
	})
	if err != nil {
		return Summaries{}, err
	}
	hits := merged(found, from.unindexed(found, from.stored(sessions)), limit)
	return from.summaries(hits, found.Degraded), nil
}

// newest answers from the table alone.
func (s *Service) newest(ctx context.Context, user conversation.UserID, search Search) (Summaries, error) {
	var from view
	sessions, err := s.recentBeside(ctx, user, search, func(ctx context.Context) (err error) {
		from, err = s.stand(ctx, user, search)
		return err
	})
	if err != nil {
		return Summaries{}, err
	}
	hits := from.stored(sessions)
	for i, h := range hits {
		age := max(from.now.Sub(h.OccurredAt()), 0)
		hits[i].Score = math.Exp2(-age.Hours() / freshHalfLife.Hours())
	}
	hits = ranked(hits)
	return from.summaries(hits[:min(len(hits), search.Limit)], nil), nil
}

// recentBeside reads the latest sessions, while it sees that the session that asks is the user's and of
// its context, and while beside runs.
func (s *Service) recentBeside(ctx context.Context, user conversation.UserID, search Search, beside func(context.Context) error) ([]conversation.Session, error) {
	var sessions []conversation.Session
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		sessions, err = s.store.RecentSessions(ctx, user, search.From, recentSessions)
		return err
	})
	if search.SessionID != "" {
		group.Go(func() error {
			session, err := s.store.Session(ctx, user, search.SessionID)
			if err == nil && session.Context != search.Context {
				return fault.Missing("session") // preferences decide by the context what it may see
			}
			return err
		})
	}
	group.Go(func() error { return beside(ctx) })
	err := group.Wait()
	return sessions, err
}

// stored are the sessions' summaries that may be seen, the newest of each id.
func (v view) stored(sessions []conversation.Session) []Hit {
	var hits []Hit
	byID := map[string]bool{}
	for _, session := range sessions { // latest first
		kept, ok := summary.Of(session)
		if h := (Hit{ID: kept.ID(), Summary: &kept}); ok && !byID[h.ID] && v.sees(h) {
			byID[h.ID] = true
			hits = append(hits, h)
		}
	}
	return hits
}

// unindexed are the stored summaries that the index did not find, scored by their words on the scale of the index's
// scores. It finds fewer than it could when it lags, and none when it is down.
func (v view) unindexed(found Found, stored []Hit) []Hit {
	known := map[string]bool{}
	for _, h := range found.Hits {
		known[h.ID] = true
	}
	stored = slices.DeleteFunc(stored, func(h Hit) bool { return known[h.ID] })
	query := vector.Encode(truncate.Bytes(v.Text, maxQueryBytes))
	for i, h := range stored {
		likeness := (1 - vector.DenseShare) * query.Dot(vector.Encode(h.Summary.Text))
		stored[i].Score = v.aged(likeness, h.OccurredAt())
	}
	return ranked(stored)
}

// merged ranks what the index found and what it did not. The newest that it did not find always has a place: nobody
// can say yet how well it fits, and it is what the user did last.
func merged(found Found, unindexed []Hit, limit int) []Hit {
	hits := ranked(slices.Concat(found.Hits, unindexed))
	if len(hits) <= limit {
		return hits
	}
	best := hits[:limit]
	if len(unindexed) == 0 || len(found.Degraded) > 0 {
		return best
	}
	newest := slices.MaxFunc(unindexed, func(a, b Hit) int { return a.OccurredAt().Compare(b.OccurredAt()) })
	if !slices.ContainsFunc(best, func(h Hit) bool { return h.ID == newest.ID }) {
		best[limit-1] = newest
	}
	return best
}

// summaries words the hits for the API.
func (v view) summaries(hits []Hit, degraded []Degradation) Summaries {
	out := Summaries{Summaries: make([]SummaryHit, len(hits)), Degraded: reported(degraded)}
	place := v.Location()
	for i, h := range hits {
		s := h.Summary
		out.Summaries[i] = SummaryHit{
			RecordType: string(s.RecordType), Context: s.Context, SessionID: s.SessionID, CoachID: s.CoachID,
			Text: s.Text, OccurredAt: conversation.FormatTime(s.OccurredAt),
			AgeLabel: conversation.Age(s.OccurredAt, v.now, place), Score: h.Score, InProgress: s.InProgress,
		}
	}
	return out
}

// search turns the query into a search of summaries, or says what is wrong with it.
func (q ContextQuery) search(now time.Time) (Search, error) {
	within, limit := DefaultWithin, DefaultSummaries
	types, wrong := q.recordTypes()
	if q.Within != "" {
		var ok bool
		if within, ok = parseSpan(q.Within); !ok {
			wrong = append(wrong, fault.Field{Field: "within", Message: `must be a positive span of time such as "2d", "48h" or "90m"`})
		}
	}
	if q.Limit != nil {
		limit = *q.Limit
		wrong = append(wrong, outside("limit", limit, MaxSummaries)...)
	}
	wrong = append(wrong, badID("coachId", q.CoachID)...)
	wrong = append(wrong, badID("sessionId", q.SessionID)...)
	if len(wrong) > 0 {
		return Search{}, fault.InvalidFields(wrong...)
	}
	return Search{
		Text: strings.TrimSpace(q.Query), RecordTypes: types, Limit: limit, Context: q.Context, CoachID: q.CoachID,
		SessionID: q.SessionID, ExcludeSessionID: q.SessionID, From: now.Add(-within), HalfLife: summaryHalfLife,
	}, nil
}

// maxDays is more than anybody looks back, and far from what a duration cannot hold.
const maxDays = 36_525

// parseSpan reads a positive span of time: whole days of 24 hours, and behind them what time.ParseDuration takes.
func parseSpan(text string) (time.Duration, bool) {
	var span time.Duration
	if days, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 64)
		if err != nil || n > maxDays {
			return 0, false
		}
		span, text = time.Duration(n)*24*time.Hour, rest
		if text == "" {
			return span, span > 0
		}
	}
	more, err := time.ParseDuration(text)
	return span + more, err == nil && more > 0 && span+more > 0
}

// recordTypes are the asked for ones, or those that the context reads at its start (design 3.1).
func (q ContextQuery) recordTypes() (types []string, wrong []fault.Field) {
	surface, err := conversation.SurfaceOf(q.Context)
	if err != nil {
		wrong = fault.From(err).Fields
	}
	for _, t := range q.RecordTypes {
		if _, err := conversation.SurfaceWriting(conversation.RecordType(t)); err != nil {
			wrong = append(wrong, fault.From(err).Fields...)
		}
		types = append(types, t)
	}
	if len(types) == 0 {
		for _, t := range surface.Reads {
			types = append(types, string(t))
		}
	}
	return types, wrong
}

func badID(field, id string) []fault.Field {
	if id == "" || conversation.ValidID(id) {
		return nil
	}
	return []fault.Field{{Field: field, Message: "must be 1 to 128 of A-Z, a-z, 0-9, '_', '.', ':' and '-'"}}
}

func outside(field string, value, limit int) []fault.Field {
	if value >= 1 && value <= limit {
		return nil
	}
	return []fault.Field{{Field: field, Message: fmt.Sprintf("must be 1 to %d", limit)}}
}
