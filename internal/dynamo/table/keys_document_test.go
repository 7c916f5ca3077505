package table_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// FuzzDocumentKeys checks for every two documents that they have one sort key only if they are the same, and that the
// key of one begins with the prefix of a namespace only if the document is under it.
func FuzzDocumentKeys(f *testing.F) {
	long := strings.Repeat("x", 64)
	for _, seed := range [][4]string{
		{"a/b", "k", "a", "b/:k"},
		{"a", "k", "a/b", "k"},
		{"a#", "b", "a", "#b"},
		{"a:", "k", "a", ":k"},
		{"%61", "k", "a", "k"},
		{long, long, long + "y", long},
		{"😀", "%.", "%F0%9F%98%80", "%."},
		{"a", "1", "a", "1#1"},
		{"a", "k", "A", "k"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, namespaceA, keyA, namespaceB, keyB string) {
		a, errA := document.ParseNamespace("namespace", namespaceA)
		b, errB := document.ParseNamespace("namespace", namespaceB)
		if errA != nil || errB != nil || document.CheckKey(keyA) != nil || document.CheckKey(keyB) != nil {
			return // neither is ever stored
		}
		skA, skB := table.DocumentKey("", a, keyA).SK, table.DocumentKey("", b, keyB).SK
		if same := slices.Equal(a, b) && keyA == keyB; (skA == skB) != same {
			t.Errorf("%q %q and %q %q are %q and %q", a, keyA, b, keyB, skA, skB)
		}
		under := table.DocumentsUnder(a)
		isUnder := len(b) >= len(a) && slices.Equal(a, b[:len(a)])
		if strings.HasPrefix(skB, under) != isUnder {
			t.Errorf("%q is under %q: %v", skB, under, isUnder)
		}
		if after := table.AfterAll(under); (skB >= under && skB < after) != isUnder {
			t.Errorf("%q is between %q and %q, and under it: %v", skB, under, after, isUnder)
		}
		checkDocumentKey(t, a, keyA, skA)
	})
}

// checkDocumentKey checks that a key is accepted, short enough for the id of a vector, and not one of another kind.
func checkDocumentKey(t *testing.T, n document.Namespace, name, sk string) {
	t.Helper()
	if !table.IsDocumentSK(sk) || len(sk) > 400 || strings.Count(sk, "#") != 1 {
		t.Errorf("%q is not accepted", sk)
	}
	for _, r := range sk {
		if r <= ' ' || r > '~' {
			t.Errorf("%q is not of printable ASCII", sk)
		}
	}
	if kind, ok := table.KindOf(sk); !ok || kind != "document" {
		t.Errorf("%q is a %q", sk, kind)
	}
	for part := range 3 {
		if id := vector.PartID(sk, part); vector.RecordID(id) != sk {
			t.Errorf("the vector %q is of %q", id, vector.RecordID(id))
		}
	}
	if _, _, _, ok := table.ParseSourceID("u#" + sk); ok {
		t.Errorf("%q reads as a source", sk)
	}
	rest, _ := strings.CutPrefix(sk, "doc#")
	labels, last, _ := strings.Cut(rest, "/:")
	for i, encoded := range append(strings.Split(labels, "/"), last) {
		want := append(slices.Clone(n), name)[i]
		if got, ok := table.DecodeName(encoded); !strings.HasPrefix(encoded, "%.") && (!ok || got != want) {
			t.Errorf("%q reads as %q, %v; want %q", encoded, got, ok, want)
		}
	}
}

// FuzzIsDocumentSK checks that a key that is accepted can only have been made of a namespace and a key.
func FuzzIsDocumentSK(f *testing.F) {
	for _, s := range []string{
		"doc#a/:k", "doc#a/b/:k", "doc#%23/:%2F", "doc#", "doc#a/:", "doc#/:k", "doc#a/:%61", "doc#a:k",
		"doc#a/:%.AAAA", "doc#%",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sk string) {
		if !table.IsDocumentSK(sk) || strings.Contains(sk, "%.") {
			return
		}
		rest, _ := strings.CutPrefix(sk, "doc#")
		labels, last, _ := strings.Cut(rest, "/:")
		var n document.Namespace
		for label := range strings.SplitSeq(labels, "/") {
			name, _ := table.DecodeName(label)
			n = append(n, name)
		}
		name, _ := table.DecodeName(last)
		check.Equal(t, sk, table.DocumentKey("", n, name).SK, "%q is built as", sk)
		if _, _, ok := table.ParseSessionSK(sk); ok || conversation.ValidID(sk) {
			t.Errorf("%q is of a session, too", sk)
		}
	})
}
