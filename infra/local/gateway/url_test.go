package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestFunctionURLStreams(t *testing.T) {
	t.Parallel()
	h := start(t, []template.Route{{Method: "POST", Path: "/{proxy+}", Authorized: true}})
	pieces := make(chan string)
	h.stream = func(_ context.Context, in *lambdaapi.URLRequest) (*lambdaapi.URLResponse, error) {
		if in.RawPath != "/v1/chat" || in.RawQueryString != "a=1" || in.Body != "{}" || in.Headers["authorization"] != "x" ||
			in.RequestContext.HTTP.Method != "POST" {
			t.Errorf("request %+v", in)
		}
		reader, writer := io.Pipe()
		go func() {
			for piece := range pieces {
				_, _ = io.WriteString(writer, piece)
			}
			_ = writer.Close()
		}()
		return &lambdaapi.URLResponse{
			StatusCode: 201, Headers: map[string]string{"Content-Type": "text/event-stream"}, Body: reader,
		}, nil
	}
	resp := h.do(
		t, "POST", "/v1/chat?a=1", strings.NewReader("{}"),
		http.Header{"Content-Type": {"application/json"}, "Authorization": {"x"}},
	)
	if resp.StatusCode != 201 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d headers %v", resp.StatusCode, resp.Header)
	}
	lines := bufio.NewReader(resp.Body)
	for _, piece := range []string{"event: token\n", "event: done\n"} {
		pieces <- piece // each piece is sent only after the one before it was read
		if got, err := lines.ReadString('\n'); err != nil || got != piece {
			t.Fatalf("read %q, %v; want %q", got, err, piece)
		}
	}
	close(pieces)
	if _, err := lines.ReadByte(); err != io.EOF {
		t.Errorf("end of stream: %v", err)
	}
}

func TestClientGoneChangesNothingForTheFunction(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	begun, resume, finished := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	h.stream = func(ctx context.Context, _ *lambdaapi.URLRequest) (*lambdaapi.URLResponse, error) {
		reader, writer := io.Pipe()
		go func() {
			_, _ = io.WriteString(writer, "first")
			close(begun)
			<-resume
			for range 100 {
				if _, err := writer.Write(make([]byte, 64<<10)); err != nil {
					finished <- err
					return
				}
			}
			finished <- ctx.Err()
			_ = writer.Close()
		}()
		return &lambdaapi.URLResponse{Body: reader}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	req := check.Got(http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/v1/export", nil))(t)
	resp := check.Got(http.DefaultClient.Do(req))(t)
	<-begun
	cancel()
	_ = resp.Body.Close()
	close(resume)
	if err := <-finished; err != nil {
		t.Errorf("the function met %v after the client had gone", err)
	}
}

func TestFunctionURLThatFails(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.stream = func(context.Context, *lambdaapi.URLRequest) (*lambdaapi.URLResponse, error) {
		panic("secret detail")
	}
	p := problemOf(t, h.do(t, "POST", "/v1/chat", nil, nil))
	if p.Status != 500 || p.Code != "internal" || strings.Contains(p.Detail, "secret") {
		t.Errorf("problem %+v", p)
	}
}
