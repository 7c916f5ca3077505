package promptfn_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/promptfn"
	"github.com/throughline/throughline/internal/invoke/caller"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// builder returns a prompt and keeps what it was asked for.
type builder struct {
	prompt prompt.Prompt
	user   conversation.UserID
	asked  prompt.Request
}

func (b *builder) Build(_ context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	b.user, b.asked = user, r
	return b.prompt, nil
}

// service is Lambda with the prompt function. newCoach and newPrompt say which of the two is of a later version, in
// which each object of a request or of an answer has another field.
type service struct {
	handler             function.PayloadHandler
	newCoach, newPrompt bool
}

func (s *service) Invoke(ctx context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options),
) (*lambda.InvokeOutput, error) {
	payload, err := later(in.Payload, s.newCoach)
	if err != nil {
		return nil, err
	}
	answer, err := s.handler(ctx, payload)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	text, err = later(text, s.newPrompt)
	return &lambda.InvokeOutput{Payload: text}, err
}

// later adds a field to each object of a JSON text, where the writer is of a later version.
func later(text []byte, isNew bool) ([]byte, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil || !isNew {
		return text, err
	}
	grow(value)
	return json.Marshal(value)
}

func grow(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			grow(member)
		}
		value["addedLater"] = map[string]any{"of": []any{"a later version"}}
	case []any:
		for _, member := range value {
			grow(member)
		}
	}
}

// TestVersionsOfCoachAndPrompt invokes the prompt function of one version from the coach of another one.
func TestVersionsOfCoachAndPrompt(t *testing.T) {
	t.Parallel()
	want := prompt.Prompt{
		ID: "prm_1", SessionID: "s", Recipe: "unified", System: "Be kind.", Model: "m",
		Messages: []prompt.Message{{Role: "user", Content: "hello"}}, Tokens: prompt.Tokens{Total: 4, Budget: 256},
	}
	request := prompt.Request{
		Context: "coach_conversation", SessionID: "s", Message: "hello", Budget: &prompt.Budget{Tokens: 256}, SkipSave: true,
		Scoping: &prompt.Scoping{Strategy: "recent", AgentIDs: []string{"coach"}},
		Ahead: &prompt.Ahead{
			Embedding: &recall.Embedding{Model: "small@2", Vector: vector.Dense{0.6, -0.8}, Took: time.Millisecond},
		},
	}
	for name, s := range map[string]*service{
		"the same version": {},
		"a later coach":    {newCoach: true},
		"a later prompt":   {newPrompt: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &builder{prompt: want}
			s.handler = promptfn.Direct(b)
			got := check.Got(caller.NewPrompts(s, "prompt").Build(t.Context(), "ann", request))(t)
			got.Manifest = prompt.Manifest{} // an empty one is not the zero value any more
			check.Same(t, want, got, "the prompt")
			if diff := cmp.Diff(request, b.asked); diff != "" || b.user != "ann" {
				t.Errorf("asked for %q (-want +got):\n%s", b.user, diff)
			}
		})
	}
}

// TestAnotherSpellingIsAnotherField has a field whose name is that of the user but for its case. It is an unknown one.
func TestAnotherSpellingIsAnotherField(t *testing.T) {
	t.Parallel()
	b := &builder{}
	payload := json.RawMessage(`{"userId":"ann","ignoreUnknown":true,"USERID":"bob"}`)
	if _, err := promptfn.Direct(b)(t.Context(), payload); err != nil || b.user != "ann" {
		t.Errorf("asked for %q, %v", b.user, err)
	}
}

// TestOtherCallersAreReadStrictly checks that a caller who does not ask for it learns of each unknown field.
func TestOtherCallersAreReadStrictly(t *testing.T) {
	t.Parallel()
	handler := promptfn.Direct(&builder{})
	for field, payload := range map[string]string{
		"mood":          `{"userId":"ann","mood":"x"}`,
		"budget.chars":  `{"userId":"ann","ignoreUnknown":false,"budget":{"chars":1}}`,
		"budget.tokens": `{"userId":"ann","ignoreUnknown":true,"budget":{"tokens":"256","chars":1}}`,
	} {
		_, err := handler(t.Context(), json.RawMessage(payload))
		refused, _ := errors.AsType[*fault.Error](err)
		if refused == nil || refused.Code != fault.Invalid || len(refused.Fields) != 1 || refused.Fields[0].Field != field {
			t.Errorf("%s: %+v, want a refusal of %s", payload, refused, field)
		}
	}
}
