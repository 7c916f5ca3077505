package rank

import (
	"cmp"
	"math"
	"slices"
)

const (
	// maxTerms is how many of the query's terms are compared: the rarest.
	maxTerms = 48
	// contextTerms is about how many terms the index knows of a message besides its own: when, where and by whom it was
	// written, and the end of the message before it.
	contextTerms = 20
	// otherWords is added to the number of words of each text, so that one of a single word is no wonder.
	otherWords = 8
	// leastChance is the least probability that is distinguished from 0.
	leastChance = 1e-6
	// mostWords is the most of the feature allWords.
	mostWords = 2
	// closeWords is how many words after another a word is still close to it: they are a phrase, or say it in other words.
	closeWords = 3
)

// wordScorer scores texts by the words that they share with the query. A word counts by how unlikely it is that a text
// of that length has it by chance: the negative logarithm of that probability, where the words of the pool are spread
// over it at random. So a long text gains less by a word than a short one, and no parameter knows how long texts are.
type wordScorer struct {
	terms []int // of the query, by their number
	// places are the places of the query's terms in terms, -1 for those that are not compared.
	places []int
	// rates are how often each term is among the words of the pool.
	rates []float64
	// usual is the score of a text that has all terms and as many words as half of the texts.
	usual      float64
	queryTerms int
	// shares are how much each of terms counts, queryLength that of the query's sparse vector before it has length 1.
	shares      []float64
	queryLength float64
	// close are the terms of the message that is read that are close to another one.
	close []bool
}

func newWordScorer(q *Query, records []record) *wordScorer {
	s := &wordScorer{queryTerms: len(q.terms)}
	counts, all := make([]int, len(q.terms)), 0
	lengths := make([]float64, len(records))
	for i := range records {
		r := &records[i]
		all += r.words
		lengths[i] = float64(r.words)
		for term, n := range r.counts {
			counts[term] += n
		}
	}
	for term, n := range counts {
		if n > 0 {
			s.terms = append(s.terms, term)
		}
	}
	slices.SortStableFunc(s.terms, func(a, b int) int {
		return cmp.Or(cmp.Compare(q.asked.Share(b), q.asked.Share(a)), cmp.Compare(counts[a], counts[b]))
	})
	s.terms = s.terms[:min(len(s.terms), maxTerms)]
	s.places = slices.Repeat([]int{-1}, len(q.terms))
	for i, term := range s.terms {
		s.places[term] = i
	}
	s.shares = make([]float64, len(s.terms))
	s.rates = make([]float64, len(s.terms))
	usual := median(lengths)
	for i, term := range s.terms {
		s.rates[i] = float64(counts[term]) / float64(max(all, 1))
		s.shares[i] = q.asked.Share(term)
		if s.shares[i] == 1 {
			s.usual += s.surprise(i, usual)
		}
	}
	squares := 0.0
	for term := range q.terms {
		squares += q.asked.Share(term) * q.asked.Share(term)
	}
	s.queryLength = math.Sqrt(max(squares, 1))
	s.close = make([]bool, len(s.terms))
	return s
}

// surprise is the score of a term in a text of that many words.
func (s *wordScorer) surprise(term int, words float64) float64 {
	return -s.shares[term] * math.Log(max(-math.Expm1(-s.rates[term]*(words+otherWords)), leastChance))
}

// passage scores what several texts have together.
func (s *wordScorer) passage(counts []int, words int) float64 {
	sum := 0.0
	for i, term := range s.terms {
		if counts[term] > 0 {
			sum += s.surprise(i, float64(words))
		}
	}
	return sum
}

// message scores a message: all of its terms, and those alone that are close to another one in one of its parts. A
// single term is close to whatever is asked.
func (s *wordScorer) message(r *record) (all, together float64) {
	s.findClose(r.parts)
	for i, term := range s.terms {
		if r.counts[term] > 0 {
			surprise := s.surprise(i, float64(r.words))
			if all += surprise; s.close[i] || len(s.terms) == 1 {
				together += surprise
			}
		}
	}
	return all, together
}

// findClose finds the terms that are close to another one.
func (s *wordScorer) findClose(parts []part) {
	clear(s.close)
	for _, p := range parts {
		for i, h := range p.hits {
			place := s.places[h.Term]
			if place < 0 {
				continue
			}
			for _, next := range p.hits[i+1:] {
				if next.At-h.At > closeWords {
					break
				}
				if other := s.places[next.Term]; other >= 0 && other != place {
					s.close[place], s.close[other] = true, true
				}
			}
		}
	}
}

// score sets the features of words. The records are in the order of their sessions.
func (s *wordScorer) score(records []record, groups int) {
	best, closest := 0.0, 0.0
	for i := range records {
		row := records[i].row
		row[words], row[together] = s.message(&records[i])
		best, closest = max(best, row[words]), max(closest, row[together])
	}
	sessions := s.scoreSessions(records, groups)
	for i := range records {
		row := records[i].row
		row[sessionWords] = sessions[records[i].group]
		if s.usual > 0 {
			row[allWords] = min(row[words]/s.usual, mostWords)
		}
		if best > 0 {
			row[words] /= best
		}
		if closest > 0 {
			row[together] /= closest
		}
	}
}

// scoreSessions scores each session by what the pool has of it, as a share of the best. A check-in is a session of its
// own.
func (s *wordScorer) scoreSessions(records []record, groups int) []float64 {
	counts, lengths := make([]int, groups*s.queryTerms), make([]int, groups)
	for i := range records {
		r := &records[i]
		lengths[r.group] += r.words
		for term, n := range r.counts {
			counts[r.group*s.queryTerms+term] += n
		}
	}
	scores := make([]float64, groups)
	for i := range scores {
		scores[i] = s.passage(counts[i*s.queryTerms:(i+1)*s.queryTerms], lengths[i])
	}
	if best := slices.Max(scores); best > 0 {
		for i := range scores {
			scores[i] /= best
		}
	}
	return scores
}

// cosine is about the likeness of the sparse vectors of the query and a part. The index compares a text with more terms
// than its own. About half of a text's words are stop words.
func (s *wordScorer) cosine(t text) float64 {
	sum := 0.0
	for i, term := range s.terms {
		if n := t.counts[term]; n > 0 {
			sum += s.shares[i] * s.shares[i] * (1 + math.Log(float64(n)))
		}
	}
	return sum / s.queryLength / math.Sqrt(float64(t.words)/2+contextTerms)
}

// median returns the median of values, 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
