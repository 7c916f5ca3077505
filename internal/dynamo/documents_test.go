package dynamo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

// put stores a document of a user and returns it as it is stored.
func (s *fixture) put(
	t *testing.T, user conversation.UserID, namespace, key, value string, change ...func(*document.Put),
) (document.Document, bool) {
	t.Helper()
	d, created, err := s.tryPut(t.Context(), user, namespace, key, value, change...)
	if err != nil {
		t.Fatalf("put %s %s: %v", namespace, key, err)
	}
	return d, created
}

func (s *fixture) tryPut(ctx context.Context, user conversation.UserID, namespace, key, value string,
	change ...func(*document.Put),
) (document.Document, bool, error) {
	p := document.Put{Namespace: strings.Split(namespace, "/"), Key: key, Value: json.RawMessage(value)}
	for _, c := range change {
		c(&p)
	}
	d, err := p.Document(s.clock())
	if err != nil {
		return d, false, err
	}
	return s.Documents.PutDocument(ctx, user, d)
}

func (s *fixture) document(user conversation.UserID, namespace, key string) (document.Document, error) {
	return s.Documents.Document(context.Background(), user, strings.Split(namespace, "/"), key)
}

func indexed(paths ...string) func(*document.Put) {
	return func(p *document.Put) { p.Index = append([]string{}, paths...) }
}

// TestTimesOfADocument replaces a document, and puts it again after it has expired and after it was deleted. The first
// alone keeps the time of its creation.
func TestTimesOfADocument(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	ttl := func(p *document.Put) { p.TTL = time.Minute }
	put := func(wantCreated bool, createdAt time.Time, change ...func(*document.Put)) document.Document {
		t.Helper()
		d, created := s.put(t, alice, "users/ann", "note 1", `{}`, change...)
		if created != wantCreated || !d.CreatedAt.Equal(createdAt) || !d.UpdatedAt.Equal(s.clock()) {
			t.Errorf("created %v, %+v, want %v at %v", created, d, wantCreated, createdAt)
		}
		return d
	}
	check.Equal(t, start.Add(time.Minute), put(true, start, ttl).ExpiresAt, "expires at")
	s.advance(time.Minute - time.Second)
	replaced := put(false, start)
	if got, err := s.document(alice, "users/ann", "note 1"); err != nil || !got.ExpiresAt.IsZero() ||
		cmp.Diff(replaced, got) != "" {
		t.Errorf("read %+v, %v, want %+v", got, err, replaced)
	}
	put(false, start, ttl)
	s.advance(time.Minute)
	put(true, s.clock())
	s.advance(time.Second)
	check.OK(t, s.Documents.DeleteDocument(t.Context(), alice, replaced.Namespace, replaced.Key))
	put(true, s.clock())
}

// TestVectorsOfFormerValues checks that a document knows of the vectors that a longer value before had.
func TestVectorsOfFormerValues(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	long, _ := s.put(t, alice, "a", "k", `{"text":"`+strings.Repeat("word ", 500)+`"}`)
	if long.Vectors != 3 {
		t.Errorf("a long text has %d vectors", long.Vectors)
	}
	if short, _ := s.put(t, alice, "a", "k", `{"text":"x"}`); short.Vectors != 3 {
		t.Errorf("after that there may be %d vectors", short.Vectors)
	}
	if none, _ := s.put(t, alice, "a", "none", `{"text":"x"}`, indexed()); none.Vectors != 0 {
		t.Errorf("without an index there may be %d vectors", none.Vectors)
	}
}

// listed returns the places of the documents under a namespace.
func (s *fixture) listed(
	t *testing.T, user conversation.UserID, under document.Namespace, f document.Filter, limit int,
) []string {
	t.Helper()
	var found []document.Document
	for page := (conversation.Page{Limit: limit}); ; {
		documents, next, err := s.Documents.Documents(t.Context(), user, under, f, page)
		if err != nil || len(documents) > limit {
			t.Fatalf("a page of %d documents, %v", len(documents), err)
		}
		found = append(found, documents...)
		if page.After = next; next == "" {
			return idsOf(found, func(d document.Document) string { return d.Namespace.String() + " " + d.Key })
		}
	}
}

func (s *fixture) namespaces(t *testing.T, user conversation.UserID, q document.NamespaceQuery, limit int) []string {
	t.Helper()
	page := conversation.Page{Limit: limit}
	found := allPages(t, page, func(p conversation.Page) ([]document.Namespace, conversation.Position, error) {
		return s.Documents.Namespaces(t.Context(), user, q, p)
	})
	return idsOf(found, document.Namespace.String)
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, n := range []string{
		"a/b/c", "a/b/d/e", "a/b/d/i", "a/b/f", "a/c/f", "b/a/f", "users/123",
		"users/45/settings",
	} {
		s.put(t, alice, n, "k", `{}`)
		s.put(t, alice, n, "l", `{}`)
	}
	s.put(t, bob, "a/x", "k", `{}`)
	for _, c := range []struct {
		q    document.NamespaceQuery
		want string
	}{
		{document.NamespaceQuery{}, "a/b/c a/b/d/e a/b/d/i a/b/f a/c/f b/a/f users/123 users/45/settings"},
		{document.NamespaceQuery{Prefix: document.Namespace{"a", "b"}}, "a/b/c a/b/d/e a/b/d/i a/b/f"},
		{document.NamespaceQuery{Suffix: document.Namespace{"f"}}, "a/b/f a/c/f b/a/f"},
		{document.NamespaceQuery{Prefix: document.Namespace{"a"}, Suffix: document.Namespace{"f"}}, "a/b/f a/c/f"},
		{document.NamespaceQuery{Prefix: document.Namespace{"a", "b"}, MaxDepth: 3}, "a/b/c a/b/d a/b/f"},
		{document.NamespaceQuery{Prefix: document.Namespace{"a", "*", "f"}}, "a/b/f a/c/f"},
		{document.NamespaceQuery{Suffix: document.Namespace{"*", "f"}, MaxDepth: 1}, "a b"},
		{document.NamespaceQuery{Prefix: document.Namespace{"nonexistent"}}, ""},
		{
			document.NamespaceQuery{Prefix: document.Namespace{"users", "*"}, Suffix: document.Namespace{"settings"}},
			"users/45/settings",
		},
	} {
		for _, limit := range []int{1, 50} {
			got := s.namespaces(t, alice, c.q, limit)
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("%+v, %d a page: %v, want %s", c.q, limit, got, c.want)
			}
		}
	}
}

// TestNamespacesPassOverMany checks a list that begins after more expired documents than one query reads.
func TestNamespacesPassOverMany(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for i := range 105 {
		s.put(t, alice, "a", fmt.Sprint(i), `{}`, func(p *document.Put) { p.TTL = time.Second })
	}
	s.put(t, alice, "b", "k", `{}`)
	s.advance(time.Minute)
	check.Same(t, []string{"b"}, s.namespaces(t, alice, document.NamespaceQuery{}, 10), "namespaces")
}

// TestPagesOfNamespacesAreBounded lists what 105 namespaces do not have. The first page ends after a hundred queries,
// whatever its limit.
func TestPagesOfNamespacesAreBounded(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for i := range 105 {
		s.put(t, alice, fmt.Sprintf("n%03d", i), "k", `{}`)
	}
	q, page := document.NamespaceQuery{Suffix: document.Namespace{"no"}}, conversation.Page{Limit: 200}
	for _, isLast := range []bool{false, true} {
		found, next, err := s.Documents.Namespaces(t.Context(), alice, q, page)
		if err != nil || len(found) > 0 || (next == "") != isLast {
			t.Errorf("%d namespaces, next %q, want the end %t, %v", len(found), next, isLast, err)
		}
		page.After = next
	}
}

// TestNamesOfEveryKind checks that names come back exactly, and that no two of them are one.
func TestNamesOfEveryKind(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	names := []string{
		"a", "A", "a#b", "a%b", "a%23b", "#", "%", "*", ":", " ", "😀👨‍👩‍👧", "عربى", "a\u0301", "á", "doc#a",
		strings.Repeat("n", 64), strings.Repeat("n", 63), strings.Repeat("😀", 64), "%.AAAAAAAAAAAAAAAAAAAAAA", `"\`, "3",
	}
	var want []string
	for _, n := range names {
		for _, key := range append(names, strings.Repeat("k", 512), strings.Repeat("😀", 512)) {
			if n == "a" || key == "a" || n == key {
				s.put(t, alice, n, key, `{}`)
				want = append(want, n+" "+key)
			}
		}
	}
	got := s.listed(t, alice, nil, nil, 7)
	slices.Sort(want)
	slices.Sort(got)
	check.Same(t, want, got, "listed")
	deep := slices.Repeat(document.Namespace{strings.Repeat("😀", 64)}, 8)
	s.put(t, alice, deep.String(), strings.Repeat("😀", 512), `{"deep":true}`)
	if got := s.listed(t, alice, deep[:7], nil, 5); len(got) != 1 {
		t.Errorf("%d documents under seven long labels", len(got))
	}
}

// TestPagesOfDocuments checks that a page ends at its size, and that one of a filter that little passes is short.
func TestPagesOfDocuments(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	large := `{"n":0,"text":"` + strings.Repeat("x", document.MaxValueBytes-20) + `"}`
	for i := range 21 {
		s.put(t, alice, "large", fmt.Sprintf("%02d", i), large, indexed())
	}
	s.put(t, alice, "small", "k", `{"n":1}`)
	first, next, err := s.Documents.Documents(t.Context(), alice, nil, nil, conversation.Page{Limit: 100})
	if err != nil || len(first) < 1 || len(first) > 4 || next == "" {
		t.Errorf("%d large documents on a page, next %q, %v", len(first), next, err)
	}
	f, err := document.ParseFilter("filter", `{"n":1}`)
	check.OK(t, err)
	short, next, err := s.Documents.Documents(t.Context(), alice, nil, f, conversation.Page{Limit: 100})
	if err != nil || len(short) > 0 || next == "" {
		t.Errorf("the first page of a filter that none passes has %d documents, next %q, %v", len(short), next, err)
	}
	check.Same(t, []string{"small k"}, s.listed(t, alice, nil, f, 100), "all pages")
	for _, position := range []conversation.Position{"msg#1", "doc#", "doc#b/:k", "doc#a/:x#1"} {
		_, _, err := s.Documents.Documents(t.Context(), alice, document.Namespace{"a"}, nil, conversation.Page{
			Limit: 1, After: position,
		})
		checkFault(t, err, fault.Invalid, "position %q", position)
	}
}

// TestConcurrentPuts checks that of puts at the same time exactly one creates the document, and that the last one wins.
func TestConcurrentPuts(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const writers = 6
	var wg sync.WaitGroup
	created := make([]bool, writers)
	for i := range writers {
		wg.Go(func() {
			var err error
			if _, created[i], err = s.tryPut(t.Context(), alice, "a", "k", fmt.Sprintf(`{"n":%d}`, i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	firsts := 0
	for _, c := range created {
		if c {
			firsts++
		}
	}
	if _, err := s.document(alice, "a", "k"); err != nil || firsts != 1 {
		t.Errorf("%d puts created the document, %v", firsts, err)
	}
}

// TestDocumentsDuringErasure writes documents while their user is erased. Nothing of before is left, and a put that was
// acknowledged after the erasure began is there.
func TestDocumentsDuringErasure(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for i := range 30 {
		s.put(t, alice, "before", fmt.Sprint(i), `{"old":true}`)
	}
	var wg sync.WaitGroup
	begun := make(chan struct{})
	wg.Go(func() {
		<-begun
		for i := range 30 {
			if _, _, err := s.tryPut(t.Context(), alice, "before", fmt.Sprint(i), `{"old":false}`); err != nil {
				t.Error(err)
			}
		}
	})
	p, held, err := s.Erasures.BeginErasure(t.Context(), alice, s.clock().Add(time.Hour))
	if err != nil || !held {
		t.Fatal(held, err)
	}
	if got := s.listed(t, alice, nil, nil, 50); len(got) > 0 {
		t.Errorf("listed after the erasure has begun: %v", got)
	}
	close(begun)
	for range 2 {
		_, err := s.Erasures.EraseRecords(t.Context(), alice, p.Generation, s.clock().Add(time.Hour), func(string, int) {})
		check.OK(t, err)
	}
	wg.Wait()
	if got := s.listed(t, alice, nil, nil, 50); len(got) != 30 {
		t.Errorf("%d documents were written since, %d are there", 30, len(got))
	}
	f, err := document.ParseFilter("filter", `{"old":true}`)
	check.OK(t, err)
	if got := s.listed(t, alice, nil, f, 50); len(got) > 0 {
		t.Errorf("of before the erasure: %v", got)
	}
	check.Same(t, []string{"before"}, s.namespaces(t, alice, document.NamespaceQuery{}, 5), "namespaces")
}
