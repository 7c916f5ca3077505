package dynamo

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
)

// maxExamined bounds what one page of a filtered list reads: a page may end short, with more behind it.
const maxExamined = 4 << 20

// pager collects a page of a list that is ordered by sort key. The position behind it is the sk of the last record
// that was looked at.
type pager[T any] struct {
	limit    int
	items    []T
	last     string
	bytes    int // of what is on the page
	examined int // of everything looked at
}

// collect walks records until the page is full. pick decodes one and says whether it is on the list.
func (p *pager[T]) collect(records iter.Seq2[item, error], pick func(item) (T, bool)) ([]T, conversation.Position, error) {
	for it, err := range records {
		if err != nil {
			return nil, "", err
		}
		if !p.take(it, pick) {
			return p.items, conversation.Position(p.last), nil
		}
	}
	return p.items, "", nil
}

// collectPresent collects a page without the records of an earlier generation, which an unfinished erasure has left
// behind. It reads the generation while it reads the list.
func collectPresent[T any](ctx context.Context, s *Store, user conversation.UserID, limit int, records iter.Seq2[item, error], pick func(item) (T, bool)) ([]T, conversation.Position, error) {
	var now found
	var g errgroup.Group
	g.Go(func() (err error) {
		now, err = s.readOf(ctx, "read generation", user)
		return err
	})
	p := pager[T]{limit: limit}
	items, next, err := p.collect(records, func(it item) (T, bool) {
		v, ok := pick(it)
		return v, ok && g.Wait() == nil && it.whole(attrGeneration) >= now.generation(user)
	})
	if waitErr := g.Wait(); err == nil && waitErr != nil {
		return nil, "", waitErr
	}
	return items, next, err
}

// take reports whether the record is on the page or passed over; a full page takes none.
func (p *pager[T]) take(it item, pick func(item) (T, bool)) bool {
	size := it.bytesLong()
	if p.examined += size; p.examined > maxExamined && p.last != "" {
		return false
	}
	if v, ok := pick(it); ok {
		full := len(p.items) >= p.limit || len(p.items) > 0 && p.bytes+size > conversation.MaxPageBytes
		if full {
			return false
		}
		p.items = append(p.items, v)
		p.bytes += size
	}
	p.last = it.text(attrSK)
	return true
}
