// Command bedrock answers one turn with a model of Amazon Bedrock, which has the memory of Throughline.
//
//	MODEL=us.amazon.nova-lite-v1:0 go run .
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	throughline "github.com/throughline/throughline/clients/go"
)

func main() {
	ctx := context.Background()
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	base := cmp.Or(os.Getenv("THROUGHLINE"), "http://localhost:8080")
	memory := throughline.New(throughline.Config{BaseURL: base, TokenSource: credential(base)}).As("eva")
	a := app{memory, bedrockruntime.NewFromConfig(aws), cmp.Or(os.Getenv("MODEL"), "us.amazon.nova-lite-v1:0")}
	for _, said := range [][2]string{
		{"designer", "I only have bands at home: swap the hip thrusts for glute bridges."},
		{"coach", "What did I swap the hip thrusts for?"},
	} {
		text, err := a.answer(ctx, said[0], said[1])
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text)
	}
}

// credential returns what gets the server's credential. It is the local stack's; on AWS it comes from your issuer, by
// client credentials.
func credential(base string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		body := strings.NewReader(`{"server":true}`)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/dev/tokens", body)
		if err != nil {
			return "", err
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		var got struct{ Token string }
		err = json.NewDecoder(answer.Body).Decode(&got)
		return got.Token, err
	}
}

// app answers what a user says on a screen.
type app struct {
	memory  *throughline.Client
	bedrock *bedrockruntime.Client
	model   string
}

// contexts are the screens of the app, by the names of their sessions.
var contexts = map[string]string{"coach": "coach_conversation", "designer": "program_designer"}

// answer answers a message. The turn is ended with the error where the model fails.
func (a app) answer(ctx context.Context, screen, message string) (text string, err error) {
	session := throughline.NamedSession{Context: contexts[screen], CoachID: "kim"}
	if _, err := a.memory.GetOrCreateSession(ctx, screen, session); err != nil {
		return "", err
	}
	said := throughline.TurnBody{SessionID: screen, Message: message, Format: "bedrock-converse"}
	answer := func(ctx context.Context, turn *throughline.BegunTurn) (throughline.FinishBody, error) {
		text, err = a.converse(ctx, screen, callOf(a.model, turn.Prompt.BedrockConverse))
		return throughline.FinishBody{Content: text, Model: a.model}, err
	}
	_, err = a.memory.Turn(ctx, said, answer)
	return text, err
}

// converse asks the model, and answers its searches until it has an answer.
func (a app) converse(ctx context.Context, session string, call *bedrockruntime.ConverseInput) (string, error) {
	for {
		reply, err := a.bedrock.Converse(ctx, call)
		if err != nil {
			return "", err
		}
		said, ok := reply.Output.(*types.ConverseOutputMemberMessage)
		if !ok {
			return "", errors.New("the model gave no message")
		}
		var text strings.Builder
		results := types.Message{Role: types.ConversationRoleUser}
		for _, block := range said.Value.Content {
			switch block := block.(type) {
			case *types.ContentBlockMemberText:
				text.WriteString(block.Value)
			case *types.ContentBlockMemberToolUse:
				result, err := a.search(ctx, session, block.Value)
				if err != nil {
					return "", err
				}
				results.Content = append(results.Content, result)
			}
		}
		if reply.StopReason != types.StopReasonToolUse {
			return text.String(), nil
		}
		call.Messages = append(call.Messages, said.Value, results)
	}
}

// search answers the model's call of search_conversations.
func (a app) search(ctx context.Context, session string, use types.ToolUseBlock) (types.ContentBlock, error) {
	var in struct{ Query string }
	if err := use.Input.UnmarshalSmithyDocument(&in); err != nil {
		return nil, err
	}
	tokens := 1500
	found, err := a.memory.Recall(ctx, throughline.RecallBody{Query: in.Query, SessionID: session, Tokens: &tokens})
	if err != nil {
		return nil, err
	}
	var lines []map[string]string
	for _, m := range found.Messages {
		lines = append(lines, map[string]string{"screen": m.Context, "role": m.Role, "text": m.Content})
	}
	content := document.NewLazyDocument(map[string]any{"messages": lines})
	return &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
		ToolUseId: use.ToolUseId,
		Content:   []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberJson{Value: content}},
	}}, nil
}

// callOf writes a prompt in the types of the SDK.
func callOf(model string, prompt *throughline.ProviderConverse) *bedrockruntime.ConverseInput {
	call := &bedrockruntime.ConverseInput{ModelId: &model}
	for _, b := range prompt.System {
		if b.CachePoint != nil {
			call.System = append(call.System, &types.SystemContentBlockMemberCachePoint{Value: cachePoint})
		} else {
			call.System = append(call.System, &types.SystemContentBlockMemberText{Value: b.Text})
		}
	}
	for _, turn := range prompt.Messages {
		m := types.Message{Role: types.ConversationRole(turn.Role)}
		for _, b := range turn.Content {
			if b.CachePoint != nil {
				m.Content = append(m.Content, &types.ContentBlockMemberCachePoint{Value: cachePoint})
			} else {
				m.Content = append(m.Content, &types.ContentBlockMemberText{Value: b.Text})
			}
		}
		call.Messages = append(call.Messages, m)
	}
	if prompt.ToolConfig != nil {
		call.ToolConfig = &types.ToolConfiguration{}
		for _, t := range prompt.ToolConfig.Tools {
			schema := &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(t.ToolSpec.InputSchema.Json)}
			call.ToolConfig.Tools = append(call.ToolConfig.Tools, &types.ToolMemberToolSpec{Value: types.ToolSpecification{
				Name: &t.ToolSpec.Name, Description: &t.ToolSpec.Description, InputSchema: schema,
			}})
		}
	}
	return call
}

// cachePoint asks for what ends here to be cached.
var cachePoint = types.CachePointBlock{Type: types.CachePointTypeDefault}
