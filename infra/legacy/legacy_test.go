package legacy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/legacy"
)

func TestTable(t *testing.T) {
	t.Parallel()
	table := legacy.Table{Users: 20, Sessions: 1300, Messages: 26_000, Seed: 1, Large: 2}
	messages, keys, shapes := 0, map[string]bool{}, map[string]int{}
	for n := range table.Sessions {
		s := table.Session(n)
		messages += len(s.Messages)
		keys[s.User+" "+s.Key()] = true
		shapes[s.Shape]++
		size := capacity.Size(s.Item)
		if n < table.Large && size < 380<<10 || size > capacity.MaxItemBytes {
			t.Errorf("session %d has %d bytes", n, size)
		}
	}
	if len(keys) != table.Sessions {
		t.Errorf("%d of %d sessions have keys of their own", len(keys), table.Sessions)
	}
	if len(shapes) < 12 || shapes["empty"] == 0 {
		t.Errorf("the shapes are %v", shapes)
	}
	if low, high := table.Messages*9/10, table.Messages*11/10; messages < low || messages > high {
		t.Errorf("got %d messages, want about %d", messages, table.Messages)
	}
	if diff := cmp.Diff(table.Session(7).Messages, table.Session(7).Messages); diff != "" {
		t.Errorf("a session differs from itself:\n%s", diff)
	}
}
