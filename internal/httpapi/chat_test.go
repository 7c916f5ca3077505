package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
)

// fakeVerifier accepts the tokens "user:<id>", "app:<id>" and "scopes:<scope>,<scope>:<id>". For the token "down" the
// keys cannot be fetched.
type fakeVerifier struct{}

func (fakeVerifier) Verify(_ context.Context, token string) (conversation.UserID, []string, error) {
	if token == "down" {
		return "", nil, fault.New(fault.Unavailable, "no keys")
	}
	if named, ok := strings.CutPrefix(token, "scopes:"); ok {
		scopes, id, _ := strings.Cut(named, ":")
		return conversation.UserID(id), strings.Split(scopes, ","), nil
	}
	scope := httpapi.ScopeUser
	user, ok := strings.CutPrefix(token, "user:")
	if !ok {
		scope = httpapi.ScopeApp
		user, ok = strings.CutPrefix(token, "app:")
	}
	if !ok {
		return "", nil, fault.New(fault.Unauthorized, "the token is malformed")
	}
	return conversation.UserID(user), []string{scope}, nil
}

// fakeChat answers every request with the given events or error.
type fakeChat struct {
	fail   error
	events iter.Seq[chat.Event]
	got    chat.Request
	user   conversation.UserID
	ctx    context.Context
}

func (s *fakeChat) Start(ctx context.Context, user conversation.UserID, r chat.Request) (chat.Answer, error) {
	s.ctx, s.user, s.got = ctx, user, r
	return chat.Answer{Events: s.events}, s.fail
}

func (s *fakeChat) Join(ctx context.Context, user conversation.UserID, sessionID string) (chat.Answer, error) {
	s.ctx, s.user, s.got = ctx, user, chat.Request{SessionID: sessionID}
	if sessionID == "quiet" {
		return chat.Answer{}, s.fail
	}
	return chat.Answer{Events: s.events}, s.fail
}

func say(events ...chat.Event) iter.Seq[chat.Event] {
	return func(yield func(chat.Event) bool) {
		for _, e := range events {
			if !yield(e) {
				return
			}
		}
	}
}

func event(name string, data any) chat.Event {
	return chat.Event{Name: name, Data: data}
}

type text struct {
	Text string `json:"text"`
}

func newCoach(t *testing.T, chat httpapi.Chatter) (http.Handler, *check.Log) {
	t.Helper()
	b, log := base()
	return httpapi.Coach(
		httpapi.CoachDeps{Base: b, Chat: chat, Verifier: fakeVerifier{}, Origins: []string{"https://app.example"}},
	), log
}

func chatRequest(t *testing.T, url, token, body string) *http.Request {
	t.Helper()
	r := check.Got(http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat", strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

const hello = `{"sessionId":"s1","message":"hello"}`

func TestChatTakesOneKey(t *testing.T) {
	t.Parallel()
	h, _ := newCoach(t, &fakeChat{events: say(event("done", text{}))})
	server := httptest.NewServer(h)
	defer server.Close()
	r := chatRequest(t, server.URL, "user:ann", hello)
	r.Header.Add("Idempotency-Key", "k")
	r.Header.Add("Idempotency-Key", "k")
	res := check.Got(server.Client().Do(r))(t)
	defer res.Body.Close()
	if body := readAll(t, res.Body); res.StatusCode != 422 || !strings.Contains(body, `"field":"Idempotency-Key"`) {
		t.Errorf("two keys: %d %s", res.StatusCode, body)
	}
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	turn := &fakeChat{
		events: say(
			event("prompt", map[string]string{"promptId": "p"}), event("token", text{"<b>\n&"}), event("done", text{"x"}),
			event("token", text{"too late"}),
		),
	}
	h, _ := newCoach(t, turn)
	server := httptest.NewServer(h)
	defer server.Close()
	r := chatRequest(
		t,
		server.URL,
		"user:ann",
		`{"sessionId":"s1","message":"hello","agentId":"motivator","recipe":"unified"}`,
	)
	r.Header.Set("Idempotency-Key", "k")
	res := check.Got(server.Client().Do(r))(t)
	defer res.Body.Close()
	want := "event: prompt\ndata: {\"promptId\":\"p\"}\n\n" +
		"event: token\ndata: {\"text\":\"<b>\\n&\"}\n\n" +
		"event: done\ndata: {\"text\":\"x\"}\n\n"
	check.Same(t, want, readAll(t, res.Body), "stream")
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		t.Errorf("%d, content type %q", res.StatusCode, got)
	}
	idem := turn.got.Idempotency
	if turn.user != "ann" || turn.got.AgentID != "motivator" || turn.got.Recipe != "unified" ||
		idem.Scope != "POST /v1/chat" ||
		idem.Key != "k" ||
		len(idem.BodyHash) != 64 {
		t.Errorf("request %+v of %s", turn.got, turn.user)
	}
}

// refusal is an error that a model's service answered.
type refusal struct{}

func (refusal) Error() string  { return "with a part of the key" }
func (refusal) Detail() string { return "the model's service answered 404 (model_not_found)" }

// TestServiceIsNamed expects that a service which refuses calls is no error of this program.
func TestServiceIsNamed(t *testing.T) {
	t.Parallel()
	h, _ := newCoach(t, &fakeChat{fail: fault.Wrap(fault.Internal, "complete chat", refusal{})})
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, chatRequest(t, "http://coach", "user:ann", hello))
	want := `"detail":"the model's service answered 404 (model_not_found)"`
	if body := answer.Body.String(); answer.Code != 503 || !strings.Contains(body, want) ||
		!strings.Contains(body, `"code":"unavailable"`) {
		t.Errorf("%d %s", answer.Code, body)
	}
}

// TestChatStreamIsAlive expects comments while the model is silent.
func TestChatStreamIsAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := newCoach(t, &fakeChat{events: func(yield func(chat.Event) bool) {
			time.Sleep(25 * time.Second)
			yield(event("done", text{"x"}))
		}})
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, chatRequest(t, "http://coach", "user:ann", hello))
		want := ": alive\n\n: alive\n\nevent: done\ndata: {\"text\":\"x\"}\n\n"
		check.Same(t, want, answer.Body.String(), "stream")
	})
}

func TestChatStreamAlwaysEnds(t *testing.T) {
	t.Parallel()
	internal := `event: error` + "\n" + `data: {"type":"urn:throughline:problem:internal"`
	for name, tc := range map[string]struct {
		events iter.Seq[chat.Event]
		last   string
	}{
		"an error": {
			say(event("token", text{"a"}), event("error", fault.New(fault.Unavailable, "the model gave no answer"))),
			"event: error\ndata: {\"type\":\"urn:throughline:problem:unavailable\",\"title\":\"Not available\"," +
				"\"status\":503,\"detail\":\"the model gave no answer\",\"code\":\"unavailable\",\"requestId\":\"req_",
		},
		"nothing": {say(), internal},
		"no end":  {say(event("token", text{"a"})), internal},
		"a panic": {func(yield func(chat.Event) bool) { yield(event("token", text{"a"})); panic("a secret") }, internal},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newCoach(t, &fakeChat{events: tc.events})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, chatRequest(t, "http://x", "user:ann", hello))
			body := w.Body.String()
			at := strings.LastIndex(body, "event: ")
			if at < 0 || !strings.HasPrefix(body[at:], tc.last) || strings.Contains(body, "secret") {
				t.Errorf("stream %q, want its end %q", body, tc.last)
			}
		})
	}
}

func TestChatEventsLeaveAtOnce(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{})
	h, _ := newCoach(t, &fakeChat{events: func(yield func(chat.Event) bool) {
		yield(event("token", text{"first"}))
		<-heard
		yield(event("done", text{}))
	}})
	server := httptest.NewServer(h)
	defer server.Close()
	res := check.Got(server.Client().Do(chatRequest(t, server.URL, "user:ann", hello)))(t)
	defer res.Body.Close()
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || line != "event: token\n" {
		t.Fatalf("%q, %v before the answer was done", line, err)
	}
	close(heard)
}

func TestChatGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	left, ended := make(chan struct{}), make(chan error, 1)
	turn := &fakeChat{}
	turn.events = func(yield func(chat.Event) bool) {
		yield(event("token", text{"first"}))
		<-left
		for range 100 {
			if !yield(event("token", text{strings.Repeat("x", 64<<10)})) {
				break
			}
		}
		ended <- turn.ctx.Err()
	}
	h, _ := newCoach(t, turn)
	server := httptest.NewServer(h)
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	res := check.Got(server.Client().Do(chatRequest(t, server.URL, "user:ann", hello).WithContext(ctx)))(t)
	check.Got(io.ReadFull(res.Body, make([]byte, 10)))(t)
	leave()
	res.Body.Close()
	close(left)
	if err := <-ended; err != nil {
		t.Errorf("the chat's context ended with its client: %v", err)
	}
}

func TestChatKeepsTheInvocationsDeadline(t *testing.T) {
	t.Parallel()
	turn := &fakeChat{events: say(event("done", text{}))}
	h, _ := newCoach(t, turn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	h.ServeHTTP(httptest.NewRecorder(), chatRequest(t, "http://x", "user:ann", hello).WithContext(ctx))
	if _, ok := turn.ctx.Deadline(); !ok {
		t.Error("the chat has no deadline")
	}
}

func TestChatErrorsBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		token, body string
		fail        error
		status      int
		code, retry string
	}{
		"no token":     {"", hello, nil, 401, "unauthorized", ""},
		"bad token":    {"x", hello, nil, 401, "unauthorized", ""},
		"keys missing": {"down", hello, nil, 503, "unavailable", "1"},
		"no session":   {"user:ann", hello, fault.Missing("session"), 404, "not_found", ""},
		"still running": {
			"user:ann", hello, &fault.Error{Code: fault.Conflict, RetryAfter: 2 * time.Second}, 409, "conflict", "2",
		},
		"tokens spent": {
			"user:ann", hello, &fault.Error{Code: fault.RateLimited, RetryAfter: 5400 * time.Second}, 429, "rate_limited",
			"5400",
		},
		"no message": {"user:ann", `{"sessionId":"s1"}`, nil, 422, "invalid", ""},
		"long message": {
			"user:ann", `{"sessionId":"s1","message":"` + strings.Repeat("x", 256<<10+1) + `"}`, nil, 422, "invalid", "",
		},
		"not JSON": {"user:ann", `{`, nil, 400, "invalid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newCoach(t, &fakeChat{fail: tc.fail, events: say()})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, chatRequest(t, "http://x", tc.token, tc.body))
			if w.Code != tc.status || !strings.Contains(w.Body.String(), `"code":"`+tc.code+`"`) ||
				w.Header().Get("Retry-After") != tc.retry {
				t.Errorf("%d %v %s, want %d %s", w.Code, w.Header(), w.Body, tc.status, tc.code)
			}
			if w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("content type %q", w.Header().Get("Content-Type"))
			}
		})
	}
}

func TestChatBehindAFunctionURL(t *testing.T) {
	t.Parallel()
	h, _ := newCoach(t, &fakeChat{events: say(event("token", text{"a"}), event("done", text{}))})
	out := check.Got(lambdaurl.Wrap(h)(t.Context(), &events.LambdaFunctionURLRequest{
		RawPath: "/v1/chat", Headers: map[string]string{
			"authorization": "bearer user:ann", "content-type": "application/json",
		}, Body: hello,
		RequestContext: events.LambdaFunctionURLRequestContext{
			DomainName: "coach.example", HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{Method: "POST"},
		},
	}))(t)
	if body := readAll(t, out.Body); out.StatusCode != 200 ||
		!strings.HasSuffix(body, "event: done\ndata: {\"text\":\"\"}\n\n") {
		t.Errorf("%d %q", out.StatusCode, body)
	}
	if out.Headers["Content-Type"] != "text/event-stream" || out.Headers["X-Request-Id"] == "" {
		t.Errorf("headers %v", out.Headers)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	h, _ := newCoach(t, &fakeChat{events: say(event("done", text{}))})
	preflight := func(origin string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "OPTIONS", "/v1/chat", nil)
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", "POST")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := preflight("https://app.example"); w.Code != 204 ||
		w.Header().Get("Access-Control-Allow-Origin") != "https://app.example" ||
		!strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "idempotency-key") {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if w := preflight("https://evil.example"); w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of another origin: %d %v", w.Code, w.Header())
	}
	for origin, want := range map[string]string{
		"https://app.example": "https://app.example", "https://evil.example": "", "": "",
	} {
		r := chatRequest(t, "http://x", "user:ann", hello)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != 200 || got != want {
			t.Errorf("origin %q: %d, allowed %q", origin, w.Code, got)
		}
	}
}
