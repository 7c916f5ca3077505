package httpapi_test

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/throughline/throughline/internal/conversation"
	appdata "github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
)

// fakeDocuments keeps documents in memory. Each list is one page.
type fakeDocuments struct {
	mu   sync.Mutex
	byID map[string]appdata.Document
}

func newFakeDocuments() *fakeDocuments { return &fakeDocuments{byID: map[string]appdata.Document{}} }

func placeOf(user conversation.UserID, n appdata.Namespace, key string) string {
	return strings.Join([]string{string(user), n.String(), key}, "\n")
}

func (f *fakeDocuments) PutDocument(_ context.Context, user conversation.UserID, d appdata.Document,
) (appdata.Document, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	place := placeOf(user, d.Namespace, d.Key)
	before, was := f.byID[place]
	if was {
		d.CreatedAt = before.CreatedAt
	}
	f.byID[place] = d
	return d, !was, nil
}

func (f *fakeDocuments) DeleteDocument(
	ctx context.Context, user conversation.UserID, n appdata.Namespace, key string,
) error {
	if _, err := f.Document(ctx, user, n, key); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byID, placeOf(user, n, key))
	return nil
}

func (f *fakeDocuments) Document(_ context.Context, user conversation.UserID, n appdata.Namespace, key string,
) (appdata.Document, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.byID[placeOf(user, n, key)]
	if !ok {
		return d, fault.Missing("document")
	}
	return d, nil
}

func (f *fakeDocuments) Documents(_ context.Context, user conversation.UserID, under appdata.Namespace,
	filter appdata.Filter, _ conversation.Page,
) ([]appdata.Document, conversation.Position, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []appdata.Document
	for place, d := range f.byID {
		isUnder := len(d.Namespace) >= len(under) && slices.Equal(d.Namespace[:len(under)], under)
		if strings.HasPrefix(place, string(user)+"\n") && isUnder && filter.Matches(d.Value) {
			found = append(found, d)
		}
	}
	return found, "", nil
}

func (f *fakeDocuments) Namespaces(ctx context.Context, user conversation.UserID, q appdata.NamespaceQuery,
	page conversation.Page,
) ([]appdata.Namespace, conversation.Position, error) {
	all, _, err := f.Documents(ctx, user, nil, nil, page)
	var found []appdata.Namespace
	for _, d := range all {
		if q.Matches(d.Namespace) {
			found = append(found, q.Cut(d.Namespace))
		}
	}
	return found, "", err
}
