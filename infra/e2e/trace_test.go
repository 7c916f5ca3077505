package e2e_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/collector"
	"github.com/throughline/throughline/internal/testing/check"
)

// The attributes that several spans have.
const (
	ofInvocation = " faas.coldstart faas.invocation_id faas.trigger"
	ofRequest    = "http.request.method http.response.status_code network.protocol.version server.address server.port" +
		" url.full"
	ofAnswer = " gen_ai.response.finish_reasons gen_ai.response.model gen_ai.response.time_to_first_chunk" +
		" gen_ai.usage.cache_read.input_tokens gen_ai.usage.input_tokens gen_ai.usage.output_tokens"
)

// arrival is how long a trace that does not come is awaited.
const arrival = 2 * time.Minute

// wantTurn are the spans of a turn, as parent > span [function kind], with the names of their attributes. None has a
// text of the user.
var wantTurn = map[string]string{
	"> POST /v1/chat [local-coach server]": "http.request.method http.response.status_code http.route" + ofInvocation,
	"POST /v1/chat > invoke_agent coach [local-coach internal]": "gen_ai.agent.name gen_ai.conversation.id" +
		" gen_ai.operation.name throughline.prompt.id throughline.replayed" + ofAnswer,
	"invoke_agent coach > POST embeddings [local-coach client]":             ofRequest,
	"invoke_agent coach > POST responses [local-coach client]":              ofRequest,
	"invoke_agent coach > POST invocations [local-coach client]":            ofRequest,
	"invoke_agent coach > DynamoDB BatchGetItem [local-coach client]":       ofRequest,
	"invoke_agent coach > DynamoDB TransactWriteItems [local-coach client]": ofRequest,
	"invoke_agent coach > prompt [local-prompt server]":                     ofInvocation,
	"prompt > build_prompt [local-prompt internal]": "gen_ai.conversation.id throughline.embedding.ahead" +
		" throughline.prompt.budget throughline.prompt.id throughline.prompt.recipe throughline.prompt.tokens",
	"build_prompt > DynamoDB Query [local-prompt client]":        ofRequest,
	"build_prompt > DynamoDB BatchGetItem [local-prompt client]": ofRequest,
	"build_prompt > search_memory [local-prompt internal]":       "gen_ai.memory.record.count gen_ai.operation.name",
	"search_memory > VectorService/Query [local-prompt client]": "rpc.method rpc.response.status_code rpc.system.name" +
		" server.address server.port",
	"search_memory > DynamoDB BatchGetItem [local-prompt client]": ofRequest,
}

// TestTraceOfATurn has a turn with the trace context of a caller. Its spans, of two functions, are below the caller's.
func TestTraceOfATurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), arrival)
	defer cancel()
	tree := check.Got(spans.OneTurn(ctx, newUser(t)))(t)
	got, want := map[string]string{}, map[string]string{}
	for name, attributes := range wantTurn {
		names := strings.Fields(attributes)
		slices.Sort(names)
		want[name] = strings.Join(names, " ")
	}
	parents := []string{""}
	tree.Walk(func(depth int, s collector.Span) {
		name := strings.TrimSpace(parents[depth] + " > " + s.Name + " [" + s.Service + " " + s.Kind + "]")
		got[name] = strings.Join(s.Names(), " ")
		parents = append(parents[:depth+1], s.Name)
		if id, ok := s.Attributes["gen_ai.conversation.id"]; ok && id != "coach" || s.IsError {
			t.Errorf("%s is of the session %q, or an error: %t", name, id, s.IsError)
		}
	})
	check.Same(t, want, got, "spans and the names of their attributes")
	checkPage(t, tree)
}

// checkPage compares the trace of docs/tracing.md with a trace, but for its times and numbers.
func checkPage(t *testing.T, tree collector.Tree) {
	t.Helper()
	page := check.Got(os.ReadFile("../../docs/tracing.md"))(t)
	_, block, _ := strings.Cut(string(page), "throughline trace\n```\n\n```text\n")
	block, _, _ = strings.Cut(block, "```")
	if shown, got := shapeOf(block), shapeOf(tree.Table()); !slices.Equal(shown, got) {
		t.Errorf("docs/tracing.md does not have this trace; throughline trace prints\n%s", tree.Table())
	}
}

// shapeOf is a table without its times and numbers, in any order of the lines, each once.
func shapeOf(table string) []string {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for i, line := range lines {
		line = regexp.MustCompile(`^ *\d+ ms +\d+ ms`).ReplaceAllString(line, "")
		lines[i] = regexp.MustCompile(`=\S+`).ReplaceAllString(line, "=")
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestTurnsDoNotWaitForTheCollector has two turns while the collector answers nothing: the second one is had after the
// collector was asked.
func TestTurnsDoNotWaitForTheCollector(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { once(); <-release }))
	defer server.Close()
	defer close(release)
	stack := startStack(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL)
	api := check.Got(client.New(stack.Base).As(t.Context(), "ann"))(t)
	open(t, api, "coach_conversation", "s")
	talk(t, api, "s", "Hello.")
	select {
	case <-asked:
	case <-time.After(arrival):
		t.Fatal("nothing was sent to the collector")
	}
	talk(t, api, "s", "Are you still there?")
}
