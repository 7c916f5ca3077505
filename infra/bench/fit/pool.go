package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/infra/bench/dataset"
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

// search returns the matches of a query that the service ranks: the best of all, and the best of the days it names.
func (x *memoryIndex) search(q vector.Query, asked *rank.Query) []vector.Match {
	spans := asked.Spans()
	dated := slices.DeleteFunc(slices.Clone(x.records), func(r vector.Record) bool {
		at, _ := r.Metadata[vector.FieldTime].(float64)
		return !slices.ContainsFunc(spans, func(s rank.Span) bool {
			return vector.Epoch(s.From) <= at && at < vector.Epoch(s.To)
		})
	})
	return vector.Union(nearest(q, x.records, matches), nearest(q, dated, datedMatches))
}

// nearest returns the k best matches among records.
func nearest(q vector.Query, records []vector.Record, k int) []vector.Match {
	found := make([]vector.Match, len(records))
	for i, r := range records {
		score := q.Sparse.Dot(r.Sparse)
		for j, value := range q.Dense {
			score += float64(value * r.Dense[j])
		}
		found[i] = vector.Match{ID: r.ID, Score: score, Metadata: r.Metadata}
	}
	slices.SortFunc(found, func(a, b vector.Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), k)]
}

// pool is what the index returned for one query, as records with their features.
type pool struct {
	// set is the name of the data set, conversation the id of the conversation.
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
// today about conversations of the past.
const asked = 3 * 365 * 24 * time.Hour

// matches is how many matches of the index are ranked, datedMatches how many of the days that a question names besides,
// as in the service.
const matches, datedMatches = 400, 200

// readPools indexes each conversation as the service does, and searches for its questions and for small talk.
func readPools(ctx context.Context, sets []dataset.Set, embedder vector.Embedder) (pools []pool, err error) {
	for _, set := range sets {
		for _, c := range set.Conversations {
			if pools, err = newPooler(set.Name, c).addPools(ctx, pools, c.Questions, embedder); err != nil {
				return nil, err
			}
		}
	}
	return pools, nil
}

// pooler makes the pools of one conversation.
type pooler struct {
	set, id  string
	messages []conversation.Message
	ids      map[string]string // of the messages, by those of the file
	found    memoryIndex
	words    *bm25.Index
	chars    map[string]int
	now      time.Time
}

func newPooler(set string, c dataset.Conversation) *pooler {
	x := &pooler{set: set, id: c.ID, ids: map[string]string{}, chars: map[string]int{}}
	var texts []string
	for _, session := range c.Sessions {
		for i, m := range session.Messages {
			id := fmt.Sprintf("%s-%s-%d", c.ID, session.ID, i+1)
			x.ids[m.ID], x.chars[id], x.now = id, utf8.RuneCountInString(m.Content), m.Timestamp.Add(asked)
			x.messages = append(x.messages, conversation.Message{
				ID: id, Seq: i + 1, SessionID: session.ID, Context: session.Context, CoachID: "coach",
				Role: conversation.Role(m.Role), Content: m.Content, Timestamp: m.Timestamp,
			})
			texts = append(texts, m.Content)
		}
	}
	x.words = bm25.New(texts)
	return x
}

// addPools adds the pools of questions and of small talk, which has no category.
func (x *pooler) addPools(
	ctx context.Context, pools []pool, questions []dataset.Question, embedder vector.Embedder,
) ([]pool, error) {
	indexer := indexing.NewIndexer(vector.Held{Index: &x.found, Model: vector.Model{Embedder: embedder}})
	// The first message of a batch lacks what was said before it; this is so in the service, too.
	for batch := range slices.Chunk(x.messages, 500) {
		if err := indexer.IndexMessages(ctx, conversation.UserID(x.id), 0, batch); err != nil {
			return nil, err
		}
	}
	questions = slices.Clone(questions)
	for i := range questions {
		questions[i].Category = cmp.Or(questions[i].Category, "question")
	}
	for line := range strings.Lines(smallTalk) {
		questions = append(questions, dataset.Question{Text: strings.TrimSpace(line)})
	}
	var texts []string
	for _, q := range questions {
		texts = append(texts, q.Text)
	}
	vectors, err := embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i, q := range questions {
		pools = append(pools, x.pool(q, vectors[i]))
	}
	return pools, nil
}

func (x *pooler) pool(q dataset.Question, embedding []float32) pool {
	dense, sparse := vector.Hybrid(embedding, vector.Encode(q.Text))
	asked := rank.NewQuery(q.Text, x.now)
	candidates := recall.Candidates(x.found.search(vector.Query{Dense: dense, Sparse: sparse}, asked))
	evidence, best := map[string]bool{}, map[string]float64{}
	for _, id := range q.Evidence {
		evidence[x.ids[id]] = true
	}
	for _, c := range candidates {
		if score, known := best[c.ID]; !known || c.Score > score {
			best[c.ID] = c.Score
		}
	}
	p := pool{set: x.set, conversation: x.id, category: q.Category, evidence: len(evidence)}
	p.features = rank.Features(asked, candidates)
	for i := range p.features.Len() {
		id := p.features.ID(i)
		p.relevant, p.index = append(p.relevant, evidence[id]), append(p.index, best[id])
		p.chars = append(p.chars, x.chars[id])
	}
	for _, n := range x.words.Search(q.Text) {
		id := x.messages[n].ID
		p.words = append(p.words, cutoff.Message{Chars: x.chars[id], Relevant: evidence[id]})
	}
	return p
}
