package offlinemodel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/local/embedder"
)

// longest is the length in characters of the longest history that a recipe renders.
const longest = 120_000

// fill repeats a text up to the longest prompt; %d in it becomes a number of its own each time.
func fill(pattern string) string {
	var b strings.Builder
	for i := 0; b.Len() < longest; i++ {
		b.WriteString(strings.ReplaceAll(pattern, "%d", fmt.Sprint(i)))
	}
	return b.String()[:longest]
}

// The model answers prompts of 120,000 characters within 2 s (it takes about 0.2 s). The test does not measure this,
// because times vary on a busy machine. It checks that the time is linear: four times the text takes about four times
// the CPU time, and not sixteen.
const (
	long        = longest / 6
	short       = long / 4
	mostGrowth  = 9.0
	leastEffort = 10 * time.Millisecond // below that the fixed part of a call hides the rest
)

// cpuTime returns the CPU time of a call, at least leastEffort.
func cpuTime(t *testing.T, call func()) time.Duration {
	t.Helper()
	before := processor(t)
	call()
	return max(processor(t)-before, leastEffort)
}

func processor(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// wantLinear fails if a call takes too much longer with the long text. Of two runs with each length the faster one
// counts. The long text has a second run only where the first one took too long.
func wantLinear(t *testing.T, call func(length int)) {
	t.Helper()
	shortTime := min(cpuTime(t, func() { call(short) }), cpuTime(t, func() { call(short) }))
	most := time.Duration(mostGrowth * float64(shortTime))
	longTime := cpuTime(t, func() { call(long) })
	if longTime > most {
		longTime = min(longTime, cpuTime(t, func() { call(long) }))
	}
	if longTime > most {
		t.Errorf("four times the text takes %.1f times the CPU time (%v, %v)", float64(longTime)/float64(shortTime),
			shortTime, longTime)
	}
}

func TestAnswersInLinearTime(t *testing.T) {
	client, _ := newClient(t)
	texts := map[string]string{
		"turns": fill("user: I'm allergic to thing%d and I moved to town%d, my brother lives in place%d. I'll " +
			"book flight%d tomorrow.\nassistant: Fine %d.\n"),
		"prose":      fill("The quick brown fox%d jumps over the lazy dog, again and again. "),
		"one word":   fill("a"),
		"blanks":     fill(" \n\t"),
		"wide blank": fill("\u00a0\u2003 \n"),
		"marks":      fill("?!.,;"),
		"tags":       fill("<a b=\"%d\">"),
		"brackets":   fill("[("),
		"emoji":      strings.ToValidUTF8(fill("👩‍👩‍👧"), ""),
		"memories": fill("Known memories:\n- [mem_%d] The user is allergic to thing%d\nMessages:\nuser: I'm " +
			"allergic to thing%d.\n"),
	}
	formats := map[string]string{"": "", "session_summary": summarySchema, "memory_extraction": extractionSchema}
	for name, text := range texts {
		for format, schema := range formats {
			t.Run(name+" "+format, func(t *testing.T) {
				wantLinear(t, func(length int) {
					text := strings.ToValidUTF8(text[:min(length, len(text))], "")
					request := ask(coachPrompt+text, "What did I say about the fox, the town and the flight?")
					if schema != "" {
						request.Messages[1].Content = text
						request.ResponseFormat = &openai.ChatCompletionResponseFormat{
							Type: "json_schema",
							JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
								Name: format, Schema: json.RawMessage(schema), Strict: true,
							},
						}
					}
					complete(t, client, request)
				})
			})
		}
	}
}

func TestEmbedsInLinearTime(t *testing.T) {
	_, server := newClient(t)
	for _, text := range []string{fill(" \n\t"), fill("\u2003 \n"), fill("?!"), fill("a"), fill("squat%d ")} {
		wantLinear(t, func(length int) {
			text := strings.ToValidUTF8(text[:min(length, len(text))], "")
			body, err := json.Marshal(map[string]any{"model": "m", "input": text, "dimensions": embedder.MaxDimensions})
			if err != nil {
				t.Fatal(err)
			}
			send(t, server, "/v1/embeddings", string(body))
		})
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
