package rank

import (
	"cmp"
	"math"
	"slices"
)

// The usual parameters of BM25.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

const (
	// maxTerms is how many of the query's terms are compared: the rarest.
	maxTerms = 48
	// contextTerms is about how many terms the index knows of a message besides its own: when, where and by whom it was
	// written, and the end of the message before it.
	contextTerms = 20
)

// wordScorer scores texts by the words that they share with the query.
type wordScorer struct {
	terms []int // of the query, by their number
	// rarity is the rarity of each term among texts, total is the sum.
	rarity     []float64
	total      float64
	queryTerms int
	mean       float64 // length of a text
}

func newWordScorer(q *Query, candidates []candidate) *wordScorer {
	s := &wordScorer{queryTerms: len(q.terms)}
	containing := make([]float64, len(q.terms))
	total := 0
	for i := range candidates {
		total += candidates[i].words
		for term, n := range candidates[i].counts {
			if n > 0 {
				containing[term]++
			}
		}
	}
	s.mean = max(float64(total)/float64(max(len(candidates), 1)), 1)
	for term, n := range containing {
		if n > 0 {
			s.terms = append(s.terms, term)
		}
	}
	slices.SortStableFunc(s.terms, func(a, b int) int { return cmp.Compare(containing[a], containing[b]) })
	s.terms = s.terms[:min(len(s.terms), maxTerms)]
	s.rarity = make([]float64, len(s.terms))
	for i, term := range s.terms {
		s.rarity[i] = rarity(float64(len(candidates)), containing[term])
		s.total += s.rarity[i]
	}
	return s
}

// rarity is the weight of a term that n of all texts have.
func rarity(all, n float64) float64 { return math.Log(1 + (all-n+0.5)/(n+0.5)) }

// passage is one text or several, as counts of the terms.
type passage struct {
	counts []float64
	words  float64
}

func (p *passage) reset() {
	clear(p.counts)
	p.words = 0
}

// add adds a candidate's text. It adds nothing for nil.
func (p *passage) add(s *wordScorer, c *candidate) {
	if c == nil {
		return
	}
	p.words += float64(c.words)
	for i, term := range s.terms {
		p.counts[i] += float64(c.counts[term])
	}
}

// bm25 scores a passage, as a share of what a passage with every term often would have.
func (s *wordScorer) bm25(p *passage, rarity []float64, mean float64) float64 {
	score, most := 0.0, 0.0
	norm := bm25K1 * (1 - bm25B + bm25B*p.words/mean)
	for i, tf := range p.counts {
		most += rarity[i]
		if tf > 0 {
			score += rarity[i] * tf / (tf + norm)
		}
	}
	if most == 0 {
		return 0
	}
	return score / most
}

// score sets the features of words. The candidates are in the order of their sessions.
func (s *wordScorer) score(candidates []candidate, groups int) {
	sessions := s.scoreSessions(candidates, groups)
	p := &passage{counts: make([]float64, len(s.terms))}
	best := 0.0
	for i := range candidates {
		c := &candidates[i]
		p.reset()
		p.add(s, c)
		c.row[turnWords] = s.bm25(p, s.rarity, s.mean)
		c.row[sparse], c.row[rareWords] = s.cosine(p), s.share(p)
		best = max(best, c.row[turnWords])
		p.add(s, c.previous)
		c.row[pairWords] = s.bm25(p, s.rarity, 2*s.mean)
		p.add(s, c.next)
		c.row[windowWords] = s.bm25(p, s.rarity, 3*s.mean)
		c.row[sessionWords] = sessions[c.group]
	}
	for i := range candidates {
		if row := candidates[i].row; best > 0 {
			row[bestWords] = row[turnWords] / best
		}
	}
}

// cosine is about the likeness of the sparse vectors. The index compares a text with more terms than its own.
func (s *wordScorer) cosine(p *passage) float64 {
	sum := 0.0
	for _, tf := range p.counts {
		if tf > 0 {
			sum += 1 + math.Log(tf)
		}
	}
	return sum / math.Sqrt(float64(max(s.queryTerms, 1))*(p.words+contextTerms))
}

// share is the share of the terms that a passage has, by their rarity.
func (s *wordScorer) share(p *passage) float64 {
	if s.total == 0 {
		return 0
	}
	sum := 0.0
	for i, tf := range p.counts {
		if tf > 0 {
			sum += s.rarity[i]
		}
	}
	return sum / s.total
}

// scoreSessions scores each session by what the pool has of it. A check-in is a session of its own.
func (s *wordScorer) scoreSessions(candidates []candidate, groups int) []float64 {
	passages := make([]passage, groups)
	counts, containing, total := make([]float64, groups*len(s.terms)), make([]float64, len(s.terms)), 0.0
	for i := range passages {
		passages[i].counts = counts[i*len(s.terms) : (i+1)*len(s.terms)]
	}
	for i := range candidates {
		passages[candidates[i].group].add(s, &candidates[i])
	}
	for i := range passages {
		total += passages[i].words
		for term, tf := range passages[i].counts {
			if tf > 0 {
				containing[term]++
			}
		}
	}
	weights := make([]float64, len(s.terms))
	for i, n := range containing {
		weights[i] = rarity(float64(groups), n)
	}
	scores, mean := make([]float64, groups), max(total/float64(groups), 1)
	for i := range passages {
		scores[i] = s.bm25(&passages[i], weights, mean)
	}
	return scores
}
