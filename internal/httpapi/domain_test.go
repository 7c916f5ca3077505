package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	appdata "github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/scoping"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

func newPrompts(t testing.TB) (http.Handler, *fakePrompts) {
	t.Helper()
	b, _ := base()
	l := &fakePrompts{}
	return httpapi.Prompts(httpapi.PromptsDeps{Base: b, Prompter: l, Cursors: cursorKey(t, "1")}), l
}

func newContext() (http.Handler, *fakeRecaller) {
	b, _ := base()
	f := &fakeRecaller{}
	return httpapi.Context(httpapi.ContextDeps{Base: b, Recaller: f}), f
}

func TestBuildPrompt(t *testing.T) {
	t.Parallel()
	h, l := newPrompts(t)
	expect(
		t,
		h,
		200,
		as("ann", "POST", "/v1/prompts", `{"recipe":"tiered-history","context":"workout_log","sessionId":"s1",
		"coachId":"c","agentId":"motivator","message":"hi","messageId":"m","timezone":"Asia/Kolkata",
		"budget":{"tokens":256},"systemRole":"r","format":"anthropic",
		"scoping":{"strategy":"token-window","maxMessages":200,"agentIds":["coach","motivator"]}}`),
	)
	want := prompt.Request{
		Recipe: "tiered-history", Context: "workout_log", SessionID: "s1", CoachID: "c", AgentID: "motivator", Message: "hi",
		MessageID: "m", Timezone: "Asia/Kolkata", Budget: &prompt.Budget{Tokens: 256}, SystemRole: "r", Format: "anthropic",
		Scoping: &prompt.Scoping{
			Strategy: scoping.TokenWindow, MaxMessages: new(200), AgentIDs: []string{"coach", "motivator"},
		},
	}
	if diff := cmp.Diff(want, l.got); diff != "" || l.user != "ann" {
		t.Errorf("request of %s (-want +got):\n%s", l.user, diff)
	}
	const required = `{"context":"workout_log","sessionId":"s1"`
	for body, fields := range map[string]string{
		`{}`: "context message sessionId",
		required + `,"message":"x","budget":{"tokens":255}}`:              "budget.tokens",
		required + `,"message":"x","skipSave":true}`:                      "skipSave",
		required + `,"message":"x","ahead":{"generation":1}}`:             "ahead",
		required + `,"message":"` + strings.Repeat("x", 256<<10+1) + `"}`: "message",
		required + `,"message":"x","scoping":{"strategy":"first-n","maxMessages":0,"agentIds":["nobody"]}}`: "scoping." +
			"agentIds[0] scoping.maxMessages scoping.strategy",
		required + `,"message":"x","scoping":{"maxMessages":201,"agentIds":[],"relevant":"all"}}`: "scoping.agentIds " +
			"scoping.maxMessages scoping.relevant",
		required + `,"message":"","budget":{"tokens":1.5,"chars":1},"userId":"mallory"}`: "budget.chars budget.tokens " +
			"message userId",
	} {
		expectProblem(t, h, 422, "invalid", fields, as("ann", "POST", "/v1/prompts", body))
	}
	for _, c := range []call{
		{method: "POST", path: "/v1/prompts", body: `{}`},
		{method: "GET", path: "/v1/prompts"},
		{method: "GET", path: "/v1/prompts/prm_1"},
	} {
		c.user, c.scopes = "ann", "throughline/user"
		expectProblem(t, h, 403, "forbidden", "", c)
	}
}

// TestPromptFormats asks for a prompt without a format and in each one: the answer has the property of that format
// beside what every prompt has.
func TestPromptFormats(t *testing.T) {
	t.Parallel()
	h, _ := newPrompts(t)
	for format, property := range map[string]string{
		"": "", "openai-chat": "openaiChat", "openai-responses": "openaiResponses", "anthropic": "anthropic",
		"bedrock-converse": "bedrockConverse", "parts": "parts",
	} {
		body := object{"context": "workout_log", "sessionId": "s1", "message": "x"}
		if format != "" {
			body["format"] = format
		}
		answer := expect(t, h, 200, as("ann", "POST", "/v1/prompts", body))
		for _, name := range []string{"openaiChat", "openaiResponses", "anthropic", "bedrockConverse", "parts"} {
			check.Equal(t, (name == property), strings.Contains(string(answer.body), `"`+name+`":{`),
				"the format %q has %s", format, name)
		}
		check.Contains(t, string(answer.body), `"messages":[{"role":"user","content":"x"}],"tools":[{"name":`,
			"the format %q changed what every prompt has", format)
	}
	expectProblem(t, h, 422, "invalid", "format",
		as("ann", "POST", "/v1/prompts",
			object{"context": "workout_log", "sessionId": "s1", "message": "x", "format": "gemini"}))
}

func TestContextQueryAndRecall(t *testing.T) {
	t.Parallel()
	h, f := newContext()
	expect(
		t,
		h,
		200,
		as("ann", "POST", "/v1/context/query", `{"context":"coach_conversation"}`),
	)
	three, ten := 3, 10
	check.Same(t, recall.ContextQuery{
		Context: "coach_conversation", Within: "48h", Limit: &three,
	}, f.query, "default query")
	expect(
		t,
		h,
		200,
		as("ann", "POST", "/v1/context/query", `{"context":"coach_conversation","coachId":"c","sessionId":"s","query":"q",
			"recordTypes":["workout_summary"],"within":"1h","limit":10}`),
	)
	want := recall.ContextQuery{
		Context: "coach_conversation", CoachID: "c", SessionID: "s", Query: "q", RecordTypes: []string{"workout_summary"},
		Within: "1h", Limit: &ten,
	}
	check.Same(t, want, f.query, "query")
	expect(
		t,
		h,
		200,
		as("ann", "POST", "/v1/recall", `{"query":"q","sessionId":"s","excludeSessionId":"e","contexts":["workout_log"],
			"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z","limit":10,"tokens":10}`),
	)
	wanted := recall.MessageQuery{
		Query: "q", SessionID: "s", ExcludeSessionID: "e", Contexts: []string{"workout_log"},
		From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		To:   time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Limit: &ten, Tokens: &ten,
	}
	check.Same(t, wanted, f.messages, "recall")
	for path, bodies := range map[string]map[string]string{
		"/v1/context/query": {
			`{}`: "context", `{"context":"workout_log","limit":11,"recordTypes":["x"]}`: "limit recordTypes[0]",
		},
		"/v1/recall": {
			`{}`: "query", `{"query":"","limit":101,"contexts":["x"],"tokens":0}`: "contexts[0] limit query tokens",
			`{"query":"x","limit":101.0}`: "limit", `{"query":"x","tokens":10.5}`: "tokens",
			`{"query":"x","limit":1.5,"tokens":"2"}`:                                  "limit tokens",
			`{"query":"x","from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`: "to",
		},
	} {
		for body, fields := range bodies {
			expectProblem(t, h, 422, "invalid", fields, as("ann", "POST", path, body))
		}
	}
}

// newExport returns a handler of the coach function. Its stores have records of the user ann.
func newExport(t *testing.T, spine error) (http.Handler, *memory) {
	t.Helper()
	deps, store := exportDeps(t, spine)
	return httpapi.Coach(deps), store
}

// exportDeps returns what such a handler is made of.
func exportDeps(t *testing.T, spine error) (httpapi.CoachDeps, *memory) {
	t.Helper()
	b, _ := base()
	store := newMemory(t, noon)
	messages := httpapi.Messages(httpapi.MessagesDeps{
		Base: b, Sessions: store, SessionRemover: store, Messages: store, MessageRemover: store, LongTerm: store.records,
		Eraser: &fakeEraser{},
		Tokens: fakeCounter{}, Cursors: cursorKey(t, "1"),
	})
	newSession(t, messages, "s1")
	for range 5 {
		many := make([]any, 50)
		for i := range many {
			many[i] = object{"role": "user", "content": "<x>"}
		}
		expect(t, messages, 201, post(object{"messages": many}))
	}
	newSession(t, messages, "s2")
	expect(t, messages, 200, as("ann", "PUT", "/v1/profile", object{"name": "Ann"}))
	expect(
		t, messages, 201,
		as("ann", "POST", "/v1/goals", object{"title": "Run", "goalType": "habit"}),
	)
	expect(
		t, messages, 200,
		as("ann", "PUT", "/v1/coaches/c1", object{"name": "Mia", "persona": "p"}),
	)
	kept := appdata.Document{Namespace: appdata.Namespace{"a"}, Key: "k", Value: []byte(`{"n":1.50}`)}
	if _, _, err := store.documents.PutDocument(t.Context(), "ann", kept); err != nil {
		t.Fatal(err)
	}
	return httpapi.CoachDeps{
		Base: b, Chat: &fakeChat{}, Verifier: fakeVerifier{}, Cursors: cursorKey(t, "1"), Export: httpapi.ExportDeps{
			Documents: store.documents,
			Sessions:  store, Messages: store, LongTerm: store.records, Spines: spines{fail: spine}, Prompts: &fakePrompts{},
			Usage: usage{{Day: "2026-02-05", Tokens: 900}}, Limit: &fakeExportLimit{},
			Held: held{
				{Kind: "summary", Key: "summary#1", Record: object{"text": "Before"}},
				{Key: "workout#"},
				{Kind: "appSession", Key: "conversation#a b", Record: object{"messages": []any{}}},
				{Key: "workout#"},
			},
		},
	}, store
}

func export(t *testing.T, h http.Handler, token string) *httptest.ResponseRecorder {
	t.Helper()
	return exportFrom(t, h, token, "/v1/export")
}

// exportAfter goes on where an export ended.
func exportAfter(t *testing.T, h http.Handler, token, after string) *httptest.ResponseRecorder {
	t.Helper()
	return exportFrom(t, h, token, "/v1/export?after="+url.QueryEscape(after))
}

func exportFrom(t *testing.T, h http.Handler, token, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestExport(t *testing.T) {
	t.Parallel()
	h, _ := newExport(t, nil)
	w := export(t, h, "app:ann")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	var kinds []string
	counts := map[string]int{}
	var last object
	for text := range strings.Lines(w.Body.String()) {
		last = decodeObject(t, reply{body: []byte(text)})
		kind := last["kind"].(string)
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
		if kind == "prompt" && (last["manifest"] == nil || last["system"] == nil) {
			t.Errorf("prompt without its manifest or its text: %v", last)
		}
		if kind == "document" && !strings.Contains(text, `"value":{"n":1.50}`) {
			t.Errorf("document %s", text)
		}
		if kind == "message" && last["content"] != "<x>" {
			t.Fatalf("message %v", last)
		}
	}
	wantKinds := "profile preferences spine usage coach goal document session message prompt summary appSession " +
		"left end"
	check.Equal(t, wantKinds, strings.Join(kinds, " "), "kinds")
	want := map[string]int{
		"profile": 1, "preferences": 1, "spine": 1, "usage": 1,
		"coach": 1, "goal": 1, "session": 2, "message": 250, "prompt": 1, "appSession": 1,
		"summary": 1, "left": 1, "end": 1, "document": 1,
	}
	check.Same(t, want, counts, "records")
	check.Same(t, object{"kind": "end", "records": number("263")}, last, "last line")
}

// TestExportGoesOn has answers that end after each page. Together they are the export in one answer, and another user
// cannot go on with it.
func TestExportGoesOn(t *testing.T) {
	t.Parallel()
	random := regexp.MustCompile(`_[0-9a-z]{12,}"`) // the part of an id that differs from store to store
	lines := func(w *httptest.ResponseRecorder) (records []string, last object) {
		if w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for text := range strings.Lines(w.Body.String()) {
			last = decodeObject(t, reply{body: []byte(text)})
			records = append(records, random.ReplaceAllString(text, `"`))
		}
		return records[:len(records)-1], last
	}
	deps, _ := exportDeps(t, nil)
	want, _ := lines(export(t, httpapi.Coach(deps), "app:ann"))
	deps.Export.Size = 1
	h := httpapi.Coach(deps)
	got, last := lines(export(t, h, "app:ann"))
	answers := 1
	for ; last["kind"] == "cursor"; answers++ {
		after := last["after"].(string)
		if w := exportAfter(t, h, "app:bob", after); w.Code != 422 || !strings.Contains(w.Body.String(), `"after"`) {
			t.Fatalf("another user goes on: %d %s", w.Code, w.Body)
		}
		var more []string
		more, last = lines(exportAfter(t, h, "app:ann", after))
		got = append(got, more...)
	}
	if diff := cmp.Diff(want, got); diff != "" || last["kind"] != "end" || answers < 5 {
		t.Errorf("%d answers, the last ends in %v; in one (-want), in several (+got):\n%s", answers, last, diff)
	}
}

// TestTextOfTheAppIsTheApps reads a persona, and a stored prompt with a role of the app, with each of the scopes.
func TestTextOfTheAppIsTheApps(t *testing.T) {
	t.Parallel()
	h, _ := newExport(t, nil)
	const persona, role = `"persona":"p"`, "You are a coach."
	for token, sees := range map[string]bool{"app:ann": true, "user:ann": false} {
		text := export(t, h, token).Body.String()
		for _, secret := range []string{persona, role} {
			if strings.Contains(text, secret) != sees {
				t.Errorf("%s: the export has %s: %v, want %v", token, secret, !sees, sees)
			}
		}
		for _, owned := range []string{`"kind":"coach","coachId":"c1","name":"Mia"`, `"promptId":"prm_1"`, `"manifest":{`} {
			if !strings.Contains(text, owned) {
				t.Errorf("%s: the export lacks %s", token, owned)
			}
		}
	}
}

func TestExportThatBreaksOffSaysSo(t *testing.T) {
	t.Parallel()
	h, _ := newExport(t, fault.New(fault.Unavailable, ""))
	text := strings.TrimSpace(export(t, h, "user:ann").Body.String())
	last := text[strings.LastIndex(text, "\n")+1:]
	if !strings.HasPrefix(last, `{"kind":"error","type":"urn:throughline:problem:unavailable"`) {
		t.Errorf("last line %s", last)
	}
}
