package dynamo_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestDocumentsAreDue checks that a document is due until its vectors are written, and again when it expires.
func TestDocumentsAreDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.put(t, alice, "a", "none", `{"x":1}`, indexed())
	checkDue(t, s, sweep.Records, 0)
	s.put(t, alice, "a", "k", `{"x":1}`, func(p *document.Put) { p.TTL = time.Hour })
	ref, err := s.Indexing.RecordDue(t.Context(), onlyDue(t, s, sweep.Records))
	if err != nil || ref.Vectors != 1 || ref.Version == 0 {
		t.Fatalf("due is %+v, %v", ref, err)
	}
	hits, err := s.Indexing.Resolve(t.Context(), alice, 0, []string{ref.ID})
	if err != nil || len(hits) != 1 || hits[0].Document == nil || hits[0].Document.Key != "k" {
		t.Fatalf("the hits of %s are %+v, %v", ref.ID, hits, err)
	}
	old := ref
	s.put(t, alice, "a", "k", `{"x":2}`, func(p *document.Put) { p.TTL = time.Hour })
	mark := func(r indexing.RecordRef) {
		t.Helper()
		check.OK(t, s.Indexing.MarkRecordIndexed(t.Context(), alice, r))
	}
	mark(old)
	d := onlyDue(t, s, sweep.Records)
	if ref, err = s.Indexing.RecordDue(t.Context(), d); err != nil || ref.Version <= old.Version {
		t.Fatalf("after a replacement due is %+v, %v", ref, err)
	}
	ref.ExpiresAt = start.Add(time.Hour)
	mark(ref)
	if d = onlyDue(t, s, sweep.Records); !d.DueAt.Equal(ref.ExpiresAt) {
		t.Errorf("an indexed document is due at %v", d.DueAt)
	}
	s.advance(2 * time.Hour)
	if gone, err := s.Indexing.RecordDue(t.Context(), d); err != nil || gone.Vectors != 1 {
		t.Errorf("an expired document is %+v, %v", gone, err)
	}
	if hits, err := s.Indexing.Resolve(t.Context(), alice, 0, []string{ref.ID}); err != nil || len(hits) > 0 {
		t.Errorf("the hits of an expired document's vector are %+v, %v", hits, err)
	}
}

// TestDeletedDocumentsAreDue checks that a deletion leaves the ids of all vectors, and that those that a new document
// of the key cannot have count as without a record.
func TestDeletedDocumentsAreDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	long, _ := s.put(t, alice, "a", "k", `{"text":"`+strings.Repeat("word ", 500)+`"}`)
	record := onlyDue(t, s, sweep.Records)
	check.OK(t, s.Documents.DeleteDocument(t.Context(), alice, long.Namespace, "k"))
	tombstone, err := s.Tombstones.Tombstone(t.Context(), onlyDue(t, s, sweep.Deletions))
	if err != nil || len(tombstone.Vectors) != 3 {
		t.Fatalf("the tombstone is %+v, %v", tombstone, err)
	}
	checkFault(t, errorOf(s.Indexing.RecordDue(t.Context(), record)), fault.NotFound, "the deleted record")
	s.put(t, alice, "a", "k", `{"text":"short"}`)
	stale, err := s.Deletion.WithoutRecord(t.Context(), alice, 0, tombstone.Vectors)
	if err != nil || !slices.Equal(stale, tombstone.Vectors[1:]) {
		t.Errorf("without a record are %v, %v", stale, err)
	}
}
