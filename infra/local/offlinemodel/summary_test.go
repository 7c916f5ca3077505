package offlinemodel_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden summaries anew")

// TestSummariesReadAsProse compares the summaries of invented conversations with the texts beside them. Each part of a
// file has new messages, and the summary of them and of the summary before.
func TestSummariesReadAsProse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/summaries/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			client, _ := newClient(t)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			previous := ""
			for _, part := range strings.Split(string(data), "-- messages --\n")[1:] {
				messages, _, _ := strings.Cut(part, "-- summary --\n")
				previous = summarize(t, client, previous, messages)
				got.WriteString("-- messages --\n" + messages + "-- summary --\n" + previous + "\n")
				if len(previous) > 600 {
					t.Errorf("%d bytes", len(previous))
				}
			}
			if *update {
				err = os.WriteFile(file, []byte(got.String()), 0o600)
			}
			if diff := cmp.Diff(string(data), got.String()); diff != "" && !*update || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestSummaryReadsWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	const before = "The user lives in Porto. The user's left knee hurts. The coach advised the user to skip hill repeats."
	want := before + " The user bought a bike. Open: call Eva."
	got := summarize(t, client, before+" Open: buy a bike; call Eva.", "user: I bought a bike!\nassistant: Nice.")
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
