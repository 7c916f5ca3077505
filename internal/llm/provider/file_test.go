package provider_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/provider"
)

// TestFiles hands a picture, a document and a table on as each interface takes them. What it does not fetch is there by
// its text.
func TestFiles(t *testing.T) {
	t.Parallel()
	const said = "look\n[image: knee]\n[file: plan.pdf]\n[file: sets.csv]"
	messages := []llm.Message{{Role: "user", Content: said, Files: []llm.File{
		{MediaType: "image/png", URL: "https://app.example/knee.png"},
		{MediaType: "application/pdf", URL: "https://app.example/plan.pdf"},
		{MediaType: "text/csv", URL: "https://app.example/sets.csv"},
	}}}
	const text = `look\n[image: knee]\n[file: plan.pdf]\n[file: sets.csv]`
	const image, pdf, csv = "https://app.example/knee.png", "https://app.example/plan.pdf", "https://app.example/sets.csv"
	for format, want := range map[string]string{
		provider.FormatChat: `[{"type":"text","text":"` + text + `"},
			{"type":"image_url","image_url":{"url":"` + image + `"}}]`,
		provider.FormatResponses: `[{"type":"input_text","text":"` + text + `"},
			{"type":"input_image","detail":"auto","image_url":"` + image + `"},
			{"type":"input_file","file_url":"` + pdf + `"},{"type":"input_file","file_url":"` + csv + `"}]`,
		provider.FormatAnthropic: `[{"type":"text","text":"` + text + `"},
			{"type":"image","source":{"type":"url","url":"` + image + `"}},
			{"type":"document","source":{"type":"url","url":"` + pdf + `"}}]`,
		provider.FormatConverse: `[{"text":"` + text + `"}]`,
		provider.FormatParts: `[{"type":"text","text":"` + text + `"},
			{"type":"file","data":"` + image + `","mediaType":"image/png"},
			{"type":"file","data":"` + pdf + `","mediaType":"application/pdf"},
			{"type":"file","data":"` + csv + `","mediaType":"text/csv"}]`,
	} {
		f := provider.New(format, messages, nil)
		var got any
		switch {
		case f.OpenAIChat != nil:
			got = f.OpenAIChat.Messages[0].Content
		case f.OpenAIResponses != nil:
			got = f.OpenAIResponses.Input[0].Content
		case f.Anthropic != nil:
			got = f.Anthropic.Messages[0].Content
		case f.BedrockConverse != nil:
			got = f.BedrockConverse.Messages[0].Content
		default:
			got = f.Parts.Messages[0].Content
		}
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var left, right any
		if json.Unmarshal([]byte(want), &left) != nil || json.Unmarshal(encoded, &right) != nil || !cmp.Equal(left, right) {
			t.Errorf("%s (-want +got):\n%s", format, cmp.Diff(left, right))
		}
	}
}
