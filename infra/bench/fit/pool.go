package main

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/infra/bench/recall/bm25"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/vector"
)

// memoryIndex is a vector index of one user in memory.
type memoryIndex struct {
	vector.Index
	mu      sync.Mutex
	records []vector.Record
}

// Room returns nil: there is always room.
func (x *memoryIndex) Room(context.Context, conversation.UserID, int64) error { return nil }

func (x *memoryIndex) Upsert(_ context.Context, _ conversation.UserID, _ int64, records []vector.Record,
) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.records = append(x.records, records...)
	return nil
}

// nearest returns the k best matches.
func (x *memoryIndex) nearest(q vector.Query) []vector.Match {
	found := make([]vector.Match, len(x.records))
	for i, r := range x.records {
		score := q.Sparse.Dot(r.Sparse)
		for j, value := range q.Dense {
			score += float64(value * r.Dense[j])
		}
		found[i] = vector.Match{ID: r.ID, Score: score, Metadata: r.Metadata}
	}
	slices.SortFunc(found, func(a, b vector.Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), q.TopK)]
}

// pool is what the index returned for one query, as records with their features.
type pool struct {
	// set is the name of the data set, conversation the id of the sample.
	set, conversation string
	category          string // "" for small talk
	// evidence is how many messages hold the answer, in the pool or not.
	evidence int
	features rank.Matrix
	relevant []bool
	// index is the best score of each record's parts, chars the length of its whole message.
	index []float64
	chars []int
	// words are the messages of the conversation, ranked by BM25.
	words []cutoff.Message
}

func (p pool) size() int { return len(p.relevant) }

//go:embed smalltalk.txt
var smallTalk string

// asked is how long after the last message a question is asked: years, as in the benchmark through the API, which asks
// today about conversations of the past. So all messages are equally old, and no weight is fitted to when a data set's
// evidence was written.
const asked = 3 * 365 * 24 * time.Hour

// matches is how many matches of the index are ranked, as in the service.
const matches = 400

// readPools indexes each sample as the service does, and searches for its questions and for small talk.
func readPools(ctx context.Context, samples []sample, embedder vector.Embedder) ([]pool, error) {
	var pools []pool
	for _, s := range samples {
		index := &memoryIndex{}
		indexer := indexing.NewIndexer(vector.Held{Index: index, Model: vector.Model{Embedder: embedder}})
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
		pooler := newPooler(s, index)
		for i, q := range questions {
			pools = append(pools, pooler.pool(q, vectors[i]))
		}
	}
	return pools, nil
}

// pooler makes the pools of one sample.
type pooler struct {
	sample
	found *memoryIndex
	words *bm25.Index
	chars map[string]int
	now   time.Time
}

func newPooler(s sample, found *memoryIndex) *pooler {
	texts, chars := make([]string, len(s.messages)), map[string]int{}
	for i, m := range s.messages {
		texts[i], chars[m.ID] = m.Content, utf8.RuneCountInString(m.Content)
	}
	now := s.messages[len(s.messages)-1].Timestamp.Add(asked)
	return &pooler{s, found, bm25.New(texts), chars, now}
}

func (x *pooler) pool(q question, embedding []float32) pool {
	dense, sparse := vector.Hybrid(embedding, vector.Encode(q.text))
	candidates := recall.Candidates(x.found.nearest(vector.Query{Dense: dense, Sparse: sparse, TopK: matches}))
	p := pool{set: x.set, conversation: x.id, category: q.category, evidence: len(q.evidence)}
	best := map[string]float64{}
	for _, c := range candidates {
		if score, known := best[c.ID]; !known || c.Score > score {
			best[c.ID] = c.Score
		}
	}
	p.features = rank.Features(rank.NewQuery(q.text, x.now), candidates)
	for i := range p.features.Len() {
		id := p.features.ID(i)
		p.relevant, p.index = append(p.relevant, q.evidence[id]), append(p.index, best[id])
		p.chars = append(p.chars, x.chars[id])
	}
	for _, n := range x.words.Search(q.text) {
		id := x.messages[n].ID
		p.words = append(p.words, cutoff.Message{Chars: x.chars[id], Relevant: q.evidence[id]})
	}
	return p
}
