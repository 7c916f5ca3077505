package dynamo_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

// modelDocument is a document of the model. Its time to live is in seconds.
type modelDocument struct {
	namespace document.Namespace
	key       string
	n         int
	expires   time.Time
}

// documentModel is what a user's documents have to be.
type documentModel struct {
	rt   *rapid.T
	t    *testing.T
	s    *fixture
	user conversation.UserID
	docs map[string]modelDocument
}

var labels = rapid.SampledFrom([]string{"a", "b", "a b", "ab", "ü", "*", "#", strings.Repeat("long", 16)})

func (m *documentModel) namespace(least int) document.Namespace {
	return rapid.SliceOfN(labels, least, 3).Draw(m.rt, "namespace")
}

func (m *documentModel) key() string {
	return rapid.SampledFrom([]string{"1", "2", "#2", "%"}).Draw(m.rt, "key")
}

func (m *documentModel) live() map[string]modelDocument {
	maps.DeleteFunc(m.docs, func(_ string, d modelDocument) bool {
		return !d.expires.IsZero() && !d.expires.After(m.s.clock())
	})
	return m.docs
}

func (m *documentModel) put() {
	n, key, value := m.namespace(1), m.key(), rapid.IntRange(0, 4).Draw(m.rt, "n")
	ttl := time.Duration(rapid.IntRange(0, 2).Draw(m.rt, "minutes")) * time.Minute
	_, was := m.live()[n.String()+" "+key]
	d, created, err := m.s.tryPut(m.t.Context(), m.user, n.String(), key, fmt.Sprintf(`{"n":%d}`, value),
		func(p *document.Put) { p.TTL = ttl })
	if err != nil || created == was {
		m.rt.Fatalf("put: created %v, %v; it was there: %v", created, err, was)
	}
	m.docs[n.String()+" "+key] = modelDocument{n, key, value, d.ExpiresAt}
}

func (m *documentModel) remove() {
	n, key := m.namespace(1), m.key()
	_, was := m.live()[n.String()+" "+key]
	err := m.s.Documents.DeleteDocument(m.t.Context(), m.user, n, key)
	if was != (err == nil) || err != nil && !fault.Is(err, fault.NotFound) {
		m.rt.Fatalf("delete: %v; it was there: %v", err, was)
	}
	delete(m.docs, n.String()+" "+key)
}

func (m *documentModel) get() {
	n, key := m.namespace(1), m.key()
	want, was := m.live()[n.String()+" "+key]
	d, err := m.s.document(m.user, n.String(), key)
	if was != (err == nil) || was && string(d.Value) != fmt.Sprintf(`{"n":%d}`, want.n) {
		m.rt.Fatalf("get: %s, %v; want %+v, %v", d.Value, err, want, was)
	}
}

func (m *documentModel) list() {
	under, least := m.namespace(0), rapid.IntRange(0, 4).Draw(m.rt, "least")
	f, err := document.ParseFilter("filter", fmt.Sprintf(`{"n":{"$gte":%d}}`, least))
	check.OK(m.rt, err)
	var want []string
	for place, d := range m.live() {
		isUnder := len(d.namespace) >= len(under) && slices.Equal(d.namespace[:len(under)], under)
		if isUnder && d.n >= least {
			want = append(want, place)
		}
	}
	got := m.s.listed(m.t, m.user, under, f, rapid.IntRange(1, 4).Draw(m.rt, "limit"))
	m.same("documents", want, got)
}

func (m *documentModel) listNamespaces() {
	q := document.NamespaceQuery{MaxDepth: rapid.IntRange(0, 3).Draw(m.rt, "depth")}
	q.Prefix, q.Suffix = m.namespace(0)[:0:0], m.namespace(0)[:0:0]
	if rapid.Bool().Draw(m.rt, "prefix") {
		q.Prefix = m.namespace(0)
	}
	if rapid.Bool().Draw(m.rt, "suffix") {
		q.Suffix = m.namespace(0)
	}
	want := map[string]bool{}
	for _, d := range m.live() {
		if q.Matches(d.namespace) {
			want[q.Cut(d.namespace).String()] = true
		}
	}
	got := m.s.namespaces(m.t, m.user, q, rapid.IntRange(1, 4).Draw(m.rt, "limit"))
	m.same(fmt.Sprintf("namespaces of %+v", q), slices.Collect(maps.Keys(want)), got)
}

// same compares lists whose order is the store's own.
func (m *documentModel) same(what string, want, got []string) {
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		m.rt.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

// TestDocumentsAreAsInModel carries out random operations and compares each answer with a model of what is stored.
func TestDocumentsAreAsInModel(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	users := 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		m := &documentModel{
			rt: rt, t: t, s: s, user: conversation.UserID(fmt.Sprint("writer", users)), docs: map[string]modelDocument{},
		}
		for range rapid.IntRange(1, 25).Draw(rt, "operations") {
			switch rapid.IntRange(0, 9).Draw(rt, "operation") {
			case 0, 1, 2, 3:
				m.put()
			case 4:
				m.remove()
			case 5:
				m.get()
			case 6, 7:
				m.list()
			case 8:
				m.listNamespaces()
			case 9:
				s.advance(time.Minute)
			}
		}
		m.list()
		m.listNamespaces()
	})
}
