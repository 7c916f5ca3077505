package pineconelocal_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// counted are all namespaces as "name count", by pages of two.
func counted(t testing.TB, conn *pinecone.IndexConnection, prefix string) (out []string, total int32) {
	t.Helper()
	params := pinecone.ListNamespacesParams{Limit: new(uint32(2)), Prefix: &prefix}
	for {
		res, err := conn.ListNamespaces(t.Context(), &params)
		if err != nil {
			t.Fatalf("list namespaces: %v", err)
		}
		for _, n := range res.Namespaces {
			out = append(out, fmt.Sprintf("%s %d", n.Name, n.RecordCount))
		}
		if res.Pagination == nil {
			return out, res.TotalCount
		}
		params.PaginationToken = &res.Pagination.Next
	}
}

func TestNamespaces(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	if got, total := counted(t, conn, ""); got != nil || total != 0 {
		t.Errorf("a new index has %v", got)
	}
	upsert(t, conn, vector("a", 1))
	for i := range 4 {
		upsert(t, conn.WithNamespace(fmt.Sprintf("user-%d", i)), numbered(i+1, 1)...)
	}
	got, total := counted(t, conn, "")
	want := []string{"__default__ 1", "user-0 1", "user-1 2", "user-2 3", "user-3 4"}
	if diff := cmp.Diff(want, got); diff != "" || total != 5 {
		t.Errorf("total %d (-want +got):\n%s", total, diff)
	}
	got, total = counted(t, conn, "user-")
	if diff := cmp.Diff(want[1:], got); diff != "" || total != 4 {
		t.Errorf("with a prefix: total %d (-want +got):\n%s", total, diff)
	}
}

func TestNamespaceLife(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	schema := &pinecone.MetadataSchema{Fields: map[string]pinecone.MetadataSchemaField{
		"genre": {Filterable: true}, "text": {Filterable: false},
	}}
	filterable := &pinecone.MetadataSchema{Fields: map[string]pinecone.MetadataSchemaField{"genre": {Filterable: true}}}
	create := &pinecone.CreateNamespaceParams{Name: "made", Schema: schema}
	made, err := conn.CreateNamespace(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	described, err := conn.DescribeNamespace(t.Context(), "made")
	if err != nil {
		t.Fatal(err)
	}
	want := &pinecone.NamespaceDescription{Name: "made"}
	if diff := cmp.Diff(want, made); diff != "" { // the client leaves out the schema here
		t.Errorf("made (-want +got):\n%s", diff)
	}
	want.Schema, want.IndexedFields = filterable, &pinecone.IndexedFields{Fields: []string{"genre"}}
	if diff := cmp.Diff(want, described); diff != "" {
		t.Errorf("described (-want +got):\n%s", diff)
	}
	_, err = conn.CreateNamespace(t.Context(), create)
	if got := refusal(err); got != "AlreadyExists: Namespace 'made' already exists" {
		t.Errorf("made again: %s", got)
	}
	upsert(t, conn.WithNamespace("made"), vector("a", 1))
	if err := conn.WithNamespace("made").DeleteAllVectorsInNamespace(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, err := conn.DescribeNamespace(t.Context(), "made"); err != nil || d.RecordCount != 0 || d.Schema == nil {
		t.Errorf("deleting all records must leave the namespace: %+v, %v", d, err)
	}
	if err := conn.DeleteNamespace(t.Context(), "made"); err != nil {
		t.Fatal(err)
	}
	_, err = conn.DescribeNamespace(t.Context(), "made")
	if got := refusal(err); got != "NotFound: Namespace not found" {
		t.Errorf("after its deletion: %s", got)
	}
}

func TestNamespaceNameRequired(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	_, created := conn.CreateNamespace(t.Context(), &pinecone.CreateNamespaceParams{})
	_, described := conn.DescribeNamespace(t.Context(), "")
	for _, err := range []error{created, described, conn.DeleteNamespace(t.Context(), "")} {
		expect(t, err, "Namespace name must not be empty")
	}
}

func TestDefaultNamespaceHasTwoNames(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn.WithNamespace(""), vector("a", 1))
	if got := existing(t, conn.WithNamespace("__default__"), "a"); len(got) != 1 {
		t.Error("the default namespace by its name lacks the record")
	}
}

func TestDescribeIndexStats(t *testing.T) {
	conn := library(t)
	upsert(t, conn.WithNamespace("other"), vector("a", 1))
	got := describe(t, conn)
	if got.Dimension == nil || *got.Dimension != 1 || got.TotalVectorCount != 6 ||
		got.Namespaces["__default__"].VectorCount != 5 || got.Namespaces["other"].VectorCount != 1 {
		t.Errorf("got %+v", got)
	}
	filtered, err := conn.DescribeIndexStatsFiltered(t.Context(), object(t, map[string]any{"genre": "comedy"}))
	if err != nil {
		t.Fatal(err)
	}
	if filtered.TotalVectorCount != 2 || filtered.Namespaces["__default__"].VectorCount != 2 {
		t.Errorf("filtered: %+v", filtered)
	}
}
