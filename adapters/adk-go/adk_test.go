package adk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/preloadmemorytool"
	"google.golang.org/genai"

	adk "github.com/throughline/throughline/adapters/adk-go"
	throughline "github.com/throughline/throughline/clients/go"
)

const (
	app  = "coach"
	user = "eva"
)

// create creates a session of the user.
func create(t *testing.T, s session.Service, id string) session.Session {
	t.Helper()
	created, err := s.Create(t.Context(), &session.CreateRequest{AppName: app, UserID: user, SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	return created.Session
}

// get reads a session as another process does.
func get(t *testing.T, o adk.Options, id string) session.Session {
	t.Helper()
	got, err := adk.NewSessions(o).Get(t.Context(), &session.GetRequest{AppName: app, UserID: user, SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	return got.Session
}

// said returns an event of the user.
func said(t *testing.T, text string) *session.Event {
	t.Helper()
	event := session.NewEvent(t.Context(), "invocation")
	event.Author, event.Content = "user", genai.NewContentFromText(text, genai.RoleUser)
	return event
}

// search searches the memory until it finds a text, since messages are indexed soon after they are stored.
func search(t *testing.T, o adk.Options, query, want string) memory.Entry {
	t.Helper()
	for range 100 {
		found, err := adk.NewMemory(o).SearchMemory(t.Context(), &memory.SearchRequest{
			Query: query, AppName: app, UserID: user,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range found.Memories {
			if strings.Contains(entry.Content.Parts[0].Text, want) {
				return entry
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("nothing with %q is found", want)
	return memory.Entry{}
}

// TestEventsComeBackAsTheyWere stores events that are hard to keep.
func TestEventsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	o := fresh(t, nil)
	sessions := adk.NewSessions(o)
	stored := create(t, sessions, "a session / with any id")
	parts := []*genai.Part{
		{Text: "Ünï\x00code \u2028 <b>&"},
		{Text: "a thought", Thought: true, ThoughtSignature: []byte{0, 255}},
		{FunctionCall: &genai.FunctionCall{ID: "1", Name: "log", Args: map[string]any{"n": 1e300, "of": []any{nil}}}},
		{FunctionCall: &genai.FunctionCall{}},
		{FunctionResponse: &genai.FunctionResponse{ID: "1", Name: "log", Response: map[string]any{"ok": true}}},
		{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte{1, 2, 3}}},
	}
	var want []*session.Event
	for i, part := range parts {
		event := session.NewEvent(t.Context(), fmt.Sprint("invocation ", i))
		event.Author, event.Branch = "coach", "a.b"
		event.Content = &genai.Content{Role: "model", Parts: []*genai.Part{part}}
		event.Actions.ArtifactDelta = map[string]int64{"file": math.MaxInt64}
		event.Timestamp = event.Timestamp.Add(time.Nanosecond)
		if err := sessions.AppendEvent(t.Context(), stored, event); err != nil {
			t.Fatal(err)
		}
		want = append(want, event)
	}
	got := get(t, o, "a session / with any id")
	if got.Events().Len() != len(want) {
		t.Fatalf("%d events, want %d", got.Events().Len(), len(want))
	}
	for i, event := range want {
		before, _ := json.Marshal(event)
		after, _ := json.Marshal(got.Events().At(i))
		if string(before) != string(after) {
			t.Errorf("event %d was\n%s\nand is\n%s", i, before, after)
		}
	}
}

// TestWritersAtOnce appends to one session from two processes.
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	const each = 20
	o := fresh(t, nil)
	create(t, adk.NewSessions(o), "s")
	var writers sync.WaitGroup
	for writer := range 2 {
		sessions, own := adk.NewSessions(o), get(t, o, "s")
		writers.Go(func() {
			for i := range each {
				event := said(t, fmt.Sprintf("%d of %d", i, writer))
				event.Actions.StateDelta = map[string]any{
					fmt.Sprintf("user:%d-%d", writer, i): i, fmt.Sprintf("%d-%d", writer, i): i,
				}
				if err := sessions.AppendEvent(t.Context(), own, event); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	got, seen := get(t, o, "s"), map[string]bool{}
	for event := range got.Events().All() {
		seen[event.ID] = true
	}
	state := 0
	for range got.State().All() {
		state++
	}
	if len(seen) != 2*each || got.Events().Len() != 2*each || state != 4*each {
		t.Errorf("%d events, %d of them different, and %d keys of the state", got.Events().Len(), len(seen), state)
	}
}

// TestSearchWhileTheMemoryIsDown expects that the agent goes on.
func TestSearchWhileTheMemoryIsDown(t *testing.T) {
	t.Parallel()
	down := adk.Options{Timeout: time.Second, Client: throughline.New(throughline.Config{
		BaseURL: "http://127.0.0.1:1", Token: "t", HTTP: &http.Client{Transport: dead{}},
	})}
	asked := &memory.SearchRequest{UserID: "eva", Query: "knee"}
	found, err := adk.NewMemory(down).SearchMemory(t.Context(), asked)
	if err != nil || len(found.Memories) != 0 {
		t.Error(found, err)
	}
	refused := adk.Options{Client: throughline.New(throughline.Config{BaseURL: "http://127.0.0.1:1"})}
	if _, err := adk.NewMemory(refused).SearchMemory(t.Context(), asked); err == nil {
		t.Error("a mistake of the app is no error")
	}
}

// dead is a network without answers.
type dead struct{}

func (dead) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("the connection is lost")
}

// network fails requests that store messages: before they arrive, or after, when the answer is lost.
type network struct {
	arrive bool
	fail   atomic.Int64 // how many
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") || n.fail.Add(-1) < 0 {
		return http.DefaultTransport.RoundTrip(r)
	}
	if n.arrive {
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_ = answer.Body.Close()
	}
	return nil, errors.New("the connection is lost")
}

// TestLostAnswers appends over a network that loses all answers of a call, so that the process gives up. Another
// process that appends the event again stores it once, with its state.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, arrive := range []bool{true, false} {
		t.Run(fmt.Sprintf("the request arrives: %t", arrive), func(t *testing.T) {
			t.Parallel()
			lossy := &network{arrive: arrive}
			o := fresh(t, lossy)
			sessions := adk.NewSessions(o)
			before := create(t, sessions, "s")
			event := said(t, "I swapped the hip thrusts.")
			event.Actions.StateDelta = map[string]any{"user:swaps": 1.0, "app:swaps": 2.0, "swaps": 3.0}
			lossy.fail.Store(5) // all attempts of the client
			if err := sessions.AppendEvent(t.Context(), before, event); err == nil {
				t.Fatal("a lost answer is no error")
			}
			if before.Events().Len() != 0 {
				t.Error("the event is in the session of the process that could not store it")
			}
			lossy.fail.Store(1)
			if err := adk.NewSessions(o).AppendEvent(t.Context(), get(t, o, "s"), event); err != nil {
				t.Fatal(err)
			}
			got := get(t, o, "s")
			if got.Events().Len() != 1 {
				t.Errorf("%d events, want 1", got.Events().Len())
			}
			for key, want := range map[string]any{"user:swaps": 1.0, "app:swaps": 2.0, "swaps": 3.0} {
				if value, err := got.State().Get(key); err != nil || value != want {
					t.Errorf("%s is %v, %v; want %v", key, value, err, want)
				}
			}
		})
	}
}

// TestOtherScreens reads a session that no app of ADK has created, and checks that apps do not see each other's.
func TestOtherScreens(t *testing.T) {
	t.Parallel()
	o := fresh(t, nil)
	client := o.Client.As(o.User(app, user))
	_, err := client.CreateSession(t.Context(), throughline.NewSession{
		SessionID: "plan", Context: "program_designer", CoachID: "kim",
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.AppendMessages(t.Context(), "plan", throughline.NewMessages{Messages: []throughline.NewMessage{
		{Role: "user", Content: "I only have bands."}, {Role: "assistant", Content: "Then glute bridges."},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := get(t, o, "plan").Events()
	if got.Len() != 2 || got.At(0).Author != "user" || got.At(1).Content.Parts[0].Text != "Then glute bridges." {
		t.Errorf("%d events, the first %+v", got.Len(), got.At(0))
	}
	shared := o.User("", "shared")
	o.User = func(string, string) string { return shared }
	create(t, adk.NewSessions(o), "s")
	request := &session.GetRequest{AppName: "another", UserID: user, SessionID: "s"}
	if _, err := adk.NewSessions(o).Get(t.Context(), request); err == nil {
		t.Error("an app reads the session of another one")
	}
	listed, err := adk.NewSessions(o).List(t.Context(), &session.ListRequest{AppName: "another", UserID: user})
	if err != nil || len(listed.Sessions) > 0 {
		t.Errorf("an app lists %d sessions of another one, %v", len(listed.Sessions), err)
	}
}

// TestSessionsOfAnotherService adds a session that ADK keeps in memory, as it grows.
func TestSessionsOfAnotherService(t *testing.T) {
	t.Parallel()
	o, other := fresh(t, nil), session.InMemoryService()
	s := create(t, other, "kept in memory")
	for i := range 230 {
		if err := other.AppendEvent(t.Context(), s, said(t, fmt.Sprintf("%d: I have bands at home.", i))); err != nil {
			t.Fatal(err)
		}
		if i == 100 || i == 229 {
			if err := adk.NewMemory(o).AddSessionToMemory(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := get(t, o, "kept in memory").Events()
	if got.Len() != 230 {
		t.Fatalf("%d events, want 230", got.Len())
	}
	for i := range 230 {
		if want := s.Events().At(i); got.At(i).ID != want.ID {
			t.Fatalf("event %d is %s, want %s", i, got.At(i).ID, want.ID)
		}
	}
	found := search(t, o, "bands at home", "I have bands at home.")
	isKnown := found.Author == "user" || found.Author == "summary"
	if found.ID == "" || !isKnown || found.Timestamp.IsZero() {
		t.Errorf("found %+v", found)
	}
}

// TestUsersWithoutSessionsAreForgotten lists the sessions of all users after a user was erased.
func TestUsersWithoutSessionsAreForgotten(t *testing.T) { //nolint:paralleltest // it changes a variable of the package
	o := fresh(t, nil)
	sessions := adk.NewSessions(o)
	create(t, sessions, "s")
	if _, _, err := o.Client.As(o.User(app, user)).EraseUser(t.Context()); err != nil {
		t.Fatal(err)
	}
	noted := func() (n int) {
		for _, err := range o.Client.As(o.User(app, "")).ListDocuments(t.Context(), throughline.ListDocumentsQuery{}).All() {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	list := func() {
		all, err := sessions.List(t.Context(), &session.ListRequest{AppName: app})
		if err != nil || len(all.Sessions) > 0 {
			t.Errorf("%d sessions are listed, %v", len(all.Sessions), err)
		}
	}
	list()
	if n := noted(); n != 1 {
		t.Errorf("%d users are noted, want 1: the session may be about to be created", n)
	}
	t.Cleanup(adk.ForgetAtOnce())
	list()
	if n := noted(); n != 0 {
		t.Errorf("%d users are noted after the erasure", n)
	}
}

// scripted is a model that answers with what its instructions have of past conversations.
type scripted struct{}

func (scripted) Name() string { return "scripted" }

func (scripted) GenerateContent(_ context.Context, r *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		instructions := r.Config.SystemInstruction.Parts
		_, past, _ := strings.Cut(instructions[len(instructions)-1].Text, "<PAST_CONVERSATIONS>")
		yield(&model.LLMResponse{Content: genai.NewContentFromText("I know:"+past, genai.RoleModel)}, nil)
	}
}

// TestTwoScreensAndOneMemory runs an agent with ADK's own tool for memory on two screens.
func TestTwoScreensAndOneMemory(t *testing.T) {
	t.Parallel()
	o := fresh(t, nil)
	coach, err := llmagent.New(llmagent.Config{
		Name: "coach", Model: scripted{}, Instruction: "You are a coach.", Tools: []tool.Tool{preloadmemorytool.New()},
	})
	if err != nil {
		t.Fatal(err)
	}
	say := func(screen, text string) (answer string) {
		o := o
		o.Context = screen
		r, err := runner.New(runner.Config{
			AppName: app, Agent: coach, SessionService: adk.NewSessions(o), MemoryService: adk.NewMemory(o),
			AutoCreateSession: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		message := genai.NewContentFromText(text, genai.RoleUser)
		for event, err := range r.Run(t.Context(), user, screen, message, agent.RunConfig{}) {
			if err != nil {
				t.Fatal(err)
			}
			answer = event.Content.Parts[0].Text
		}
		return answer
	}
	say("program_designer", "I only have bands at home: swap the hip thrusts for glute bridges.")
	search(t, o, "hip thrusts", "glute bridges")
	if got := say("coach_conversation", "What did I swap the hip thrusts for?"); !strings.Contains(got, "glute bridges") {
		t.Errorf("the coach answers %q", got)
	}
	if n := get(t, o, "coach_conversation").Events().Len(); n != 2 {
		t.Errorf("%d events of the turn are stored, want 2", n)
	}
}
