package offlinemodel_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/local/offlinemodel"
)

// longest is the largest history that a recipe brings (design 2), in characters.
const longest = 120_000

// fill repeats a text up to the longest prompt; %d in it becomes a number of its own each time.
func fill(pattern string) string {
	var b strings.Builder
	for i := 0; b.Len() < longest; i++ {
		b.WriteString(strings.ReplaceAll(pattern, "%d", fmt.Sprint(i)))
	}
	return b.String()[:longest]
}

func TestAnswersWithinTwoSeconds(t *testing.T) {
	client, _ := newClient(t)
	texts := map[string]string{
		"turns":      fill("user: I'm allergic to thing%d and I moved to town%d, my brother lives in place%d. I'll book flight%d tomorrow.\nassistant: Fine %d.\n"),
		"prose":      fill("The quick brown fox%d jumps over the lazy dog, again and again. "),
		"one word":   fill("a"),
		"blanks":     fill(" \n\t"),
		"wide blank": fill("\u00a0\u2003 \n"),
		"marks":      fill("?!.,;"),
		"tags":       fill("<a b=\"%d\">"),
		"brackets":   fill("[("),
		"emoji":      strings.ToValidUTF8(fill("👩‍👩‍👧"), ""),
		"memories":   fill("Known memories:\n[mem_%d] The user is allergic to thing%d\nMessages:\nuser: I'm allergic to thing%d.\n"),
	}
	formats := map[string]string{"": "", "session_summary": summarySchema, "memory_extraction": extractionSchema}
	for name, text := range texts {
		for format, schema := range formats {
			t.Run(name+" "+format, func(t *testing.T) {
				request := ask(coachPrompt+text, "What did I say about the fox, the town and the flight?")
				if schema != "" {
					request.Messages[1].Content = text
					request.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: "json_schema", JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
						Name: format, Schema: json.RawMessage(schema), Strict: true,
					}}
				}
				start := time.Now()
				complete(t, client, request)
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

func TestEmbedsWithinTwoSeconds(t *testing.T) {
	_, server := newClient(t)
	for _, text := range []string{fill(" \n\t"), fill("\u2003 \n"), fill("?!"), fill("a"), fill("squat%d ")} {
		body, err := json.Marshal(map[string]any{"model": "m", "input": text, "dimensions": offlinemodel.MaxDimensions})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		send(t, server, "/v1/embeddings", string(body))
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%q… took %v", text[:10], took)
		}
	}
}

func TestManyCallersGetTheirOwnAnswers(t *testing.T) {
	client, _ := newClient(t)
	var group errgroup.Group
	for i := range 50 {
		group.Go(func() error {
			secret := fmt.Sprintf("password%dx", i)
			request := ask("# MEMORIES\n- The locker opens with "+secret, "What opens my locker?")
			response, err := client.CreateChatCompletion(t.Context(), request)
			if err != nil {
				return err
			}
			if text := response.Choices[0].Message.Content; !strings.Contains(text, secret) {
				return fmt.Errorf("caller %d got %q", i, text)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestStreamStopsWhenTheClientLeaves(t *testing.T) {
	ended := make(chan struct{})
	handler := offlinemodel.Handler(offlinemodel.Options{ChunkDelay: time.Hour})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	config := openai.DefaultConfig("k")
	config.BaseURL = server.URL + "/v1"
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(t.Context(), ask(coachPrompt, "Where do I live?"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	stream.Close()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the handler still runs 5 s after its client left")
	}
}
