package httpapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
)

// cursorKey returns a cursor key of a version.
func cursorKey(t testing.TB, version string) httpapi.CursorKey {
	t.Helper()
	return check.Got(httpapi.ParseCursorKey(version + ":MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="))(t)
}

// noon is the clock of the tests. It stands still.
func noon() time.Time { return time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC) }

// base returns the Base of a handler and its log.
func base() (httpapi.Base, *check.Log) {
	j := &check.Log{}
	return httpapi.Base{Log: slog.New(httpapi.LogHandler(slog.NewJSONHandler(j, nil))), Now: noon}, j
}

// call is one request through the gateway.
type call struct {
	method, path string
	// body is sent as JSON unless it is a string or nil.
	body    any
	user    string
	scopes  string
	headers map[string]string
}

// as is a call of a user, with a body if one is given.
func as(user, method, path string, body ...any) call {
	c := call{user: user, method: method, path: path}
	if len(body) > 0 {
		c.body = body[0]
	}
	return c
}

// reply is a response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// decode reads the body into v.
func (r reply) decode(t testing.TB, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("decode %d %s: %v", r.status, r.body, err)
	}
}

// problem is a problem as a client reads it.
type problem struct {
	RequestID                 string
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []struct{ Field, Message string }
}

func (p problem) fields() string {
	names := make([]string, len(p.Errors))
	for i, e := range p.Errors {
		names[i] = e.Field
	}
	return strings.Join(names, " ")
}

// send sends a call as an event of API Gateway.
func send(t testing.TB, h http.Handler, c call) reply {
	t.Helper()
	path, query, _ := strings.Cut(c.path, "?")
	if decoded, err := url.PathUnescape(path); err == nil { // as the service does
		path = decoded
	}
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: path, RawQueryString: query, Headers: map[string]string{"content-type": "application/json"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			Stage: "$default", HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: c.method, Path: path},
		},
		Body: bodyText(t, c.body),
	}
	maps.Copy(e.Headers, c.headers)
	if c.user != "" {
		if c.scopes == "" {
			c.scopes = "throughline/user throughline/app"
		}
		e.Headers["authorization"] = "Bearer " + unsignedToken(t, map[string]string{"sub": c.user, "scope": c.scopes})
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{
				Claims: map[string]string{"sub": c.user, "scope": c.scopes},
			},
		}
	}
	out, err := httpapi.GatewayHandler(h)(context.WithoutCancel(t.Context()), e)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	header := http.Header{}
	for name, value := range out.Headers {
		header.Set(name, value)
	}
	return reply{out.StatusCode, header, bodyOf(t, out)}
}

// bodyOf returns the body of an answer, which has to be one that Lambda returns in one piece.
func bodyOf(t testing.TB, out events.APIGatewayV2HTTPResponse) []byte {
	t.Helper()
	var payload bytes.Buffer
	encoder := json.NewEncoder(&payload)
	encoder.SetEscapeHTML(false) // as the Lambda runtime does
	if err := encoder.Encode(out); err != nil || payload.Len() > 6<<20 {
		t.Fatalf("an answer of %d bytes, %v", payload.Len(), err)
	}
	if !out.IsBase64Encoded {
		return []byte(out.Body)
	}
	return check.Got(base64.StdEncoding.DecodeString(out.Body))(t)
}

// unsignedToken returns a token with claims and a signature of nobody, as a function gets it after the authorizer.
func unsignedToken(t testing.TB, claims any) string {
	t.Helper()
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(bodyText(t, claims))) + ".c2ln"
}

func bodyText(t testing.TB, body any) string {
	t.Helper()
	switch body := body.(type) {
	case nil:
		return ""
	case string:
		return body
	}
	text := check.Got(json.Marshal(body))(t)
	return string(text)
}

// expect sends a call and fails unless the response has the status.
func expect(t testing.TB, h http.Handler, status int, c call) reply {
	t.Helper()
	r := send(t, h, c)
	if r.status != status {
		t.Fatalf("%s %s: %d %s, want %d", c.method, c.path, r.status, r.body, status)
	}
	return r
}

// expectProblem sends a call and fails unless the response is a problem with the status, the code and the fields.
func expectProblem(t testing.TB, h http.Handler, status int, code, fields string, c call) problem {
	t.Helper()
	r := expect(t, h, status, c)
	check.Equal(t, "application/problem+json", r.header.Get("Content-Type"), "content type")
	var p problem
	r.decode(t, &p)
	if p.Code != code || p.Status != status || p.Title == "" || p.Detail == "" || p.Type == "" {
		t.Errorf("%s %s: problem %s, want code %s", c.method, c.path, r.body, code)
	}
	if id := r.header.Get("X-Request-Id"); id == "" || p.RequestID != id {
		t.Errorf("%s %s: the problem has the request id %q, and the header %q", c.method, c.path, p.RequestID, id)
	}
	if p.fields() != fields {
		t.Errorf("%s %s: fields %q of %s, want %q", c.method, c.path, p.fields(), r.body, fields)
	}
	return p
}

// newMessages returns a handler of the messages function with a new store.
func newMessages(t testing.TB) (http.Handler, *memory, *check.Log) {
	t.Helper()
	return newMessagesAt(t, noon)
}

// newMessagesAt is newMessages with another clock of the store.
func newMessagesAt(t testing.TB, now func() time.Time) (http.Handler, *memory, *check.Log) {
	t.Helper()
	b, log := base()
	store := newMemory(t, now)
	h := httpapi.Messages(httpapi.MessagesDeps{
		Base: b, Sessions: store, SessionRemover: store, Messages: store, MessageRemover: store, Tokens: fakeCounter{},
		LongTerm: store.records, Eraser: &fakeEraser{}, Cursors: cursorKey(t, "1"),
	})
	return h, store, log
}

// number returns a JSON number as decode reads it.
func number(s string) json.Number { return json.Number(s) }

// readAll reads a stream to its end.
func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	all := check.Got(io.ReadAll(r))(t)
	return string(all)
}
