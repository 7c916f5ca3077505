package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// Search asks for what is nearest to a text.
type Search struct {
	Text string
	// RecordTypes limits the kinds: vector.MessageRecord, vector.MemoryRecord, vector.CheckInRecord,
	// vector.DocumentRecord, or the record types of summaries. Empty means all but documents.
	RecordTypes []string
	// Limit is the maximum number of hits.
	Limit int
	// Ranked ranks messages and check-ins by package rank, over a large pool of the index's matches, and leaves out what
	// is noise. Only the records of the best are read.
	Ranked bool
	// Context and SessionID say where the search is asked from: preferences decide what may be seen from there. Empty
	// means outside every session, where preferences about sharing between contexts do not apply.
	Context   string
	SessionID string
	// ExcludeSessionID leaves out that session's messages and summary.
	ExcludeSessionID string
	// Recalls, unless nil, are the contexts besides Context whose messages and summaries may be seen.
	Recalls []string
	// Contexts, From and To, where set, limit the hits to those contexts and to that half-open span of time.
	Contexts []string
	From, To time.Time
	// CoachID, where set, leaves out summaries of other coaches.
	CoachID string
	// HalfLife, where positive, halves a hit's score for each such span of its age.
	HalfLife time.Duration
	// hidesSecrets leaves out messages and notes that are secret to the session that asks.
	hidesSecrets bool
	// fields, where set, limits summaries by their own fields.
	fields fieldFilter
	// under, where set, limits documents to a namespace and those below it.
	under document.Namespace
	// Access returns what the caller has read already; with nil the search reads it from the table.
	Access func(ctx context.Context) (longterm.Access, error)
	// Assumed, where set, is what the caller expects Access to return. The search asks the index at once and uses the
	// answer only if Access allows the very same query. Otherwise it asks again.
	Assumed *longterm.Access
	// Embedding, where set, is the vector of the text that Embed has made before.
	Embedding *Embedding
	// Asked, where set, returns what the text asks for, which the caller needs, too.
	Asked func() *rank.Query
}

// recordsSource names the time that reading the hits' records took.
const recordsSource = "records"

// Found is the answer to a search, best hit first, with the sources that did not answer.
type Found struct {
	Hits     []Hit
	Degraded []Degradation
	// Timings are how long each source took: "embedding", the index's name, "records".
	Timings map[string]time.Duration
}

// A search reads more records than its limit, because several matches can be parts of one text and the table drops
// some.
const (
	spareRecords = 10
	// OneRead is how many records a search reads with one batch of at most 100 keys: otherRecords of them may be memories,
	// which have two possible keys. The few keys that are left would cost a prompt more than they bring.
	OneRead = 84
	// rankedPool is how many matches the ranking looks at. The index brings their texts in its answer.
	rankedPool = 400
	// datedPool is how many matches it looks at of the days that a search names, besides.
	datedPool = 200
)

// records is how many records the search reads: more than its limit, unless that takes a second read.
func (q Search) records() int {
	if q.Limit <= OneRead {
		return min(2*q.Limit+spareRecords, OneRead)
	}
	return q.Limit + spareRecords
}

// query is the index's query for a search.
func (v visibility) query(dense []float32) vector.Query {
	q := vector.Query{TopK: v.records(), Filter: v.filter()}
	if v.Ranked {
		q.TopK, q.Fields = rankedPool, RankedFields
	}
	q.Dense, q.Sparse = vector.Hybrid(dense, v.sparse)
	return q
}

// Search finds what is nearest to a text, best first, with one embedding, one query of the index, or two at once where
// a ranked text names days, and one read of the records of their matches. When the embedding or the index does not
// answer in time, the answer is degraded; when the table does not, Search fails. Where SessionID is given without a
// Context and there is no such session, the error is NotFound.
func (s *Service) Search(ctx context.Context, user conversation.UserID, q Search) (Found, error) {
	found, _, err := s.search(ctx, user, q)
	return found, err
}

// search is Search; it also returns what the search may see.
func (s *Service) search(
	ctx context.Context, user conversation.UserID, q Search,
) (found Found, _ visibility, err error) {
	ctx, span := startSpan(ctx)
	defer func() { span.end(found, err) }()
	found = Found{Timings: map[string]time.Duration{}}
	text := s.readText(q)
	var visible visibility
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		visible, err = s.visibility(groupCtx, user, q, text)
		return err
	})
	var dense []float32
	var embedded bool
	var asked *indexQuery
	if dense, embedded = s.queryVector(groupCtx, q, &found); embedded && q.Assumed != nil {
		asked = s.ask(ctx, user, q.seen(*q.Assumed, text(), s.Now()), dense)
		defer asked.stop()
	}
	if err := group.Wait(); err != nil {
		return Found{}, visibility{}, err
	}
	if !embedded || visible.allowsNothing() {
		return found, visible, nil
	}
	if asked != nil && !asked.isOf(visible) {
		asked.cancel()
		asked = nil
	}
	if asked == nil {
		asked = s.ask(ctx, user, visible, dense)
		defer asked.stop()
	}
	matches, ok := s.answer(ctx, asked, &found)
	if !ok {
		return found, visible, nil
	}
	return found, visible, s.resolve(ctx, user, visible, matches, &found)
}

// visibility reads what decides what a search may see: the user's preferences, and the context of the session that
// asks. It reads the search's text, too, because the embedding takes longer.
func (s *Service) visibility(
	ctx context.Context, user conversation.UserID, q Search, text func() searchText,
) (visibility, error) {
	var access longterm.Access
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if q.Access != nil {
			access, err = q.Access(ctx)
			return err
		}
		access, err = s.store.Access(ctx, user)
		return err
	})
	if q.Context == "" && q.SessionID != "" {
		group.Go(func() error {
			session, err := s.store.Session(ctx, user, q.SessionID)
			q.Context = session.Context
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return visibility{}, err
	}
	return q.seen(access, text(), s.Now()), nil
}

// searchText is what a search reads of its text.
type searchText struct {
	sparse vector.Sparse
	asked  *rank.Query
}

// readText returns a function that reads the search's text when it is first called.
func (s *Service) readText(q Search) func() searchText {
	asked := q.Asked
	if asked == nil {
		asked = func() *rank.Query { return rank.NewQuery(q.Text, s.Now()) }
	}
	return sync.OnceValue(func() searchText {
		return searchText{vector.Encode(truncate.Bytes(q.Text, vector.MaxEmbeddedBytes)), asked()}
	})
}

// seen is what a search may see with an access.
func (q Search) seen(access longterm.Access, text searchText, now time.Time) visibility {
	return visibility{
		Search: q, Preferences: access.Preferences, generation: access.Generation,
		notMigrated: access.NotMigrated, now: now.In(access.Preferences.Location()), sparse: text.sparse, asked: text.asked,
	}
}

// resolve reads the records of the matches, drops what may not be seen, and ranks the rest.
func (s *Service) resolve(
	ctx context.Context, user conversation.UserID, visible visibility, matches []vector.Match, found *Found,
) error {
	ids, scores := recordScores(matches)
	ranks := map[string]rank.Result{}
	if visible.Ranked {
		ids, ranks = s.best(visible, matches, ids)
	}
	if ids = ids[:min(len(ids), visible.records())]; len(ids) == 0 {
		return nil
	}
	started := time.Now()
	hits, err := s.store.Resolve(ctx, user, visible.generation, ids)
	found.Timings[recordsSource] = time.Since(started)
	if err != nil {
		return err
	}
	for _, h := range hits {
		if visible.allows(h) {
			h.Score = visible.aged(scores[h.ID], h.OccurredAt())
			if r, ranked := ranks[h.ID]; ranked {
				h.Rank, h.Contributions = r.Probability, r.Contributions
				h.Irrelevant = s.Weights.IsIrrelevant(r.Probability)
			}
			found.Hits = append(found.Hits, h)
		}
	}
	sortHits(found.Hits)
	found.Hits = found.Hits[:min(len(found.Hits), visible.Limit)]
	return nil
}

// sortHits orders hits by value. Equal ones are ordered by time, newest first, and then by id.
func sortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Value(), a.Value()), b.OccurredAt().Compare(a.OccurredAt()), cmp.Compare(a.ID, b.ID))
	})
}

// aged lowers a score by the age of its record where the search has a half-life. A score below zero, which means
// no likeness, stays as it is.
func (v visibility) aged(score float64, at time.Time) float64 {
	age := v.now.Sub(at)
	if v.HalfLife <= 0 || age <= 0 || score <= 0 {
		return score
	}
	return score * math.Exp2(-age.Hours()/v.HalfLife.Hours())
}

// recordScores returns the ids of the records of the matches, each once, and the best score of each.
func recordScores(matches []vector.Match) ([]string, map[string]float64) {
	ids, scores := make([]string, 0, len(matches)), make(map[string]float64, len(matches))
	for _, m := range matches {
		id := vector.RecordID(m.ID)
		best, seen := scores[id]
		if !seen {
			ids = append(ids, id)
		}
		if !seen || m.Score > best {
			scores[id] = m.Score
		}
	}
	return ids, scores
}

// degrade notes that a source did not answer: in the answer with a reason, in the log with the cause.
func (s *Service) degrade(ctx context.Context, found *Found, source string, err error) {
	found.Degraded = append(found.Degraded, Degradation{Source: source, Reason: reason(ctx, err)})
	s.Log.WarnContext(ctx, "source degraded", "source", source, "error", err.Error())
}

// late adds the reason to the error of a call that its context ended.
func late(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// reason describes an error to the user, without its cause.
func reason(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return "did not answer in time"
	case errors.Is(err, errOtherModel):
		return "has vectors of another embedding model"
	case fault.Is(err, fault.RateLimited):
		return "is asked too much at the moment"
	default:
		return "is not available at the moment"
	}
}

// NotMigrated says that the shared store does not have all of the user's history yet (docs/adr/0023).
var NotMigrated = Degradation{Source: "messages", Reason: "not_migrated"}

// degradations returns what an answer lacks, with what the shared store does not have yet.
func (v visibility) degradations(of []Degradation) []Degradation {
	if v.notMigrated {
		of = append(slices.Clip(of), NotMigrated)
	}
	return nonNil(of)
}

// nonNil returns an empty list for nil, so that JSON never has null.
func nonNil(degraded []Degradation) []Degradation {
	if degraded == nil {
		return []Degradation{}
	}
	return degraded
}
