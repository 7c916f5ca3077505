package httpapi

import (
	"strings"
	"testing"
)

// TestAWireFieldNeedsACounterpart has a record whose type lacks a field that the API shows.
func TestAWireFieldNeedsACounterpart(t *testing.T) {
	t.Parallel()
	type wire struct{ Name, Mood string }
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "Mood is no field of") {
			t.Errorf("the panic says %q", said)
		}
	}()
	shown[wire](struct{ Name string }{"Ann"})
}

// TestAListIsNeverNull has a list that the domain leaves nil, one that may be left out, and one of another type.
func TestAListIsNeverNull(t *testing.T) {
	t.Parallel()
	type wire struct {
		Shown   []remark `json:"shown"`
		Left    []remark `json:"left,omitempty"`
		Remarks []remark `json:"remarks"`
	}
	got := shown[wire](struct{ Shown, Left, Remarks []string }{Remarks: []string{"a"}})
	if got.Shown == nil || got.Left != nil || len(got.Remarks) != 1 || got.Remarks[0] != "a" {
		t.Errorf("got %#v", got)
	}
}
