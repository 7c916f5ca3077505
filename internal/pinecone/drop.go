package pinecone

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// listPage is how many ids one page of a list has at most ("List record IDs").
const listPage = 100

// Drop deletes the vectors of one generation and returns how many there were. With an error, it returns how many it has
// deleted.
func (x *Index) Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error) {
	s, err := x.space(user, generation)
	if err != nil {
		return 0, err
	}
	if s.owner != "" {
		return s.dropListed(ctx)
	}
	return s.dropNamespace(ctx)
}

// dropNamespace deletes a namespace of the user's own. The service counts the vectors.
func (s space) dropNamespace(ctx context.Context) (int, error) {
	about, err := s.index.DescribeNamespace(ctx, s.namespace)
	if err = failure("describe namespace", err); missing(err) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	err = failure("drop namespace", s.index.DeleteNamespace(ctx, s.namespace))
	if err = fault.IgnoreNotFound(err); err != nil {
		return 0, err
	}
	return int(about.RecordCount), nil
}

// dropListed deletes the owner's vectors from a shared namespace: it lists the ids with the owner's prefix and deletes
// each page while it reads the next ("Delete records", "List record IDs"). One deletion by a filter would be fewer
// calls, but the service takes 5 of those a second for a namespace, and does not say how many vectors they found.
func (s space) dropListed(ctx context.Context) (int, error) {
	var deleted atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRequests)
	err := s.eachPage(ctx, func(names []string) {
		group.Go(func() error {
			err := s.delete(ctx, names)
			if err == nil {
				deleted.Add(int64(len(names)))
			}
			return err
		})
	})
	if deleteErr := group.Wait(); deleteErr != nil {
		err = deleteErr // it has cancelled the list
	}
	return int(deleted.Load()), err
}

// eachPage calls f with each page of the ids of the space.
func (s space) eachPage(ctx context.Context, f func(names []string)) error {
	var after *string
	for {
		page, err := s.list(ctx, after, listPage)
		if err != nil {
			return err
		}
		names := make([]string, len(page.VectorIds))
		for i, name := range page.VectorIds {
			names[i] = *name
		}
		if len(names) > 0 {
			f(names)
		}
		if after = page.NextPaginationToken; after == nil {
			return nil
		}
	}
}
