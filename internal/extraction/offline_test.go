package extraction_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/testing/check"
)

// leastOffline is how many conversations of the corpus the forms of the offline model have to read as a good model
// does.
const leastOffline = 80

// TestOfflineModelReadsTheCorpus runs the offline model on the corpus. What is stored has to be what the file wants,
// but for the wording and the confidence. Files with the section "offline" say why its forms cannot do them.
func TestOfflineModelReadsTheCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	check.OK(t, err)
	server := httptest.NewServer(offlinemodel.Handler())
	t.Cleanup(server.Close)
	client := openai.New(config.OpenAI{
		BaseURL: server.URL + "/v1", APIKey: "any", ChatModel: "gpt-4o-mini",
		Embedding: config.Embedding{Model: "text-embedding-3-small", Dimensions: 256},
	})
	done := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		archive, err := txtar.ParseFile(file)
		check.OK(t, err)
		if slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "offline" }) {
			continue
		}
		done++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCase(t, "offline-"+name, archive)
			c.model = countingModel{c.fixture, client}
			c.run(t)
			wantAlike(t, c.wanted(), c.records(t))
		})
	}
	if done < leastOffline {
		t.Errorf("the forms do %d conversations, want at least %d", done, leastOffline)
	}
}

// countingModel counts the calls of a model.
type countingModel struct {
	fixture *fixture
	completer
}

// Complete asks the model.
func (m countingModel) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	m.fixture.mu.Lock()
	m.fixture.calls++
	m.fixture.mu.Unlock()
	return m.completer.Complete(ctx, r)
}

// wantAlike compares records line by line. Lines are alike when they have the same words before the text, but for the
// confidence, and share at least a third of the longer words of the wanted text.
func wantAlike(t *testing.T, want, got []string) {
	t.Helper()
	for _, line := range want {
		i := slices.IndexFunc(got, func(other string) bool { return isAlike(line, other) })
		if i < 0 {
			t.Errorf("no record like %q in\n%s", line, strings.Join(got, "\n"))
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	for _, line := range got {
		t.Errorf("an unwanted record %q", line)
	}
}

func isAlike(want, got string) bool {
	wantHead, wantText, _ := strings.Cut(want, " | ")
	gotHead, gotText, _ := strings.Cut(got, " | ")
	if !slices.Equal(withoutConfidence(wantHead), withoutConfidence(gotHead)) {
		return false
	}
	words, shared := 0, 0
	for word := range strings.FieldsSeq(strings.ToLower(wantText)) {
		const stem = 4 // letters that have to be the same
		if word = strings.Trim(word, ".,"); len(word) >= stem && word != "user" && word != "user's" {
			words++
			if strings.Contains(strings.ToLower(gotText), word[:stem]) {
				shared++
			}
		}
	}
	return 3*shared >= words
}

func withoutConfidence(head string) []string {
	return slices.DeleteFunc(strings.Fields(head), func(word string) bool {
		return strings.HasPrefix(word, "0.") || word == "1"
	})
}
