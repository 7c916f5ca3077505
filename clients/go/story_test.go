package throughline_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	throughline "github.com/throughline/throughline/clients/go"
)

// transport is a function as a transport.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// losing does what is asked, and loses each answer once.
func losing() transport {
	var seen sync.Map
	return func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultTransport.RoundTrip(r)
		if _, again := seen.LoadOrStore(r.Method+r.URL.String()+r.Header.Get("Idempotency-Key"), true); again || err != nil {
			return answer, err
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		return nil, errors.New("the connection was closed")
	}
}

// cut is a body that breaks after some bytes.
type cut struct {
	io.ReadCloser
	left int
}

func (c *cut) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// cutting cuts the first answer of the chat after 300 bytes, and counts the requests of the chat.
func cutting(asked *int) transport {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/v1/chat") {
			return answer, err
		}
		if *asked++; *asked == 1 {
			answer.Body = &cut{answer.Body, 300}
		}
		return answer, nil
	}
}

// story is a stack, and a user of its own.
type story struct {
	*testing.T
	base, user string
}

func (s story) token(body string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		var got struct{ Token string }
		fetch(s.T, http.MethodPost, s.base+"/dev/tokens", body, &got)
		return got.Token, nil
	}
}

func (s story) client(through http.RoundTripper) *throughline.Client {
	return throughline.New(throughline.Config{
		BaseURL: s.base, TokenSource: s.token(`{"userId":"` + s.user + `"}`), HTTP: &http.Client{Transport: through},
	})
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// TestTwoScreensOneMemory plays the story of two screens at a stack, with faults, lost answers and cuts. Nothing is
// doubled or lost.
func TestTwoScreensOneMemory(t *testing.T) {
	t.Parallel()
	s := story{t, os.Getenv("THROUGHLINE"), "go-" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	if s.base == "" {
		t.Fatal("run make clients, which starts a stack")
	}
	ctx, asked := t.Context(), 0
	designer, coach := s.client(losing()), s.client(cutting(&asked))
	session := must[*throughline.Session](t)
	session(designer.CreateSession(ctx, throughline.NewSession{
		Context: "program_designer", CoachID: "kim", SessionID: "designer",
	}))
	session(coach.CreateSession(ctx, throughline.NewSession{
		Context: "coach_conversation", CoachID: "kim", SessionID: "coach",
	}))
	swap := "I only have bands at home: swap the hip thrusts for glute bridges."
	appended := must[*throughline.Appended](t)(designer.AppendMessages(ctx, "designer", throughline.NewMessages{
		Messages: []throughline.NewMessage{{Role: "user", Content: swap}, {Role: "assistant", Content: "I can do that."}},
	}))
	if appended.Session.MessageCount != 2 {
		t.Errorf("%d messages are stored", appended.Session.MessageCount)
	}

	answer, promptID := s.ask(coach, "What should I do tomorrow? My glutes are sore.")
	if asked < 2 {
		t.Error("the answer was not cut")
	}
	server := throughline.New(throughline.Config{BaseURL: s.base, TokenSource: s.token(`{"server":true}`)}).As(s.user)
	prompt := s.recorded(server, promptID)
	if text := string(must[[]byte](t)(json.Marshal(prompt))); !strings.Contains(text, "glute bridges") {
		t.Errorf("the prompt does not know the other screen: %s", text)
	}
	s.checkStored(designer, coach, answer)
	s.checkDeletion(designer, coach)
}

// ask asks the coach while the table fails at times, and returns the answer and the prompt's id.
func (s story) ask(coach *throughline.Client, message string) (text, promptID string) {
	var done struct{}
	fetch(s.T, http.MethodPost, s.base+"/dev/faults", `{"dynamodb":{"errorRate":0.05}}`, &done)
	defer fetch(s.T, http.MethodPost, s.base+"/dev/faults", `{"dynamodb":{}}`, &done)
	for event, err := range coach.Chat(s.Context(), throughline.ChatBody{SessionID: "coach", Message: message}) {
		switch {
		case err != nil:
			s.Fatal(err)
		case event.Prompt != nil:
			promptID = event.Prompt.PromptID
		case event.Token != nil:
			text += event.Token.Text
		}
	}
	return text, promptID
}

// recorded returns the record of a prompt, which may be stored shortly after the answer.
func (s story) recorded(server *throughline.Client, promptID string) *throughline.PromptRecord {
	for left := 50; ; left-- {
		record, err := server.GetPrompt(s.Context(), promptID)
		var problem *throughline.ProblemError
		if left == 0 || !errors.As(err, &problem) || problem.Code != "not_found" {
			return must[*throughline.PromptRecord](s.T)(record, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// checkStored expects each message once, in the lists and in the export.
func (s story) checkStored(designer, coach *throughline.Client, answer string) {
	var stored []throughline.Message
	for message, err := range coach.ListMessages(s.Context(), "coach", throughline.ListMessagesQuery{Limit: 1}).All() {
		stored = append(stored, must[throughline.Message](s.T)(message, err))
	}
	if len(stored) != 2 || stored[1].Role != "assistant" || stored[1].Content != answer {
		s.Errorf("stored is %+v, and the answer was %q", stored, answer)
	}
	timeline, messages := 0, 0
	for message, err := range designer.ListTimeline(s.Context(), throughline.ListTimelineQuery{Order: "asc"}).All() {
		must[throughline.Message](s.T)(message, err)
		timeline++
	}
	for record, err := range coach.Export(s.Context()) {
		if must[throughline.Record](s.T)(record, err).Kind == "message" {
			messages++
		}
	}
	if timeline != 4 || messages != 4 {
		s.Errorf("the timeline has %d messages and the export %d, not 4", timeline, messages)
	}
}

// checkDeletion expects a session to be gone after a deletion whose first answer is lost.
func (s story) checkDeletion(designer, coach *throughline.Client) {
	if err := designer.DeleteSession(s.Context(), "designer"); err != nil {
		s.Error(err)
	}
	_, err := coach.GetSession(s.Context(), "designer")
	var problem *throughline.ProblemError
	if !errors.As(err, &problem) || problem.Code != "not_found" {
		s.Errorf("the error is %v", err)
	}
}
