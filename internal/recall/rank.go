package recall

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// sortHits orders hits by value. Equal ones are ordered by time, newest first, and then by id.
func sortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Value(), a.Value()), b.OccurredAt().Compare(a.OccurredAt()), cmp.Compare(a.ID, b.ID))
	})
}

// aged lowers a score by the age of its record where the search has a half-life. A score below zero, which stands for
// no likeness, stays as it is.
func (v visibility) aged(score float64, at time.Time) float64 {
	age := v.now.Sub(at)
	if v.HalfLife <= 0 || age <= 0 || score <= 0 {
		return score
	}
	return score * math.Exp2(-age.Hours()/v.HalfLife.Hours())
}

// What rerank adds to a hit's score. The weights were fitted on the development half of LoCoMo.
const (
	// wordWeight is for words shared with the query, relative to the hit that shares most; rare words count more. The
	// index cannot do this, because it does not know which words are rare with this user.
	wordWeight = 0.7
	// previousWeight and nextWeight are for the scores of the messages before and after it: an answer often stands
	// next to a message that resembles the question.
	previousWeight = 0.45
	nextWeight     = 0.55
	// exactBonus is for a text that equals the query. The index cannot tell texts of common words apart.
	exactBonus = 1
)

// rerank sets the rank of the messages and check-ins among the hits.
func rerank(query string, hits []Hit) {
	var ranked []*Hit
	var texts []string
	for i := range hits {
		if h := &hits[i]; h.Message != nil || h.CheckIn != nil {
			ranked, texts = append(ranked, h), append(texts, h.text())
		}
	}
	words := lexical(query, texts)
	best := slices.Max(append(words, 0))
	normalized := longterm.Normalize(query)
	ranks := make(map[position]float64, len(ranked))
	for i, h := range ranked {
		h.Rank = h.Score
		if best > 0 {
			h.Rank += wordWeight * words[i] / best
		}
		if h.Message != nil {
			ranks[positionOf(*h.Message, 0)] = h.Rank
		}
		if content := h.content(); len(content) <= 4*len(normalized) && longterm.Normalize(content) == normalized {
			h.Rank += exactBonus
		}
	}
	for _, h := range ranked {
		if h.Message != nil {
			previous, next := ranks[positionOf(*h.Message, -1)], ranks[positionOf(*h.Message, 1)]
			h.Rank += max(0, previousWeight*previous, nextWeight*next)
		}
	}
}

// content is the content of a message or the note of a check-in.
func (h Hit) content() string {
	if h.Message != nil {
		return h.Message.Content
	}
	return h.CheckIn.Note
}

// text is what a message or a check-in is compared with the query by.
func (h Hit) text() string {
	if h.Message != nil {
		return messageText(*h.Message, h.Message.Content, "")
	}
	return checkInText(*h.CheckIn)
}

// position is the place of a message in its session.
type position struct {
	context, session string
	seq              int
}

func positionOf(m conversation.Message, offset int) position {
	return position{m.Context, m.SessionID, m.Seq + offset}
}

// The usual parameters of BM25.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// lexical scores texts by the words they share with a query, with BM25 over these texts alone. Scores are at least 0;
// 0 means that no word is shared.
func lexical(query string, texts []string) []float64 {
	terms := unique(vector.Terms(truncate.Bytes(query, maxQueryBytes)))
	finder := vector.NewFinder(terms)
	counts, lengths, mean := make([][]int, len(texts)), make([]float64, len(texts)), 0.0
	containing := make([]float64, len(terms))
	for i, text := range texts {
		var n int
		counts[i], n = finder.Count(truncate.Bytes(text, maxPartBytes))
		lengths[i] = float64(n)
		mean += float64(n) / float64(len(texts))
		for term, tf := range counts[i] {
			if tf > 0 {
				containing[term]++
			}
		}
	}
	scores := make([]float64, len(texts))
	for term, n := range containing {
		rarity := math.Log(1 + (float64(len(texts))-n+0.5)/(n+0.5))
		for i := range texts {
			if tf := float64(counts[i][term]); tf > 0 {
				norm := 1 - bm25B + bm25B*lengths[i]/mean
				scores[i] += rarity * tf * (bm25K1 + 1) / (tf + bm25K1*norm)
			}
		}
	}
	return scores
}

// unique drops repeated terms and keeps their order.
func unique(terms []string) []string {
	seen := map[string]bool{}
	out := terms[:0]
	for _, t := range terms {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}
