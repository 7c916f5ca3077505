package throughline

import (
	"context"
	"iter"
	"maps"
	"net/http"
)

// Page is one page of a list. NextCursor is "" on the last page.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Pages is a list, which the API answers page by page.
type Pages[T any] struct {
	ctx     context.Context
	client  *Client
	request request
	options []Option
}

func pages[T any](ctx context.Context, client *Client, r request, options []Option) Pages[T] {
	r.method = http.MethodGet
	return Pages[T]{ctx, client, r, options}
}

// Page gets one page: that of a cursor, or the first for "".
func (p Pages[T]) Page(cursor string) (*Page[T], error) {
	prepared, err := p.client.prepare(p.request, p.options)
	if err != nil {
		return nil, err
	}
	if cursor != "" {
		prepared.query = maps.Clone(prepared.query)
		prepared.query.Set("cursor", cursor)
	}
	call := p.client.begin(p.ctx, prepared)
	defer call.end()
	page := new(Page[T])
	if err := call.send(readJSON(map[int]any{http.StatusOK: page})); err != nil {
		return nil, err
	}
	return page, nil
}

// All gets page after page and yields their items. It ends at the first error.
func (p Pages[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor, more := "", true; more; more = cursor != "" {
			page, err := p.Page(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			cursor = page.NextCursor
		}
	}
}
