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

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/collector"
)

// The attributes that several spans have.
const (
	ofInvocation = " faas.coldstart faas.invocation_id faas.trigger"
	ofModel      = " gen_ai.operation.name gen_ai.provider.name gen_ai.request.model server.address server.port"
	ofAnswer     = " gen_ai.response.finish_reasons gen_ai.response.model gen_ai.response.time_to_first_chunk" +
		" gen_ai.usage.cache_read.input_tokens gen_ai.usage.input_tokens gen_ai.usage.output_tokens"
)

// arrival is how long a trace that does not come is awaited.
const arrival = 2 * time.Minute

// wantTurn are the spans of a turn, as parent > span [function kind], with the names of their attributes. None has a
// text of the user: that needs TraceContent.
var wantTurn = map[string]string{
	"> POST /v1/chat [local-coach server]": "http.request.method http.response.status_code http.route" + ofInvocation,
	"POST /v1/chat > invoke_agent coach [local-coach internal]": "gen_ai.agent.name gen_ai.conversation.id" +
		" gen_ai.operation.name throughline.prompt.id throughline.replayed" + ofAnswer,
	"invoke_agent coach > store_question [local-coach internal]": "gen_ai.conversation.id throughline.records",
	"invoke_agent coach > embeddings text-embedding-3-small [local-coach client]": "gen_ai.conversation.id" +
		" gen_ai.embeddings.dimension.count throughline.embedding.texts" + ofModel,
	"invoke_agent coach > invoke throughline-prompt:live [local-coach client]": "faas.invoked_name" +
		" faas.invoked_provider gen_ai.conversation.id",
	"invoke throughline-prompt:live > prompt [local-prompt server]": ofInvocation,
	"prompt > build_prompt [local-prompt internal]": "gen_ai.conversation.id throughline.embedding.ahead" +
		" throughline.prompt.budget throughline.prompt.id throughline.prompt.recipe throughline.prompt.tokens",
	"build_prompt > search_memory [local-prompt internal]": "gen_ai.conversation.id gen_ai.memory.record.count" +
		" gen_ai.memory.store.id gen_ai.operation.name",
	"search_memory > retrieval first [local-prompt client]": "db.collection.name db.operation.name" +
		" db.response.returned_rows db.system.name gen_ai.conversation.id gen_ai.data_source.id gen_ai.operation.name" +
		" gen_ai.request.top_k",
	"invoke_agent coach > chat gpt-6-luna [local-coach client]": "gen_ai.conversation.id gen_ai.request.max_tokens" +
		" gen_ai.request.stream" + ofModel + ofAnswer,
	"invoke_agent coach > save_prompt [local-coach internal]":  "gen_ai.conversation.id",
	"invoke_agent coach > store_answer [local-coach internal]": "gen_ai.conversation.id throughline.records",
}

// TestTraceOfATurn has a turn with the trace context of a caller. Its spans, of two functions, are below the caller's.
func TestTraceOfATurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), arrival)
	defer cancel()
	tree, err := spans.OneTurn(ctx, newUser(t))
	if err != nil {
		t.Fatal(err)
	}
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans and the names of their attributes (-want +got):\n%s", diff)
	}
	checkUsage(t, tree)
	checkPage(t, tree)
}

// checkUsage compares what the turn says with what its model's call says.
func checkUsage(t *testing.T, tree collector.Tree) {
	t.Helper()
	turn := tree.Children[0]
	for _, child := range turn.Children {
		if !strings.HasPrefix(child.Name, "chat ") {
			continue
		}
		for name := range strings.FieldsSeq(ofAnswer) {
			own, whole := child.Attributes[name], turn.Attributes[name]
			if own == "" || own != whole && !strings.HasSuffix(name, "time_to_first_chunk") {
				t.Errorf("%s is %q of the call and %q of the turn", name, own, whole)
			}
		}
	}
}

// checkPage compares the trace of docs/tracing.md with a trace, but for its times and numbers.
func checkPage(t *testing.T, tree collector.Tree) {
	t.Helper()
	page, err := os.ReadFile("../../docs/tracing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "make trace\n```\n\n```text\n")
	block, _, _ = strings.Cut(block, "```")
	if shown, got := shapeOf(block), shapeOf(tree.Table()); !slices.Equal(shown, got) {
		t.Errorf("docs/tracing.md does not have this trace; make trace prints\n%s", tree.Table())
	}
}

// shapeOf is a table without its times and numbers, in any order of the lines.
func shapeOf(table string) []string {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for i, line := range lines {
		line = regexp.MustCompile(`^ *\d+ ms +\d+ ms`).ReplaceAllString(line, "")
		lines[i] = regexp.MustCompile(`=\S+`).ReplaceAllString(line, "=")
	}
	slices.Sort(lines)
	return lines
}

// TestWritesHaveSpans writes messages, a memory and a document, and deletes, each with the trace context of one caller.
func TestWritesHaveSpans(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), arrival)
	defer cancel()
	api := newUser(t)
	open(t, api, "coach_conversation", "writes")
	memory := object{"type": "PROFILE", "content": "Ann has a dog."}
	for i, w := range []struct {
		method, path string
		body         any
		span, record string
	}{
		{
			http.MethodPost, "/v1/sessions/writes/messages",
			object{"messages": []object{{"role": "user", "content": "Hi."}}},
			"append_messages", "",
		},
		{http.MethodPost, "/v1/memories", memory, "create_memory", "memories"},
		{http.MethodPut, "/v1/documents/notes/item", object{"value": object{"n": 1}}, "upsert_memory", "documents"},
		{http.MethodDelete, "/v1/documents/notes/item", nil, "delete_memory", "documents"},
	} {
		trace := strings.Repeat("0", 30) + "a" + string(rune('1'+i))
		header := client.Header{Name: "traceparent", Value: "00-" + trace + "-" + collector.CallerSpan + "-01"}
		do(t, api, w.method, w.path, w.body, nil, header)
		tree, err := spans.Await(ctx, trace, collector.CallerSpan)
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.Children) != 1 || tree.Children[0].Name != w.span ||
			tree.Children[0].Attributes["gen_ai.memory.store.id"] != w.record {
			t.Errorf("%s %s has the spans\n%s", w.method, w.path, tree)
		}
	}
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
	api, err := client.New(stack.Base).As(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	open(t, api, "coach_conversation", "s")
	talk(t, api, "s", "Hello.")
	select {
	case <-asked:
	case <-time.After(arrival):
		t.Fatal("nothing was sent to the collector")
	}
	talk(t, api, "s", "Are you still there?")
}
