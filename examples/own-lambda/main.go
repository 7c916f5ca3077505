// Command own-lambda is a streaming Lambda function of an app that has its coach already. It builds the prompt by
// invoking Throughline's function prompt through IAM, streams the answer of the app's own model, and stores both.
//
//	POST /  {"message": "What should I do tomorrow?"}    the answer, as it comes
//
// The header User says who is signed in. Here your app checks its own session.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambdaurl"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/sashabaranov/go-openai"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	throughline "github.com/throughline/throughline/clients/go"
)

// coach answers one user's messages in one session.
type coach struct {
	invoke func(ctx context.Context, payload []byte) ([]byte, error)
	memory *throughline.Client
	models *openai.Client
	model  string
}

// asked is what prompt is invoked with: the body of POST /v1/prompts and the user.
type asked struct {
	UserID    string `json:"userId"`
	Context   string `json:"context"`
	SessionID string `json:"sessionId"`
	CoachID   string `json:"coachId"`
	Message   string `json:"message"`
	Format    string `json:"format"`
}

// ServeHTTP streams the answer to a message. It is stored with the message once it is whole.
func (c coach) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, said := r.Header.Get("User"), struct{ Message string }{}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&said); err != nil || user == "" {
		http.Error(w, "sign in, and send a message", http.StatusBadRequest)
		return
	}
	stream, err := c.begin(r.Context(), asked{
		UserID: user, Context: "coach_conversation", SessionID: "coach", CoachID: "kim", Message: said.Message,
		Format: "openai-chat",
	})
	if err != nil {
		log.Print(err)
		http.Error(w, "the coach does not answer now", http.StatusBadGateway)
		return
	}
	defer func() { _ = stream.Close() }()
	var answer strings.Builder
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Print(err)
			fmt.Fprint(w, brokenOff)
			return
		}
		for _, choice := range chunk.Choices {
			answer.WriteString(choice.Delta.Content)
			fmt.Fprint(w, choice.Delta.Content)
		}
		_ = http.NewResponseController(w).Flush()
	}
	turn := []throughline.NewMessage{
		{Role: "user", Content: said.Message}, {Role: "assistant", Content: answer.String()},
	}
	_, err = c.memory.As(user).AppendMessages(r.Context(), "coach", throughline.NewMessages{Messages: turn})
	if err != nil {
		log.Print(err)
	}
}

// brokenOff tells the page that the answer is not whole. A handler of lambdaurl can't cut the connection: a panic ends
// the answer, and then the process.
const brokenOff = "\n(The answer broke off.)"

// begin makes sure that the session exists, builds the prompt, and begins the model's answer.
func (c coach) begin(ctx context.Context, a asked) (*openai.ChatCompletionStream, error) {
	session := throughline.NamedSession{Context: a.Context, CoachID: a.CoachID}
	if _, err := c.memory.As(a.UserID).GetOrCreateSession(ctx, a.SessionID, session); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	answer, err := c.invoke(ctx, payload)
	if err != nil {
		return nil, err
	}
	var built struct {
		OpenAIChat openai.ChatCompletionRequest `json:"openaiChat"`
	}
	if err := json.Unmarshal(answer, &built); err != nil {
		return nil, err
	}
	built.OpenAIChat.Model, built.OpenAIChat.Stream, built.OpenAIChat.Tools = c.model, true, nil
	return c.models.CreateChatCompletionStream(ctx, built.OpenAIChat)
}

// invoker invokes a function by the ARN of its alias, and returns the function's own error as one.
func invoker(client *lambda.Client, function string) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		out, err := client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: payload})
		if err != nil {
			return nil, err
		}
		if out.FunctionError != nil {
			return nil, fmt.Errorf("prompt: %s", out.Payload)
		}
		return out.Payload, nil
	}
}

// credential returns what gets the server's credential from the issuer, by client credentials (RFC 6749, section 4.4).
// form is what the issuer wants. The client keeps the credential until it is about to expire.
func credential(address, form, id, secret string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		wanted, err := url.ParseQuery(form)
		if err != nil {
			return "", fmt.Errorf("TOKEN_FORM: %w", err)
		}
		token, err := (&clientcredentials.Config{
			ClientID: id, ClientSecret: secret, TokenURL: address, EndpointParams: wanted, AuthStyle: oauth2.AuthStyleInHeader,
		}).Token(ctx)
		if err != nil {
			return "", err
		}
		return token.AccessToken, nil
	}
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	models := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	models.BaseURL = os.Getenv("OPENAI_BASE_URL")
	lambdaurl.Start(coach{
		invoke: invoker(lambda.NewFromConfig(cfg), os.Getenv("PROMPT_FUNCTION")),
		memory: throughline.New(throughline.Config{
			BaseURL: os.Getenv("THROUGHLINE"),
			TokenSource: credential(
				os.Getenv("TOKEN_URL"), os.Getenv("TOKEN_FORM"), os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET")),
		}),
		models: openai.NewClientWithConfig(models), model: os.Getenv("MODEL"),
	})
}
