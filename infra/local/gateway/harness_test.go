package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/infra/local/gateway"
	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
)

// harness is a gateway with a function that records its events, and with a function URL.
type harness struct {
	url     string
	issuer  *issuer.Issuer
	runtime *lambdaapi.Runtime
	events  []events.APIGatewayV2HTTPRequest
	answer  func() (any, error)
	stream  func(context.Context, *lambdaapi.URLRequest) (*lambdaapi.URLResponse, error)
	log     check.Log
}

// coach is the function of the function URL.
type coach struct{ *harness }

func (c coach) Stream(ctx context.Context, r *lambdaapi.URLRequest) (*lambdaapi.URLResponse, error) {
	return c.stream(ctx, r)
}

func start(t *testing.T, routes []template.Route) *harness {
	t.Helper()
	return startWithCORS(t, routes, nil)
}

// startWithCORS starts a gateway with a CORS configuration.
func startWithCORS(t *testing.T, routes []template.Route, cors *template.CORS) *harness {
	t.Helper()
	h := &harness{answer: func() (any, error) { return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil }}
	logger := slog.New(httpapi.LogHandler(slog.NewTextHandler(&h.log, nil)))
	runtime := lambdaapi.NewRuntime(logger)
	h.runtime = runtime
	runtime.Register("f", func(_ context.Context, e events.APIGatewayV2HTTPRequest) (any, error) {
		h.events = append(h.events, e)
		return h.answer()
	}, time.Minute)
	runtime.Register("coach", coach{h}, time.Minute)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	h.url = server.URL
	var err error
	if h.issuer, err = issuer.New(server.URL, ""); err != nil {
		t.Fatal(err)
	}
	verifier := check.Got(auth.New(t.Context(), auth.Config{Issuer: server.URL, Audiences: []string{issuer.Audience}}))(t)
	h.issuer.Register(mux)
	mux.Handle("/", gateway.New(gateway.Options{
		Functions: []template.Function{{PhysicalName: "f", Routes: routes}},
		URLPaths:  map[string]string{"/v1/chat": "coach", "/v1/chat/": "coach", "/v1/export": "coach"},
		CORS:      cors,
		Verifier:  verifier, Invoker: runtime, Logger: logger,
	}))
	t.Cleanup(func() {
		server.Close()
		if err := runtime.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

// response is a response whose body is closed when the test ends.
type response struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

func (h *harness) do(t *testing.T, method, path string, body io.Reader, headers http.Header) response {
	t.Helper()
	req := check.Got(http.NewRequestWithContext(t.Context(), method, h.url+path, body))(t)
	maps.Copy(req.Header, headers)
	resp := check.Got(http.DefaultClient.Do(req))(t)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return response{resp.StatusCode, resp.Header, resp.Body}
}

type problemBody struct {
	Type, Title, Detail, Code string
	Status                    int
}

func problemOf(t *testing.T, resp response) (p problemBody) {
	t.Helper()
	check.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"), "content type")
	check.OK(t, json.NewDecoder(resp.Body).Decode(&p))
	if p.Status != resp.StatusCode {
		t.Errorf("status %d in the body, %d in the answer", p.Status, resp.StatusCode)
	}
	return p
}
