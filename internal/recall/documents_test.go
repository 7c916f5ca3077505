package recall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// put stores a document of ann.
func (s *fixture) put(namespace, key, value string, change ...func(*document.Put)) {
	s.t.Helper()
	p := document.Put{Namespace: strings.Split(namespace, "/"), Key: key, Value: json.RawMessage(value)}
	for _, c := range change {
		c(&p)
	}
	d, err := p.Document(s.now)
	if err == nil {
		_, _, err = s.store.Documents.PutDocument(s.t.Context(), "ann", d)
	}
	check.OK(s.t, err)
}

// sweepRecords indexes what is due, as the sweep does an hour later.
func (s *fixture) sweepRecords() int {
	s.t.Helper()
	later := func() time.Time { return s.now.Add(time.Hour) }
	n, err := s.store.Sweep(s.t.Context(), sweep.Records, indexing.New(s.store.Indexing, s.indexer, later), later)
	check.OK(s.t, err)
	return n
}

// documentVectors counts ann's vectors of documents in the index.
func (s *fixture) documentVectors() int {
	s.t.Helper()
	dense, err := s.embed.Embed(s.t.Context(), []string{"anything"})
	check.OK(s.t, err)
	matches, err := s.index.Query(s.t.Context(), "ann", 0, vector.Query{
		Dense: dense[0], TopK: 100,
		Filter: vector.Where(vector.FieldRecordType, vector.In, []string{vector.DocumentRecord}),
	})
	check.OK(s.t, err)
	return len(matches)
}

// documents returns the keys of the documents that a search finds, best first.
func (s *fixture) documents(q recall.DocumentQuery) (keys []string, degraded int) {
	s.t.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	got, err := s.Documents(s.t.Context(), "ann", q)
	check.OK(s.t, err)
	for i, d := range got.Records {
		keys = append(keys, d.Document.Key)
		if d.Score <= 0 || d.Score > 1 || i > 0 && d.Score > got.Records[i-1].Score {
			s.t.Errorf("%s has the score %g", d.Document.Key, d.Score)
		}
	}
	return keys, len(got.Degraded)
}

func notIndexed(p *document.Put) { p.Index = []string{} }

// TestDocuments finds documents before and after they are indexed, limited by namespace and filter, and when the index
// is down.
func TestDocuments(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.put("notes/ann", "knee", `{"text":"The knee hurts when squatting deep.","stars":3}`)
	s.put("notes/ann", "bread", `{"text":"A recipe for rye bread with seeds.","stars":5}`)
	s.put("notes", "hidden", `{"text":"The knee hurts, but nobody may find this."}`, notIndexed)
	s.put("other", "knees", `{"text":"Knee exercises for runners."}`)
	for _, state := range []string{"before", "indexed", "down"} {
		switch state {
		case "indexed":
			check.Equal(t, 3, s.sweepRecords(), "records were due")
			if n := s.documentVectors(); n != 3 {
				t.Errorf("the index has %d vectors", n)
			}
		case "down":
			s.index.fault = func(context.Context) error { return errors.New("down") }
		}
		found, degraded := s.documents(recall.DocumentQuery{Query: "which note is about my knee?"})
		if len(found) != 3 || found[2] != "bread" || slices.Contains(found, "hidden") || (degraded > 0) != (state == "down") {
			t.Errorf("%s: found %q, %d degraded", state, found, degraded)
		}
		under, _ := s.documents(recall.DocumentQuery{Query: "knee", Under: document.Namespace{"notes"}})
		if !slices.Equal(under, []string{"knee", "bread"}) {
			t.Errorf("%s: found %q under notes", state, under)
		}
		f := check.Got(document.ParseFilter("filter", `{"stars":{"$gt":3}}`))(t)
		filtered, _ := s.documents(recall.DocumentQuery{Query: "knee", Filter: f})
		if !slices.Equal(filtered, []string{"bread"}) {
			t.Errorf("%s: found %q with the filter", state, filtered)
		}
		if one, _ := s.documents(recall.DocumentQuery{Query: "knee", Limit: 1}); len(one) != 1 {
			t.Errorf("%s: found %q of one", state, one)
		}
	}
}

// TestDocumentsOfALateIndex checks that the order of documents which are like a query by chance only does not depend on
// what the index has of them.
func TestDocumentsOfALateIndex(t *testing.T) {
	t.Parallel()
	f := check.Got(document.ParseFilter("filter", `{"score":{"$gt":3.2}}`))(t)
	values := []string{
		`{"text":"red apple","color":"red","score":4.5}`, `{"text":"red car","color":"red","score":3.0}`,
		`{"text":"green apple","color":"green","score":4.0}`, `{"text":"blue car","color":"blue","score":3.5}`,
	}
	s := newFixture(t)
	for i, value := range values {
		s.now = s.now.Add(time.Millisecond)
		s.put("test", fmt.Sprint("doc", i+1), value)
	}
	s.sweepRecords()
	for late := range 1 << len(values) {
		s.index.lacks = func(id string) bool { return late>>(id[len(id)-1]-'1')&1 == 1 }
		found, _ := s.documents(recall.DocumentQuery{Query: "bbbbluuu", Filter: f})
		check.Same(t, []string{"doc4", "doc1", "doc3"}, found, "where the index lacks %04b: found", late)
	}
}

// TestDocumentsAmongRecords finds documents in a search of all kinds, and in no other search. Preferences about memory
// do not hide them.
func TestDocumentsAmongRecords(t *testing.T) {
	t.Parallel()
	s := kneeHistory(t)
	s.put("notes", "n", `{"text":"The knee hurts when squatting deep."}`)
	only := about("knee", recall.DocumentKind)
	count := func(q recall.RecordQuery) (n int) {
		t.Helper()
		got := check.Got(s.Records(t.Context(), "ann", q))(t)
		for _, r := range got.Records {
			if r.Document != nil {
				n++
			}
		}
		return n
	}
	if count(only) != 1 || count(about("knee")) != 0 {
		t.Error("a document that is not indexed is found by its kind alone")
	}
	s.sweepRecords()
	if n := count(about("knee")); n != 1 {
		t.Errorf("found %d documents among all", n)
	}
	if n := count(recall.RecordQuery{
		MessageQuery: recall.MessageQuery{Query: "knee", Contexts: []string{"workout_log"}},
	}); n != 0 {
		t.Errorf("found %d documents in a context", n)
	}
	found, err := s.Search(t.Context(), "ann", recall.Search{Text: "knee", Limit: 20})
	if err != nil || slices.ContainsFunc(found.Hits, func(h recall.Hit) bool { return h.Document != nil }) {
		t.Errorf("a search of a prompt finds documents: %v", err)
	}
	matches, err := s.index.Query(t.Context(), "ann", 0, s.index.queries[len(s.index.queries)-1])
	isDocument := func(m vector.Match) bool { return strings.HasPrefix(m.ID, "doc#") }
	if err != nil || len(matches) == 0 || slices.ContainsFunc(matches, isDocument) {
		t.Errorf("the index is asked for documents: %d matches, %v", len(matches), err)
	}
	p := longterm.DefaultPreferences()
	p.Memory, p.CrossContext = false, false
	check.Got(s.store.Preferences.Put(t.Context(), "ann", p))(t)
	if n := count(only); n != 1 {
		t.Errorf("found %d documents with memory off", n)
	}
}

// TestVectorsOfDocuments replaces, deletes and expires documents with several vectors. The index keeps none that no
// document has.
func TestVectorsOfDocuments(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	long := fmt.Sprintf(`{"text":%q}`, strings.Repeat("word ", 500))
	ttl := func(p *document.Put) { p.TTL = 10 * time.Minute }
	s.put("a", "long", long)
	s.put("a", "brief", long, ttl)
	s.sweepRecords()
	if n := s.documentVectors(); n != 6 {
		t.Errorf("two long documents have %d vectors", n)
	}
	s.put("a", "long", `{"text":"short"}`)
	s.sweepRecords()
	if n := s.documentVectors(); n != 4 {
		t.Errorf("after a shorter value there are %d vectors", n)
	}
	s.put("a", "long", `{"text":"short"}`, notIndexed)
	s.sweepRecords()
	if n := s.documentVectors(); n != 3 {
		t.Errorf("after one that is not indexed there are %d vectors", n)
	}
}

// dueRecord returns the only record that is due to be indexed.
func (s *fixture) dueRecord() indexing.RecordRef {
	s.t.Helper()
	var refs []indexing.RecordRef
	for _, shard := range sweep.Records.Shards() {
		due, err := s.store.Due.Due(s.t.Context(), shard, s.now.AddDate(1, 0, 0), nil, 2)
		check.OK(s.t, err)
		for _, d := range due {
			ref, err := s.store.Indexing.RecordDue(s.t.Context(), d)
			check.OK(s.t, err)
			refs = append(refs, ref)
		}
	}
	if len(refs) != 1 {
		s.t.Fatalf("due are %+v", refs)
	}
	return refs[0]
}

// TestRecordsOfDocumentsComeAgain delivers the records of a document late, twice and in any order. The index agrees
// with the table after each.
func TestRecordsOfDocumentsComeAgain(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	service := indexing.New(s.store.Indexing, s.indexer, func() time.Time { return s.now })
	long := fmt.Sprintf(`{"text":%q}`, strings.Repeat("word ", 500))
	deliver := func(want int, changes ...conversation.Change) {
		t.Helper()
		for range 2 {
			if done, err := service.Consume(t.Context(), changes); err != nil || done != len(changes) {
				t.Fatalf("%d of %d changes, %v", done, len(changes), err)
			}
			if n := s.documentVectors(); n != want {
				t.Errorf("the index has %d vectors, want %d", n, want)
			}
		}
	}
	s.put("a", "k", long)
	id := s.dueRecord().ID
	put := conversation.Change{User: "ann", RecordID: id, Version: 1, Vectors: 3}
	deleted := conversation.Change{User: "ann", RecordID: id, Vectors: 3}
	again := conversation.Change{User: "ann", RecordID: id, Version: 2, Vectors: 1}
	deliver(3, put)
	check.OK(t, s.store.Documents.DeleteDocument(t.Context(), "ann", document.Namespace{"a"}, "k"))
	s.put("a", "k", `{"text":"short"}`) // before the worker has seen the deletion
	deliver(1, deleted)
	deliver(1, again, put, deleted)
	check.OK(t, s.store.Documents.DeleteDocument(t.Context(), "ann", document.Namespace{"a"}, "k"))
	deliver(0, again, put)
}
