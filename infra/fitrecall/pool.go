package main

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/vector"
)

// memoryIndex is a vector index of one user in memory.
type memoryIndex struct {
	indexing.Index
	mu      sync.Mutex
	records []vector.Record
}

func (x *memoryIndex) WrittenTo(context.Context, conversation.UserID, int64) ([]string, error) {
	return []string{"memory"}, nil
}

func (x *memoryIndex) Upsert(_ context.Context, _ conversation.UserID, _ int64, _ string, records []vector.Record,
) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.records = append(x.records, records...)
	return nil
}

// nearest returns the k best matches.
func (x *memoryIndex) nearest(q vector.Query) []vector.Match {
	matches := make([]vector.Match, len(x.records))
	for i, r := range x.records {
		score := q.Sparse.Dot(r.Sparse)
		for j, value := range q.Dense {
			score += float64(value * r.Dense[j])
		}
		matches[i] = vector.Match{ID: r.ID, Score: score, Metadata: r.Metadata}
	}
	slices.SortFunc(matches, func(a, b vector.Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return matches[:min(len(matches), q.TopK)]
}

// pool is what the index returned for one query, with its features.
type pool struct {
	sample int
	// conversation is the id of the sample.
	conversation string
	category     string // "" for small talk
	// evidence is how many messages hold the answer, in the pool or not.
	evidence   int
	candidates []rank.Candidate
	relevant   []bool
	features   rank.Matrix
}

//go:embed smalltalk.txt
var smallTalk string

// asked is how long after the last message a question is asked.
const asked = 24 * time.Hour

// readPools indexes each sample as the service does, and searches for its questions and for small talk.
func readPools(ctx context.Context, samples []sample, embedder vector.Embedder, size int) ([]pool, error) {
	var pools []pool
	for n, s := range samples {
		index := &memoryIndex{}
		indexer := indexing.NewIndexer(embedder, index, "")
		for from := 0; from < len(s.messages); from += 500 {
			// The first message of a batch lacks what was said before it; this is so in the service, too.
			batch := s.messages[from:min(len(s.messages), from+500)]
			if err := indexer.IndexMessages(ctx, conversation.UserID(s.id), 0, batch); err != nil {
				return nil, err
			}
		}
		questions := s.questions
		for line := range strings.Lines(smallTalk) {
			questions = append(questions, question{text: strings.TrimSpace(line)})
		}
		texts := make([]string, len(questions))
		for i, q := range questions {
			texts[i] = q.text
		}
		vectors, err := embedder.Embed(ctx, texts)
		if err != nil {
			return nil, err
		}
		now := s.messages[len(s.messages)-1].Timestamp.Add(asked)
		for i, q := range questions {
			dense, sparse := vector.Hybrid(vectors[i], vector.Encode(q.text))
			matches := index.nearest(vector.Query{Dense: dense, Sparse: sparse, TopK: size})
			p := pool{
				sample: n, conversation: s.id, category: q.category, evidence: len(q.evidence),
				candidates: recall.Candidates(matches),
			}
			for _, c := range p.candidates {
				p.relevant = append(p.relevant, q.evidence[c.ID])
			}
			p.features = rank.Features(rank.NewQuery(q.text, now), p.candidates)
			pools = append(pools, p)
		}
	}
	return pools, nil
}
