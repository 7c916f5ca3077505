package throughline_test

import (
	"encoding/json"
	"os"
	"testing"

	throughline "github.com/throughline/throughline/clients/go"
)

// TestSessionIDs checks the ids of ../vectors/session_ids.json, which all clients return.
func TestSessionIDs(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../vectors/session_ids.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Text, ID   string
		Reversible bool
	}
	if err := json.Unmarshal(file, &vectors); err != nil || len(vectors) < 10 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		if got := throughline.EncodeSessionID(v.Text); got != v.ID {
			t.Errorf("%q is %q, want %q", v.Text, got, v.ID)
		}
		if text, ok := throughline.DecodeSessionID(v.ID); ok != v.Reversible || ok && text != v.Text {
			t.Errorf("%q is of %q, %v", v.ID, text, ok)
		}
	}
	for _, id := range []string{"", "a b", "b64:a", "b64:YQ", "b64:YQ==", "sha256:x"} {
		if text, ok := throughline.DecodeSessionID(id); ok {
			t.Errorf("%q is of %q", id, text)
		}
	}
}
