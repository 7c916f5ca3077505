package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// The defaults and limits of a context query.
const (
	DefaultWithin    = 48 * time.Hour
	DefaultSummaries = 3
	MaxSummaries     = 10
)

const (
	// summaryHalfLife ranks a newer summary above an older one that fits the query about as well.
	summaryHalfLife = 7 * 24 * time.Hour
	// freshHalfLife scores summaries by age where there is no query: 1 for now, 0.5 for a day ago.
	freshHalfLife = 24 * time.Hour
	// recentSessions is how many of the latest sessions a query reads at once for their summaries. Without a text it
	// reads on, up to maxRecentPages times, until it has enough of those that it may return.
	recentSessions = 50
	maxRecentPages = 10
)

// ContextQuery asks for summaries of the user's other sessions that matter in a context. Its JSON is the body of
// POST /v1/context/query.
type ContextQuery struct {
	Context   string `json:"context"`
	CoachID   string `json:"coachId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Query     string `json:"query,omitempty"`
	// RecordTypes defaults to what the registry says that the context reads.
	RecordTypes []string `json:"recordTypes,omitempty"`
	// Within is the maximum age of a summary, in days, hours, minutes and seconds such as "2d", "1d12h" or "90m". The
	// default is 48 hours.
	Within string `json:"within,omitempty"`
	// Limit is 1 to 10; the default is 3.
	Limit *int `json:"limit,omitempty"`
	// Filter limits summaries by their own fields: {"discipline": "crossfit", "adherenceRate": {"$gte": 0.8}}. Fields of
	// nested objects have dotted names.
	Filter map[string]any `json:"filter,omitempty"`
}

// SummaryHit is one summary of another session, as the API shows it.
type SummaryHit struct {
	RecordType string `json:"recordType" doc:"The type of the summary."`
	Context    string `json:"context" doc:"The context of the session."`
	SessionID  string `json:"sessionId" doc:"The id of the session."`
	CoachID    string `json:"coachId" doc:"The id of the coach."`
	Text       string `json:"text" doc:"The text."`
	// Fields are the record type's own fields, nested as they were stored.
	Fields map[string]any `json:"fields" doc:"The record type's own fields."`
	// OccurredAt is the time of the last message that it covers, in conversation.TimeFormat.
	OccurredAt string `json:"occurredAt" doc:"When it was said, or when the summary ends."`
	// AgeLabel says how long ago that was, in words and in the user's time zone: "2 hours ago".
	AgeLabel   string  `json:"ageLabel" doc:"How long ago it was, in the words of prompts."`
	Score      float64 `json:"score" doc:"How well it fits the query; greater is better. Scores of different answers cannot be compared."`
	InProgress bool    `json:"inProgress" doc:"Whether the session went on when it was summarised."`
}

// Summaries is the answer to a context query: most like the query first, or newest first without a query.
type Summaries struct {
	Summaries []SummaryHit  `json:"summaries" doc:"The summaries, best first."`
	Degraded  []Degradation `json:"degraded" doc:"The sources that were missing, and why."`
}

// Query returns summaries of the user's other sessions that matter in a context. Summaries that the index does not have
// yet are found among the latest sessions of the table. When the embedding or the index does not answer, these are
// ranked by their words and the answer is degraded. Its errors are Invalid, with the fields, NotFound where the user
// has no such session, and those of the store.
func (s *Service) Query(ctx context.Context, user conversation.UserID, q ContextQuery) (Summaries, error) {
	search, err := q.search(s.Now())
	if err != nil {
		return Summaries{}, err
	}
	if search.Text == "" {
		return s.newest(ctx, user, search)
	}
	limit := search.Limit
	search.Limit = recentSessions // all that the index has, so that what it does not find is not indexed
	var found Found
	var visible visibility
	sessions, next, err := s.withRecentSessions(ctx, user, search, func(ctx context.Context) (err error) {
		found, visible, err = s.search(ctx, user, search)
		return err
	})
	if err != nil {
		return Summaries{}, err
	}
	stored := visible.stored(sessions)
	newest := newestOfSubjects(slices.Concat(found.Hits, stored))
	found.Hits, stored = visible.current(found.Hits, newest), visible.current(stored, newest)
	hits := merge(found, visible.unindexed(found, stored), limit)
	if next != "" && len(found.Degraded) > 0 {
		found.Degraded = append(found.Degraded, moreSessions)
	}
	return visible.summaries(hits, found.Degraded), nil
}

// moreSessions says that the table has sessions that the query might return and did not read.
var moreSessions = Degradation{SessionsSource, "has more sessions than one query reads"}

// newest answers a query without a text, from the table alone.
func (s *Service) newest(ctx context.Context, user conversation.UserID, search Search) (Summaries, error) {
	var visible visibility
	sessions, next, err := s.withRecentSessions(ctx, user, search, func(ctx context.Context) (err error) {
		visible, err = s.visibility(ctx, user, search, s.readText(search))
		return err
	})
	if err != nil {
		return Summaries{}, err
	}
	stored := visible.stored(sessions)
	hits := visible.current(stored, newestOfSubjects(stored))
	for page := 1; page < maxRecentPages && next != "" && len(hits) < search.Limit; page++ {
		if sessions, next, err = s.recentSessions(ctx, user, search, next); err != nil {
			return Summaries{}, err
		}
		stored = append(stored, visible.stored(sessions)...)
		hits = visible.current(stored, newestOfSubjects(stored))
	}
	var degraded []Degradation
	if next != "" && len(hits) < search.Limit {
		degraded = []Degradation{moreSessions}
	}
	for i, h := range hits {
		age := max(visible.now.Sub(h.OccurredAt()), 0)
		hits[i].Score = math.Exp2(-age.Hours() / freshHalfLife.Hours())
	}
	sortHits(hits)
	return visible.summaries(hits[:min(len(hits), search.Limit)], degraded), nil
}

// withRecentSessions reads the latest sessions, and returns where the next page starts. In parallel it runs other, and
// checks that the session that asks is the user's and of the context of the search.
func (s *Service) withRecentSessions(
	ctx context.Context, user conversation.UserID, search Search, other func(context.Context) error,
) (sessions []conversation.Session, next conversation.Position, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		sessions, next, err = s.recentSessions(ctx, user, search, "")
		return err
	})
	if search.SessionID != "" {
		group.Go(func() error {
			session, err := s.store.Session(ctx, user, search.SessionID)
			if err == nil && session.Context != search.Context {
				return fault.Missing("session") // what it may see depends on its context
			}
			return err
		})
	}
	group.Go(func() error { return other(ctx) })
	err = group.Wait()
	return sessions, next, err
}

// recentSessions reads a page of the sessions whose contexts write what the search asks for.
func (s *Service) recentSessions(
	ctx context.Context, user conversation.UserID, search Search, after conversation.Position,
) ([]conversation.Session, conversation.Position, error) {
	recent := conversation.RecentSessions{Since: search.From}
	for _, appContext := range conversation.AppContexts() {
		if slices.Contains(search.RecordTypes, string(appContext.Summary.Type)) {
			recent.Contexts = append(recent.Contexts, appContext.Name)
		}
	}
	return s.store.RecentSessions(ctx, user, recent, conversation.Page{Limit: recentSessions, After: after})
}

// stored returns the summaries of the sessions that may be seen.
func (v visibility) stored(sessions []conversation.Session) []Hit {
	var hits []Hit
	for _, session := range sessions {
		s, ok := summary.Of(session)
		if h := (Hit{ID: s.ID(), Summary: &s}); ok && v.allows(h) {
			hits = append(hits, h)
		}
	}
	return hits
}

// newestOfSubjects returns the id of the newest summary of each subject.
func newestOfSubjects(hits []Hit) map[summary.Subject]string {
	newest := map[summary.Subject]string{}
	at := map[summary.Subject]time.Time{}
	for _, h := range hits {
		of := h.Summary.Subject()
		if _, ok := newest[of]; !ok || at[of].Before(h.OccurredAt()) {
			newest[of], at[of] = h.ID, h.OccurredAt()
		}
	}
	return newest
}

// current returns the hits that are the newest of their subjects and whose fields pass the query's filter. A summary
// that is not the newest of its subject never passes, even if the newest one does not.
func (v visibility) current(hits []Hit, newest map[summary.Subject]string) []Hit {
	return slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool {
		return newest[h.Summary.Subject()] != h.ID || !v.fields.matches(h.Summary.Fields)
	})
}

// unindexed returns the stored summaries that the index did not find because it lags or is down. They are scored by
// their words, on the scale of the index's scores.
func (v visibility) unindexed(found Found, stored []Hit) []Hit {
	indexed := map[string]bool{}
	for _, h := range found.Hits {
		indexed[h.ID] = true
	}
	stored = slices.DeleteFunc(stored, func(h Hit) bool { return indexed[h.ID] })
	query := vector.Encode(truncate.Bytes(v.Text, vector.MaxEmbeddedBytes))
	for i, h := range stored {
		likeness := (1 - vector.DenseShare) * query.Dot(vector.Encode(h.Summary.Text))
		stored[i].Score = v.aged(likeness, h.OccurredAt())
	}
	sortHits(stored)
	return stored
}

// merge ranks the summaries that the index found together with those that it did not. The newest of the latter is
// always in the result: its likeness is not known yet, and it is what the user did last.
func merge(found Found, unindexed []Hit, limit int) []Hit {
	hits := slices.Concat(found.Hits, unindexed)
	sortHits(hits)
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

// summaries converts the hits to the form of the API.
func (v visibility) summaries(hits []Hit, degraded []Degradation) Summaries {
	out := Summaries{Summaries: make([]SummaryHit, len(hits)), Degraded: v.degradations(degraded)}
	for i, h := range hits {
		out.Summaries[i] = v.summaryHit(h)
	}
	return out
}

func (v visibility) summaryHit(h Hit) SummaryHit {
	s := h.Summary
	if s.Fields == nil {
		s.Fields = map[string]any{}
	}
	return SummaryHit{
		RecordType: string(s.RecordType), Context: s.Context, SessionID: s.SessionID, CoachID: s.CoachID,
		Text: s.Text, Fields: s.Fields, OccurredAt: conversation.FormatTime(s.OccurredAt),
		AgeLabel: conversation.Age(s.OccurredAt, v.now, v.Location()), Score: h.Value(), InProgress: s.InProgress,
	}
}

// search converts the query to a search of summaries, or returns an Invalid error.
func (q ContextQuery) search(now time.Time) (Search, error) {
	within, limit := DefaultWithin, DefaultSummaries
	types, wrong := q.recordTypes()
	if q.Within != "" {
		var ok bool
		within, ok = parseSpan(q.Within)
		wrong.If(!ok, "within", "must be "+SpanRule)
	}
	if q.Limit != nil {
		limit = *q.Limit
		checkBound(&wrong, "limit", limit, MaxSummaries)
	}
	checkID(&wrong, "coachId", q.CoachID)
	checkID(&wrong, "sessionId", q.SessionID)
	fields, w := parseFieldFilter(q.Filter)
	return Search{
		fields: fields,
		Text:   strings.TrimSpace(q.Query), RecordTypes: types, Limit: limit, Context: q.Context, CoachID: q.CoachID,
		SessionID: q.SessionID, ExcludeSessionID: q.SessionID, From: now.Add(-within), HalfLife: summaryHalfLife,
	}, append(wrong, w...).Err()
}

// SpanPattern matches the spans of time that a query may name, SpanRule says it in words. A time.Duration holds each.
const (
	SpanPattern = `^(([1-9]\d{0,3}|[12]\d{4}|3[0-5]\d{3}|36[0-4]\d\d|36500)d)?` +
		`([1-9]\d{0,5}(\.\d{1,9})?h)?([1-9]\d{0,6}(\.\d{1,9})?m)?([1-9]\d{0,8}(\.\d{1,9})?s)?$`
	SpanRule = "days up to 36500, hours, minutes and seconds in this order, such as 2d, 48h or 1h30m"
)

var spanPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(SpanPattern) })

// parseSpan parses a span of time: days of 24 hours, followed by what time.ParseDuration accepts.
func parseSpan(text string) (time.Duration, bool) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.Atoi(days)
	more, moreErr := time.ParseDuration(cmp.Or(rest, "0s"))
	return time.Duration(n)*24*time.Hour + more, spanPattern().MatchString(text) && err == nil && moreErr == nil
}

// recordTypes are those of the query, or else those that the context reads.
func (q ContextQuery) recordTypes() (types []string, wrong fault.Problems) {
	appContext, err := conversation.AppContextOf(q.Context)
	if err != nil {
		wrong = fault.From(err).Fields
	}
	for _, t := range q.RecordTypes {
		if _, err := conversation.AppContextWriting(conversation.RecordType(t)); err != nil {
			wrong = append(wrong, fault.From(err).Fields...)
		}
		types = append(types, t)
	}
	if len(types) == 0 {
		for _, t := range appContext.Reads {
			types = append(types, string(t))
		}
	}
	return types, wrong
}

func checkID(wrong *fault.Problems, field, id string) {
	isWrong := id != "" && !conversation.ValidID(id)
	wrong.If(isWrong, field, "must be 1 to 128 of A-Z, a-z, 0-9, '_', '.', ':' and '-'")
}

func checkBound(wrong *fault.Problems, field string, value, limit int) {
	wrong.If(value < 1 || value > limit, field, fmt.Sprintf("must be 1 to %d", limit))
}
