//go:build corpus

package extraction_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestModelReadsTheCorpus plays the corpus against the model of the environment (make corpus).
// It prints what the model missed. What is stored is compared as with the offline model: the wording and the confidence
// are not compared.
func TestModelReadsTheCorpus(t *testing.T) {
	model := openai.New(config.OpenAI{
		BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY"), ChatModel: os.Getenv("CORPUS_MODEL"),
	})
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	check.OK(t, err)
	played, missed := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		archive, err := txtar.ParseFile(file)
		check.OK(t, err)
		c := &corpusCase{
			fixture: newFixture(t, conversation.UserID("model-"+name)), sections: map[string]string{},
			labels: map[string]string{}, messageLabels: map[string]string{},
		}
		for _, f := range archive.Files {
			c.sections[f.Name] = string(f.Data)
		}
		if _, isScripted := c.sections["scripted"]; isScripted {
			continue
		}
		played++
		c.model = countingModel{c.fixture, model}
		if !t.Run(name, func(t *testing.T) {
			c.run(t)
			wantAlike(t, c.wanted(), c.records(t))
		}) {
			missed++
		}
	}
	fmt.Printf("%s: %d of %d conversations as wanted\n", os.Getenv("CORPUS_MODEL"), played-missed, played)
}
