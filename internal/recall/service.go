package recall

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// Options tune a Service; zero values take the defaults.
type Options struct {
	// EmbedTimeout and IndexTimeout are how long the embedding (2 s) and the vector index (1 s) are waited for.
	EmbedTimeout, IndexTimeout time.Duration
	// Now tells the time; time.Now by default.
	Now func() time.Time
	// Log gets why a source did not answer; nothing by default.
	Log *slog.Logger
}

// Service answers searches, context queries and recalls. It is safe for concurrent use.
type Service struct {
	store    Store
	embedder Embedder
	index    Index
	Options
}

// New builds a Service.
func New(store Store, embedder Embedder, index Index, o Options) *Service {
	o.EmbedTimeout = cmp.Or(o.EmbedTimeout, 2*time.Second)
	o.IndexTimeout = cmp.Or(o.IndexTimeout, time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{store: store, embedder: embedder, index: index, Options: o}
}

// A search asks the index for more than its limit: parts of one text meet in one hit, and the table drops some.
const (
	spareMatches = 10
	// oneRead is how many answers' records one batch read of the table surely brings, some of two keys among them.
	oneRead    = 80
	maxMatches = 1000
)

// pool is how many answers of the index are looked at.
func (q Search) pool() int {
	pool := 2*q.Limit + spareMatches
	if q.Widely {
		return min(max(pool, candidates), maxMatches)
	}
	return min(pool, max(q.Limit, oneRead))
}

// Search finds what is nearest to a text, best first, by one embedding, one query of the index and the records behind
// its answer. An embedding or an index that does not answer in its time is a degradation; a table that does not is an
// error. Session makes it NotFound where Context is not given and the session does not exist.
func (s *Service) Search(ctx context.Context, user conversation.UserID, q Search) (Found, error) {
	found, _, err := s.search(ctx, user, q)
	return found, err
}

// search is Search; it also returns from where the search saw what it saw.
func (s *Service) search(ctx context.Context, user conversation.UserID, q Search) (Found, view, error) {
	found := Found{Timings: map[string]time.Duration{}}
	ask := vector.Query{TopK: q.pool()}
	var from view
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		from, err = s.stand(groupCtx, user, q)
		return err
	})
	dense, embedded := s.embed(groupCtx, q.Text, &found)
	if err := group.Wait(); err != nil {
		return Found{}, view{}, err
	}
	if !embedded || from.seesNothing() {
		return found, from, nil
	}
	ask.Dense, ask.Sparse = vector.Hybrid(dense, vector.Encode(truncate.Bytes(q.Text, maxQueryBytes)))
	ask.Filter = from.filter()
	matches, ok := s.nearest(ctx, user, from.generation, ask, &found)
	if !ok {
		return found, from, nil
	}
	err := s.resolve(ctx, user, from, matches, &found)
	return found, from, err
}

// stand reads what decides what may be seen: the user's access, and the context of the session that asks.
func (s *Service) stand(ctx context.Context, user conversation.UserID, q Search) (view, error) {
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
		return view{}, err
	}
	return view{Search: q, Preferences: access.Preferences, generation: access.Generation, now: s.Now()}, nil
}

func (s *Service) embed(ctx context.Context, text string, found *Found) ([]float32, bool) {
	ctx, cancel := context.WithTimeout(ctx, s.EmbedTimeout)
	defer cancel()
	started := time.Now()
	vectors, err := s.embedder.Embed(ctx, []string{truncate.Bytes(text, maxQueryBytes)})
	found.Timings[EmbeddingSource] = time.Since(started)
	if err != nil {
		s.degrade(ctx, found, EmbeddingSource, err)
		return nil, false
	}
	return vectors[0], true
}

func (s *Service) nearest(ctx context.Context, user conversation.UserID, generation int64, q vector.Query, found *Found) ([]vector.Match, bool) {
	ctx, cancel := context.WithTimeout(ctx, s.IndexTimeout)
	defer cancel()
	started := time.Now()
	matches, err := s.index.Query(ctx, user, generation, q)
	found.Timings[IndexSource] = time.Since(started)
	if err != nil {
		s.degrade(ctx, found, IndexSource, err)
		return nil, false
	}
	return matches, true
}

// resolve reads the records behind the matches, drops what may not be seen, and ranks the rest.
func (s *Service) resolve(ctx context.Context, user conversation.UserID, from view, matches []vector.Match, found *Found) error {
	ids, scores := records(matches)
	if len(ids) == 0 {
		return nil
	}
	started := time.Now()
	hits, err := s.store.Resolve(ctx, user, from.generation, ids)
	found.Timings[recordsSource] = time.Since(started)
	if err != nil {
		return err
	}
	for _, h := range hits {
		if from.sees(h) {
			h.Score = from.aged(scores[h.ID], h.OccurredAt())
			found.Hits = append(found.Hits, h)
		}
	}
	if from.Rerank {
		rerank(from.Text, found.Hits)
	}
	found.Hits = ranked(found.Hits)
	found.Hits = found.Hits[:min(len(found.Hits), from.Limit)]
	return nil
}

// records returns the ids of the records that the matches are of, each once, with its best score.
func records(matches []vector.Match) ([]string, map[string]float64) {
	ids, scores := make([]string, 0, len(matches)), make(map[string]float64, len(matches))
	for _, m := range matches {
		id := RecordID(m.ID)
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

// ranked orders hits by score; equal ones by time, the newest first, and by id.
func ranked(hits []Hit) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Value(), a.Value()), b.OccurredAt().Compare(a.OccurredAt()), cmp.Compare(a.ID, b.ID))
	})
	return hits
}

// aged lets a score fall with age where that was asked for. A score below zero, which is no likeness, stays.
func (v view) aged(score float64, at time.Time) float64 {
	age := v.now.Sub(at)
	if v.HalfLife <= 0 || age <= 0 || score <= 0 {
		return score
	}
	return score * math.Exp2(-age.Hours()/v.HalfLife.Hours())
}
