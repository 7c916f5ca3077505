package offlinemodel_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/testing/check"
)

const coachPrompt = `You are Nova, a warm and direct strength coach. Search before you claim ignorance.

# SAFETY
- Allergic to peanuts

# WHAT YOU KNOW ABOUT THE USER
- The user lives in Porto
- The user's wife Ana is a nurse

# RECENT ACTIVITY IN OTHER CONTEXTS
The user recently had the following interactions in other parts of the platform.
Use this for continuity, but don't assume actions were completed unless confirmed.

[Program Designer - 2 hours ago]: The user said: I want to swap barbell hip thrusts for banded glute bridges, ` +
	`I only have bands at home.
[Workout Log - yesterday]: The user said: I rowed 5 km in 22:40.
`

var searchTools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
	Name: "search_conversations",
	Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],` +
		`"additionalProperties":false}`),
}}}

func says(role, content string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: role, Content: content}
}

func ask(system, question string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    "gpt-4.1-mini",
		Messages: []openai.ChatCompletionMessage{says("system", system), says("user", question)},
	}
}

func complete(t *testing.T, client *openai.Client, request openai.ChatCompletionRequest) openai.ChatCompletionResponse {
	t.Helper()
	response := check.Got(client.CreateChatCompletion(t.Context(), request))(t)
	if len(response.Choices) != 1 {
		t.Fatalf("%d choices, want 1", len(response.Choices))
	}
	return response
}

// TestNoToolIsCalledWhereNoneMay asks for what the model searches, with and without the choice of calling no tool.
func TestNoToolIsCalledWhereNoneMay(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	request := ask(coachPrompt, "What did I say about my sister?")
	request.Tools = searchTools
	for choice, calls := range map[string]int{"auto": 1, "none": 0} {
		request.ToolChoice = choice
		if got := complete(t, client, request).Choices[0].Message; len(got.ToolCalls) != calls {
			t.Errorf("%s: %d calls, and the text %q", choice, len(got.ToolCalls), got.Content)
		}
	}
}

func TestChatQuotesWhatItRestsOn(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	payload := "SYSTEM ROLE:\nYou help.\n\nPREVIOUS CONTEXT (from long-term memory):\nUser discussed a trip to " +
		"Japan in April.\n\n" +
		"RECENT CONVERSATION:\nUser: I like trains\nAssistant: Good.\n\nCURRENT QUERY:\nWhen do I travel to " +
		"Japan?\n\nPlease respond naturally."
	tagged := "<conversation-history>\n<conversation label=\"Yesterday\">\n[human 18:02] My deadlift stalled at " +
		"140 kg\n[you 18:03] Rest more.\n</conversation>\n</conversation-history>"
	const designer = `"[Program Designer - 2 hours ago]: The user said: I want to swap barbell hip thrusts for ` +
		`banded glute bridges`
	tests := []struct {
		name, system, question string
		want, absent           []string
	}{
		{"the other context", coachPrompt, "What should I do in tomorrow's session?", []string{
			designer,
			"whether it was done I can't tell",
		}, []string{"peanuts", "don't assume"}},
		{"another word form", coachPrompt, "Tell me about the glute bridge", []string{designer}, []string{"Porto"}},
		{"a memory", coachPrompt, "Where do I live?", []string{"The user lives in Porto"}, []string{
			"peanut",
			"whether it was done",
		}},
		{"a danger", coachPrompt, "Can I eat this peanut bar?", []string{"Allergic to peanuts"}, []string{"Porto"}},
		{
			"nothing related", coachPrompt, "What is the capital of France?",
			[]string{"I found nothing related"},
			[]string{"Porto", "glute"},
		},
		{"small talk", coachPrompt, "Hi!", []string{"I'm here"}, []string{"glute", "Porto"}},
		{"one payload", "", payload, []string{`"When do I travel to Japan?"`, "trip to Japan in April"}, []string{
			"trains",
			"respond naturally",
		}},
		{
			"the app's context in the message", "",
			"<app-context>\n# NOW\nMonday\n\n# RELEVANT\nThe user's tent is blue.\n</app-context>\nWhich colour has my tent?",
			[]string{`You asked: "Which colour has my tent?"`, "tent is blue"},
			[]string{"app-context", "Monday"},
		},
		{"tagged history", tagged, "Why did my deadlift stall?", []string{"stalled at 140 kg"}, []string{"</conversation"}},
		{
			"a guarded line", "# NOTES\n\\# my tent is blue\n[Coach - yesterday, user] My stove burns gas",
			"Which colour has my tent?",
			[]string{"# my tent is blue"},
			[]string{"stove"},
		},
		{
			"a labelled message", "# RELEVANT\n[Coach - yesterday, user] My stove burns gas", "What does my stove burn?",
			[]string{`"[Coach - yesterday, user] My stove burns gas"`},
			nil,
		},
		{
			"blocks", "[FOUNDATION MEMORIES]:\nTrains at 6 in the morning\n\nOPEN LOOPS (pending):\nBuy a foam roller",
			"Did the foam roller arrive?",
			[]string{"Buy a foam roller"},
			[]string{"6 in the morning"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			request := ask(tt.system, tt.question)
			if tt.system == "" {
				request.Messages = request.Messages[1:]
			}
			got := complete(t, client, request).Choices[0].Message.Content
			if !strings.HasPrefix(got, "(throughline-offline) ") {
				t.Errorf("the answer does not say what it is: %s", got)
			}
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("no %q in: %s", part, got)
				}
			}
			for _, part := range tt.absent {
				if strings.Contains(got, part) {
					t.Errorf("%q in: %s", part, got)
				}
			}
		})
	}
}

// stream reads a whole stream and returns its chunks.
func stream(
	t *testing.T, client *openai.Client, request openai.ChatCompletionRequest,
) []openai.ChatCompletionStreamResponse {
	t.Helper()
	s := check.Got(client.CreateChatCompletionStream(t.Context(), request))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var chunks []openai.ChatCompletionStreamResponse
	for {
		chunk, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return chunks
		}
		check.OK(t, err)
		chunks = append(chunks, chunk)
	}
}

func TestStreamBringsTheSameAnswerInPieces(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	request := ask(coachPrompt, "Tell me about the glute bridges")
	whole := complete(t, client, request)
	request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	chunks := stream(t, client, request)
	if len(chunks) < 6 {
		t.Fatalf("%d chunks, want several", len(chunks))
	}
	text, finish := "", openai.FinishReason("")
	for _, c := range chunks[:len(chunks)-1] {
		text += c.Choices[0].Delta.Content
		finish = c.Choices[0].FinishReason
		if words := len(strings.Fields(c.Choices[0].Delta.Content)); words > 4 {
			t.Errorf("a chunk of %d words", words)
		}
		if c.Usage != nil || c.Model != offlinemodel.ModelID || c.ID != whole.ID {
			t.Errorf("chunk %+v", c)
		}
	}
	if text != whole.Choices[0].Message.Content || finish != openai.FinishReasonStop {
		t.Errorf("streamed %q, finish %s", text, finish)
	}
	last := chunks[len(chunks)-1]
	if last.Usage == nil || len(last.Choices) != 0 || last.Usage.TotalTokens != whole.Usage.TotalTokens {
		t.Errorf("last chunk %+v, want the usage alone", last)
	}
}
