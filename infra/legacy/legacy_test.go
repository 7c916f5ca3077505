package legacy_test

import (
	"testing"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestTable(t *testing.T) {
	t.Parallel()
	of := legacy.Table{Users: 20, Sessions: 1300, Messages: 26_000, Seed: 1, Large: 2}
	messages, keys, shapes := 0, map[string]bool{}, map[string]int{}
	for n := range of.Sessions {
		s := of.Session(n)
		messages += len(s.Messages)
		keys[s.User+" "+s.Key()] = true
		shapes[s.Shape]++
		size := table.Item(s.Item).Size()
		if n < of.Large && size < 360<<10 || size > 400<<10 {
			t.Errorf("session %d has %d bytes", n, size)
		}
	}
	if len(keys) != of.Sessions {
		t.Errorf("%d of %d sessions have keys of their own", len(keys), of.Sessions)
	}
	if len(shapes) < 12 || shapes["empty"] == 0 {
		t.Errorf("the shapes are %v", shapes)
	}
	if low, high := of.Messages*9/10, of.Messages*11/10; messages < low || messages > high {
		t.Errorf("got %d messages, want about %d", messages, of.Messages)
	}
	check.Same(t, of.Session(7).Messages, of.Session(7).Messages, "a session differs from itself")
}
