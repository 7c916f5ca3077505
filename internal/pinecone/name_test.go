package pinecone_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/testing/check"
)

const hashOfAnna = "~ugfPGRNZtNh5tSazXqi2Lgz8Sfat7dwIyLmpGGvuu5I"

func TestNamespace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		user       conversation.UserID
		generation int64
		want       string
	}{
		"first generation":                  {"auth0|anna", 0, "auth0|anna"},
		"later generation":                  {"auth0|anna", 3, "auth0|anna.3"},
		"ends like a generation":            {"anna.3", 0, "anna.3.0"},
		"ends like a generation, erased":    {"anna.3", 1, "anna.3.1"},
		"ends in a dot":                     {"anna.", 0, "anna."},
		"digits without a dot":              {"anna3", 0, "anna3"},
		"the service's default namespace":   {"__default__", 0, "~Ly2d418l4sGB4FleanwNcHki-iC1IvZ2NdI1nBn2b3U"},
		"not ASCII":                         {"änna", 0, hashOfAnna},
		"not ASCII, later generation":       {"änna", 2, hashOfAnna + ".2"},
		"begins like a hash":                {"~anna", 0, "~tGwicVPTChXx8IxUceLRLndC42q7jho64x_LVSy5NLw"},
		"a space, which tools may not show": {"anna b", 0, "~TN_9nYzQNQmlE3V4odmH9CaJNp3L2rNYq9tsaIwbRNg"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, tt.want, pinecone.Namespace(tt.user, tt.generation), "Namespace(%q, %d)", tt.user, tt.generation)
		})
	}
}

// owner draws a user and a generation, often ones whose names are easily confused.
func owner(t *rapid.T, label string) (conversation.UserID, int64) {
	user := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("a.01~_é ")), 1, 6, -1),
		rapid.StringN(1, 128, -1),
		rapid.Just(hashOfAnna), rapid.Just("__default__"),
	).Draw(t, label)
	return conversation.UserID(user), rapid.Int64Range(0, 12).Draw(t, label+" generation")
}

func TestNamespacesAreUnique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, m := owner(t, "one")
		b, n := owner(t, "other")
		if pinecone.Namespace(a, m) == pinecone.Namespace(b, n) && (a != b || m != n) {
			t.Fatalf("%q generation %d and %q generation %d share %q", a, m, b, n, pinecone.Namespace(a, m))
		}
	})
}

func FuzzNamespace(f *testing.F) {
	f.Add("a", int64(0), "a.0", int64(0))
	f.Add("a.1", int64(0), "a", int64(1))
	f.Add("a.1", int64(2), "a.1.2", int64(0))
	f.Add("änna", int64(1), hashOfAnna, int64(1))
	f.Fuzz(func(t *testing.T, a string, m int64, b string, n int64) {
		if m < 0 || n < 0 {
			return // the client refuses them
		}
		first, second := pinecone.Namespace(conversation.UserID(a), m), pinecone.Namespace(conversation.UserID(b), n)
		if first == second && (a != b || m != n) {
			t.Fatalf("%q generation %d and %q generation %d share %q", a, m, b, n, first)
		}
		if first == "" || len(first) > 512 || strings.ContainsFunc(first, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("the service would refuse %q", first)
		}
	})
}
