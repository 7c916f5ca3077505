package pineconelocal

import (
	"runtime"
	"slices"
	"sync"
)

// match is a record with its score.
type match struct {
	record *record
	score  float32
}

// rowsPerWorker is the least work worth a goroutine.
const rowsPerWorker = 2048

// topK returns the k best rows that keep accepts, best first. It scans rows in parallel; the order of matches is
// total, so the answer doesn't depend on how the work is split.
func topK(rows []*record, k int, keep predicate, s *scorer) []match {
	workers := max(1, min(runtime.GOMAXPROCS(0), len(rows)/rowsPerWorker))
	best := make([]heap, workers)
	var wg sync.WaitGroup
	for w := range workers {
		part := rows[w*len(rows)/workers : (w+1)*len(rows)/workers]
		wg.Go(func() { best[w] = scan(part, k, keep, s) })
	}
	wg.Wait()
	var all []match
	for _, h := range best {
		all = append(all, h.matches...)
	}
	slices.SortFunc(all, func(a, b match) int {
		if s.before(a, b) {
			return -1
		}
		return 1 // ids are unique: two matches are never equal
	})
	return all[:min(k, len(all))]
}

func scan(rows []*record, k int, keep predicate, s *scorer) heap {
	h := heap{k: k, before: s.before}
	for _, r := range rows {
		if keep(r.fields()) {
			h.offer(match{r, s.score(r)})
		}
	}
	return h
}

// heap keeps the k best of the matches offered, the worst of them at the root.
type heap struct {
	k       int
	before  func(a, b match) bool
	matches []match
}

func (h *heap) offer(m match) {
	if len(h.matches) < h.k {
		h.matches = append(h.matches, m)
		h.up(len(h.matches) - 1)
		return
	}
	if h.before(m, h.matches[0]) {
		h.matches[0] = m
		h.down()
	}
}

func (h *heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(h.matches[parent], h.matches[i]) {
			return
		}
		h.matches[i], h.matches[parent] = h.matches[parent], h.matches[i]
		i = parent
	}
}

func (h *heap) down() {
	for i := 0; ; {
		worst := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(h.matches) && h.before(h.matches[worst], h.matches[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		h.matches[i], h.matches[worst] = h.matches[worst], h.matches[i]
		i = worst
	}
}
