package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/testing/check"
)

var (
	built    = chat.Built{PromptID: "p", UserMessageID: "u", AnswerID: "planned"}
	startsUI = `data: {"type":"start","messageId":"planned","messageMetadata":{"promptId":"p"}}` + "\n\n" +
		`data: {"type":"data-prompt","data":{"promptId":"p","userMessageId":"u"}}` + "\n\n"
	oneText = `data: {"type":"text-start","id":"text"}` + "\n\n" +
		`data: {"type":"text-delta","id":"text","delta":"<b>\n&"}` + "\n\n"
)

// TestUIMessageStream checks the bytes of a stream of UI messages: with an answer, with an error before and in it, and
// with no end.
func TestUIMessageStream(t *testing.T) {
	t.Parallel()
	done := chat.Done{MessageID: "stored", FinishReason: "content_filter", Usage: llm.Usage{TotalTokens: 7}, Model: "m"}
	finish := `data: {"type":"finish","finishReason":"content-filter","messageMetadata":{"messageId":"stored",` +
		`"usage":{"promptTokens":0,"cachedTokens":0,"completionTokens":0,"totalTokens":7},"model":"m"}}` +
		"\n\ndata: [DONE]\n\n"
	const textEnd = `data: {"type":"text-end","id":"text"}` + "\n\n"
	failed := event("error", fault.New(fault.Unavailable, "the model gave no answer"))
	const failure = `data: {"type":"error","errorText":"the model gave no answer"}` + "\n\ndata: [DONE]\n\n"
	token := event("token", chat.Token{Text: "<b>\n&"})
	for name, tc := range map[string]struct {
		events []chat.Event
		want   string
	}{
		"an answer": {
			[]chat.Event{event("prompt", built), token, event("done", done), token}, startsUI + oneText + textEnd + finish,
		},
		"an early error": {[]chat.Event{event("prompt", built), failed}, startsUI + failure},
		"a late error":   {[]chat.Event{event("prompt", built), token, failed}, startsUI + oneText + textEnd + failure},
		"no end": {
			[]chat.Event{event("prompt", built)},
			startsUI + `data: {"type":"error","errorText":"something went wrong on our side"}` + "\n\ndata: [DONE]\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newCoach(t, &fakeChat{events: say(tc.events...)})
			w, r := httptest.NewRecorder(), chatRequest(t, "http://x", "user:ann", hello)
			r.URL.RawQuery = "stream=ui"
			h.ServeHTTP(w, r)
			check.Same(t, tc.want, w.Body.String(), "stream")
			for header, want := range map[string]string{
				"Content-Type": "text/event-stream", "X-Vercel-Ai-Ui-Message-Stream": "v1", "X-Accel-Buffering": "no",
			} {
				check.Equal(t, want, w.Header().Get(header), "%s", header)
			}
			if got := w.Header().Get("Cache-Control"); !strings.HasPrefix(got, "no-cache") {
				t.Errorf("Cache-Control: %q", got)
			}
		})
	}
}

// TestUIMessageStreamErrors asks for a form that does not exist, and for a session that does not.
func TestUIMessageStreamErrors(t *testing.T) {
	t.Parallel()
	for query, status := range map[string]int{"stream=ui": 404, "stream=sse": 422, "stream=": 422, "streams=ui": 422} {
		h, _ := newCoach(t, &fakeChat{fail: fault.Missing("session")})
		w, r := httptest.NewRecorder(), chatRequest(t, "http://x", "user:ann", hello)
		r.URL.RawQuery = query
		h.ServeHTTP(w, r)
		if w.Code != status || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %v %s", query, w.Code, w.Header(), w.Body)
		}
	}
}

// TestJoinAnswer joins an answer in both forms, where there is none, and without the right to it.
func TestJoinAnswer(t *testing.T) {
	t.Parallel()
	answer := say(event("prompt", built), event("token", chat.Token{Text: "x"}), event("done", chat.Done{MessageID: "m"}))
	for name, tc := range map[string]struct {
		chat   *fakeChat
		path   string
		status int
		want   string
	}{
		"UI messages":     {&fakeChat{events: answer}, "/v1/chat/s1/stream", 200, startsUI},
		"events":          {&fakeChat{events: answer}, "/v1/chat/s1/stream?stream=events", 200, "event: prompt\n"},
		"nothing":         {&fakeChat{}, "/v1/chat/s1/stream", 204, ""},
		"no session":      {&fakeChat{fail: fault.Missing("session")}, "/v1/chat/s1/stream", 404, `{`},
		"too many":        {&fakeChat{fail: fault.New(fault.RateLimited, "")}, "/v1/chat/s1/stream", 429, `{`},
		"another form":    {&fakeChat{events: answer}, "/v1/chat/s1/stream?stream=sse", 422, `{`},
		"an id that none": {&fakeChat{events: answer}, "/v1/chat/s%231/stream", 422, `{`},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newCoach(t, tc.chat)
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "http://x"+tc.path, nil)
			r.Header.Set("Authorization", "Bearer user:ann")
			h.ServeHTTP(w, r)
			if body := w.Body.String(); w.Code != tc.status || !strings.HasPrefix(body, tc.want) || tc.want == "" && body != "" {
				t.Errorf("%d %v %s", w.Code, w.Header(), body)
			}
			if w.Code < 300 && (tc.chat.user != "ann" || tc.chat.got.SessionID != "s1") {
				t.Errorf("asked for %s of %s", tc.chat.got.SessionID, tc.chat.user)
			}
		})
	}
	h, _ := newCoach(t, &fakeChat{events: answer})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://x/v1/chat/s1/stream", nil))
	if w.Code != 401 {
		t.Errorf("without a token: %d", w.Code)
	}
}
