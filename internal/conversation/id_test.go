package conversation_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a, b := rapid.Int64Range(0, 1<<50-1).Draw(rt, "a"), rapid.Int64Range(0, 1<<50-1).Draw(rt, "b")
		idA := conversation.NewID("goal", time.UnixMilli(a), rand.Reader)
		idB := conversation.NewID("goal", time.UnixMilli(b), rand.Reader)
		if a != b && (a < b) != (idA < idB) {
			rt.Fatalf("%d is %q, %d is %q", a, idA, b, idB)
		}
		if at, ok := conversation.TimeOfID("goal", idA); !ok || at.UnixMilli() != a {
			rt.Fatalf("the time of %q is %v, %v; want %d", idA, at, ok, a)
		}
		if !conversation.ValidID(idA) || idA == conversation.NewID("goal", time.UnixMilli(a), rand.Reader) {
			rt.Fatalf("%q is not valid, or not unique", idA)
		}
	})
}

func TestTimeOfInvalidIDs(t *testing.T) {
	t.Parallel()
	id := conversation.NewID("goal", now, rand.Reader)
	for _, bad := range []string{"", "goal_", id[:len(id)-1], id + "0", "todo" + id[4:], "goal_" + "z" + id[6:]} {
		if _, ok := conversation.TimeOfID("goal", bad); ok {
			t.Errorf("%q is accepted as the id of a goal", bad)
		}
	}
	id = conversation.NewID("goal", time.UnixMilli(-5), rand.Reader)
	if at, ok := conversation.TimeOfID("goal", id); !ok || at.UnixMilli() != 0 {
		t.Errorf("a time before 1970 becomes %v, %v", at, ok)
	}
}

func TestValidID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"a": true, "A-z_0.9:": true, "...": true, ".a": true, "..a": true, "a.": true, strings.Repeat("x", 128): true,
		"": false, ".": false, "..": false, "a b": false, "a/b": false, "ä": false, "a\n": false,
		"a@": false, "a[": false, "a`": false, "a{": false, "a;": false,
		strings.Repeat("x", 129): false,
	} {
		check.Equal(t, want, conversation.ValidID(id), "ValidID(%q)", id)
	}
}
