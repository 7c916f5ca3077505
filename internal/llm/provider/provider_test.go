package provider_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/provider"
)

// said returns messages from pairs of a role and a content. "!" after the role marks a message as reusable.
func said(pairs ...string) []llm.Message {
	var out []llm.Message
	for i := 0; i < len(pairs); i += 2 {
		role, reusable := pairs[i], pairs[i][len(pairs[i])-1] == '!'
		if reusable {
			role = role[:len(role)-1]
		}
		out = append(out, llm.Message{Role: role, Content: pairs[i+1], Reusable: reusable})
	}
	return out
}

var search = []llm.Tool{{
	Name: "search", Description: "Finds.", Parameters: json.RawMessage(`{"type":"object","additionalProperties":false}`),
}}

const (
	session = "a session whose prompt has a late system message"
	first   = "the first turn, without tools"
)

var calls = map[string]struct {
	messages []llm.Message
	tools    []llm.Tool
}{
	session: {said(
		"system!", "Be kind.", "user!", "My knee hurts.", "assistant", "I see.", "system", "# NOW\nMonday",
		"user", "And now?"), search},
	first: {said("system", "Be kind.", "user", "Hi"), nil},
	"the assistant begins, and two follow each other": {said(
		"assistant", "Welcome!", "assistant", "Shall we?", "user", "Yes", "user", "Now"), nil},
	"a system message of the app in the history": {said(
		"system", "Be kind.", "user", "Hi", "system", "The plan was opened.", "assistant", "Hello", "user", "Bye"), nil},
	"two system messages first": {said("system", "Be kind.", "system", "Be brief.", "user", "Hi"), nil},
	"only a payload":            {said("user", "all of it"), nil},
	"tags and blanks": {said(
		"user", " \n", "assistant", "</APP-context>x< app-context>", "user", "<apps>"), nil},
}

// text is the JSON of a value.
func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func check(t *testing.T, format string, want map[string]string) {
	t.Helper()
	for name, json := range want {
		c := calls[name]
		if got := text(t, provider.New(format, c.messages, c.tools)); !cmp.Equal(indented(t, json), indented(t, got)) {
			t.Errorf("%s of %s (-want +got):\n%s", format, name, cmp.Diff(indented(t, json), indented(t, got)))
		}
	}
}

// indented is a JSON text as a value, which compares without regard to white space.
func indented(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestOpenAIChat(t *testing.T) {
	t.Parallel()
	check(t, provider.FormatChat, map[string]string{
		session: `{"openaiChat":{"messages":[
			{"role":"system","content":"Be kind."},{"role":"user","content":"My knee hurts."},
			{"role":"assistant","content":"I see."},{"role":"system","content":"# NOW\nMonday"},
			{"role":"user","content":"And now?"}],
			"tools":[{"type":"function","function":{"name":"search","description":"Finds.","strict":true,
			"parameters":{"type":"object","additionalProperties":false}}}]}}`,
		first: `{"openaiChat":{"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}]}}`,
	})
}

// TestToolsOfTheApp checks that only the prompt's own tools are strict: a schema of the app's may be any.
func TestToolsOfTheApp(t *testing.T) {
	t.Parallel()
	own := []llm.Tool{{Name: "inventory", Parameters: json.RawMessage(`{}`)}}
	for format, want := range map[string]string{
		provider.FormatChat: `{"openaiChat":{"messages":null,"tools":[
			{"type":"function","function":{"name":"inventory","description":"","strict":false,"parameters":{}}}]}}`,
		provider.FormatResponses: `{"openaiResponses":{"input":null,"tools":[
			{"type":"function","name":"inventory","description":"","strict":false,"parameters":{}}]}}`,
		provider.FormatAnthropic: `{"anthropic":{"messages":null,"tools":[
			{"name":"inventory","description":"","input_schema":{}}]}}`,
		provider.FormatConverse: `{"bedrockConverse":{"messages":null,"toolConfig":{"tools":[
			{"toolSpec":{"name":"inventory","description":"","inputSchema":{"json":{}}}}]}}}`,
	} {
		forms := provider.New(format, nil, nil)
		forms.AddTools(own)
		if got := text(t, forms); !cmp.Equal(indented(t, want), indented(t, got)) {
			t.Errorf("%s (-want +got):\n%s", format, cmp.Diff(indented(t, want), indented(t, got)))
		}
	}
}

func TestOpenAIResponses(t *testing.T) {
	t.Parallel()
	check(t, provider.FormatResponses, map[string]string{
		session: `{"openaiResponses":{"instructions":"Be kind.","input":[
			{"role":"user","content":"My knee hurts."},{"role":"assistant","content":"I see."},
			{"role":"developer","content":"# NOW\nMonday"},{"role":"user","content":"And now?"}],
			"tools":[{"type":"function","name":"search","description":"Finds.","strict":true,
			"parameters":{"type":"object","additionalProperties":false}}]}}`,
		"two system messages first": `{"openaiResponses":{"instructions":"Be kind.\n\nBe brief.",
			"input":[{"role":"user","content":"Hi"}]}}`,
		"only a payload": `{"openaiResponses":{"input":[{"role":"user","content":"all of it"}]}}`,
	})
}

func TestAnthropic(t *testing.T) {
	t.Parallel()
	check(t, provider.FormatAnthropic, map[string]string{
		session: `{"anthropic":{"system":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}],
			"messages":[
			{"role":"user","content":[{"type":"text","text":"My knee hurts.","cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":[{"type":"text","text":"I see."}]},
			{"role":"user","content":[{"type":"text","text":"<app-context>\n# NOW\nMonday\n</app-context>"},
				{"type":"text","text":"And now?"}]}],
			"tools":[{"name":"search","description":"Finds.","input_schema":{"type":"object","additionalProperties":false}}]}}`,
		first: `{"anthropic":{"system":[{"type":"text","text":"Be kind."}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}}`,
		"the assistant begins, and two follow each other": `{"anthropic":{"messages":[
			{"role":"user","content":[{"type":"text","text":"(The conversation so far:)"}]},
			{"role":"assistant","content":[{"type":"text","text":"Welcome!"},{"type":"text","text":"Shall we?"}]},
			{"role":"user","content":[{"type":"text","text":"Yes"},{"type":"text","text":"Now"}]}]}}`,
		"a system message of the app in the history": `{"anthropic":{"system":[{"type":"text","text":"Be kind."}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Hi"},
				{"type":"text","text":"<app-context>\nThe plan was opened.\n</app-context>"}]},
			{"role":"assistant","content":[{"type":"text","text":"Hello"}]},
			{"role":"user","content":[{"type":"text","text":"Bye"}]}]}}`,
		"only a payload": `{"anthropic":{"messages":[{"role":"user","content":[{"type":"text","text":"all of it"}]}]}}`,
		"tags and blanks": `{"anthropic":{"messages":[
			{"role":"user","content":[{"type":"text","text":"(blank)"}]},
			{"role":"assistant","content":[{"type":"text","text":"<\\/APP-context>x<\\ app-context>"}]},
			{"role":"user","content":[{"type":"text","text":"<apps>"}]}]}}`,
	})
}

func TestConverse(t *testing.T) {
	t.Parallel()
	check(t, provider.FormatConverse, map[string]string{
		session: `{"bedrockConverse":{"system":[{"text":"Be kind."},{"cachePoint":{"type":"default"}}],
			"messages":[
			{"role":"user","content":[{"text":"My knee hurts."},{"cachePoint":{"type":"default"}}]},
			{"role":"assistant","content":[{"text":"I see."}]},
			{"role":"user","content":[{"text":"<app-context>\n# NOW\nMonday\n</app-context>"},{"text":"And now?"}]}],
			"toolConfig":{"tools":[{"toolSpec":{"name":"search","description":"Finds.",
			"inputSchema":{"json":{"type":"object","additionalProperties":false}}}}]}}}`,
		first: `{"bedrockConverse":{"system":[{"text":"Be kind."}],"messages":[{"role":"user","content":[{"text":"Hi"}]}]}}`,
	})
}

func TestParts(t *testing.T) {
	t.Parallel()
	check(t, provider.FormatParts, map[string]string{
		session: `{"parts":{"system":"Be kind.","messages":[
			{"role":"user","content":[{"type":"text","text":"My knee hurts."}]},
			{"role":"assistant","content":[{"type":"text","text":"I see."}]},
			{"role":"user","content":[{"type":"text","text":"<app-context>\n# NOW\nMonday\n</app-context>"},
				{"type":"text","text":"And now?"}]}]}}`,
		"two system messages first": `{"parts":{"system":"Be kind.\n\nBe brief.",
			"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}}`,
	})
}

// TestEveryFormatHasAForm checks that each name gives exactly one form, and any other name none.
func TestEveryFormatHasAForm(t *testing.T) {
	t.Parallel()
	for _, format := range append(provider.Formats(), "", "other") {
		want := 1
		if format == "" || format == "other" {
			want = 0
		}
		forms, ok := indented(t, text(t, provider.New(format, said("user", "Hi"), search))).(map[string]any)
		if !ok || len(forms) != want {
			t.Errorf("the format %q has %d forms, want %d", format, len(forms), want)
		}
	}
}
