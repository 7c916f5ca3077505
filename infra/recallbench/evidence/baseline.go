package evidence

import (
	"cmp"
	"math"
	"slices"

	"github.com/throughline/throughline/infra/dataset"
	"github.com/throughline/throughline/internal/vector"
)

// Newest scores the messages of each conversation from the newest to the oldest.
func (b *Bench) Newest() Scores {
	orders := map[string][]ranked{}
	for _, c := range b.conversations() {
		orders[c.ID] = b.messages(c)
		slices.Reverse(orders[c.ID])
	}
	lists := make([][]ranked, len(b.Cases))
	for i, c := range b.Cases {
		lists[i] = orders[c.Conversation.ID]
	}
	return b.score(lists)
}

// The parameters of BM25, as they are usually set.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// BM25 scores the messages of each conversation by the question's words, those of equal score from the newest to the
// oldest.
func (b *Bench) BM25() Scores {
	indexes := map[string]*wordIndex{}
	for _, c := range b.conversations() {
		indexes[c.ID] = newWordIndex(b.messages(c))
	}
	lists := make([][]ranked, len(b.Cases))
	for i, c := range b.Cases {
		lists[i] = indexes[c.Conversation.ID].search(c.Question.Text)
	}
	return b.score(lists)
}

// messages returns the messages of a conversation with their ids in the stack.
func (b *Bench) messages(c *dataset.Conversation) []ranked {
	out := make([]ranked, 0, c.Messages())
	for _, s := range c.Sessions {
		for _, m := range s.Messages {
			out = append(out, ranked{b.ids[c.ID][m.ID], m.Content})
		}
	}
	return out
}

// wordIndex counts the words of messages.
type wordIndex struct {
	messages []ranked
	counts   []map[string]float64
	lengths  []float64
	mean     float64
	has      map[string]float64
}

func newWordIndex(messages []ranked) *wordIndex {
	x := &wordIndex{messages: messages, has: map[string]float64{}}
	for _, m := range messages {
		counts := map[string]float64{}
		terms := vector.Terms(m.Content)
		for _, term := range terms {
			if counts[term]++; counts[term] == 1 {
				x.has[term]++
			}
		}
		x.counts, x.lengths = append(x.counts, counts), append(x.lengths, float64(len(terms)))
		x.mean += float64(len(terms)) / float64(len(messages))
	}
	return x
}

// search returns the messages that share a word with the query, best first.
func (x *wordIndex) search(query string) []ranked {
	scores := make([]float64, len(x.messages))
	for _, term := range vector.Terms(query) {
		rarity := math.Log1p((float64(len(x.messages)) - x.has[term] + 0.5) / (x.has[term] + 0.5))
		for i, counts := range x.counts {
			n := counts[term]
			scores[i] += rarity * n * (bm25K + 1) / (n + bm25K*(1-bm25B+bm25B*x.lengths[i]/x.mean))
		}
	}
	order := make([]int, 0, len(scores))
	for i, score := range scores {
		if score > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a)) })
	out := make([]ranked, 0, found)
	for _, i := range order[:min(found, len(order))] {
		out = append(out, x.messages[i])
	}
	return out
}
