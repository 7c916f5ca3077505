package prompt_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm/provider"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestFormatOfAPrompt builds the prompt of a session with messages in each format. It ends with the message, and the
// late part comes before it, as a message of its own or as a text of the same message.
func TestFormatOfAPrompt(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := abundant(w)
	plain := build(t, w.service(now), "u", r)
	late := plain.Messages[len(plain.Messages)-2].Content
	for _, format := range provider.Formats() {
		r.Format = format
		p := build(t, w.service(now), "u", r)
		if p.System != plain.System || !cmp.Equal(p.Messages, plain.Messages) {
			t.Errorf("%s changed what every prompt has", format)
		}
		texts := textsOf(t, p.Forms)
		want := []string{late, r.Message}
		if !strings.HasPrefix(format, "openai-") {
			want[0] = "<app-context>\n" + late + "\n</app-context>"
		}
		check.Same(t, want, texts[len(texts)-2:], "%s ends with other texts", format)
	}
	r.Format = "gemini"
	check.Fault(t, check.ErrorOf(w.service(now).Build(t.Context(), "u", r)), fault.Invalid, "an unknown format")
}

// textsOf returns the texts of the messages of a form.
func textsOf(t *testing.T, f provider.Forms) (texts []string) {
	t.Helper()
	switch {
	case f.OpenAIChat != nil:
		for _, m := range f.OpenAIChat.Messages {
			texts = append(texts, m.Content.(string))
		}
	case f.OpenAIResponses != nil:
		for _, m := range f.OpenAIResponses.Input {
			texts = append(texts, m.Content.(string))
		}
	case f.Anthropic != nil:
		for _, m := range f.Anthropic.Messages {
			for _, b := range m.Content {
				texts = append(texts, b.Text)
			}
		}
	case f.BedrockConverse != nil:
		for _, m := range f.BedrockConverse.Messages {
			for _, b := range m.Content {
				if b.CachePoint == nil {
					texts = append(texts, b.Text)
				}
			}
		}
	case f.Parts != nil:
		for _, m := range f.Parts.Messages {
			for _, part := range m.Content {
				texts = append(texts, part.Text)
			}
		}
	default:
		t.Fatal("there is no form")
	}
	return texts
}

// TestToolsAreStrict checks that the arguments of each tool are of a schema that OpenAI takes as strict: an object that
// requires all of its properties and has no others.
func TestToolsAreStrict(t *testing.T) {
	t.Parallel()
	offered := 0
	for _, recipe := range prompt.Recipes {
		for _, tool := range prompt.RecipeTools(recipe) {
			offered++
			var schema struct {
				Type                 string
				Properties           map[string]any
				Required             []string
				AdditionalProperties *bool
			}
			check.OK(t, json.Unmarshal(tool.Parameters, &schema))
			closed := schema.AdditionalProperties != nil && !*schema.AdditionalProperties
			if schema.Type != "object" || !closed || len(schema.Required) != len(schema.Properties) {
				t.Errorf("%s: the schema of %s is not strict: %s", recipe.Name, tool.Name, tool.Parameters)
			}
		}
	}
	if offered == 0 {
		t.Error("no recipe offers a tool")
	}
}

// TestFilesOfASitting hands on the pictures of the sitting that goes on, while their addresses hold. Of all others the
// prompt has the texts.
func TestFilesOfASitting(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("here", "coach_conversation", "c", now.Add(-3*time.Hour),
		says(0, "[image: a]"), answers(time.Minute, "A knee."), says(170*time.Minute, "[image: b]"),
		answers(171*time.Minute, "A hip."), says(172*time.Minute, "[image: c]"))
	const signed = "https://app.example/%s.png?X-Amz-Expires=60&X-Amz-Date=%s"
	for i, signedAt := range map[int]time.Time{0: now, 2: now, 4: now.Add(-time.Hour)} {
		p.messages[i].Parts = []conversation.Part{{
			Type: conversation.FilePart, MediaType: "image/png",
			URL: fmt.Sprintf(signed, p.messages[i].Content[8:9], signedAt.Format("20060102T150405Z")),
		}}
	}
	r := request(prompt.Unified)
	r.Format = provider.FormatChat
	var texts, files []string
	for _, m := range build(t, w.service(now), "u", r).OpenAIChat.Messages {
		parts, ok := m.Content.([]provider.ChatPart)
		if !ok {
			texts = append(texts, m.Content.(string))
			continue
		}
		for _, part := range parts[1:] {
			files = append(files, part.ImageURL.URL)
		}
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, "[image: a]") || !strings.Contains(all, "[image: c]") ||
		len(files) != 1 || !strings.HasPrefix(files[0], "https://app.example/b.png?") {
		t.Errorf("the files are %q, the texts\n%s", files, all)
	}
}
