package stack_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestTakenPortNamesAnother(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	port := l.Addr().(*net.TCPAddr).Port
	for _, variable := range []string{"PORT", "LAMBDA_PORT", "DYNAMODB_PORT"} {
		cfg := (&fixture{}).parse(t, map[string]string{"PORT": "0", variable: fmt.Sprint(port)})
		_, err = stack.Start(t.Context(), cfg)
		want := fmt.Sprintf("port %d is taken: stop what uses it, or %s=%d make run", port, variable, port+1)
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func stopEndsStreams(t *testing.T, f *fixture) {
	begun := make(chan struct{})
	f.chat = func(ctx context.Context) io.Reader {
		reader, writer := io.Pipe()
		go func() {
			_, _ = io.WriteString(writer, "event: prompt\n")
			close(begun)
			<-ctx.Done()
			_ = writer.Close()
		}()
		return reader
	}
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.stack.URL()+"/v1/chat", http.NoBody)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	<-begun
	endpoint, began := f.stack.Info().DynamoDBEndpoint, time.Now()
	if err := f.stack.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
	for _, url := range []string{f.stack.URL(), endpoint, f.stack.Info().PineconeHost, f.stack.Info().OpenAIBaseURL} {
		if answers(t, url) {
			t.Errorf("%s still answers", url)
		}
	}
}

// TestStopDoesNotWaitForABusyFunction stops a stack whose function does not look at its context, as the coach does not
// while it generates an answer. The stop is clean all the same, and the client gets an error.
func TestStopDoesNotWaitForABusyFunction(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	begun, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	f.chat = func(context.Context) io.Reader {
		close(begun)
		<-release
		return strings.NewReader("event: done\n")
	}
	status := make(chan int, 1)
	go func() { status <- f.call(t, http.MethodPost, "/v1/chat", "", nil) }()
	<-begun
	began := time.Now()
	if err := f.stack.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
	check.Equal(t, http.StatusServiceUnavailable, <-status, "the client got")
}

func waitEndsWithItsContext(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.stack.Wait(ctx); err != nil {
		t.Errorf("wait: %v", err)
	}
}

func engineThatDiesEndsWait(t *testing.T, f *fixture, folder string) {
	t.Helper()
	kill(t, folder)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := f.stack.Wait(ctx); err == nil || !strings.Contains(err.Error(), "DynamoDB Local") {
		t.Errorf("wait: %v, want the engine's end", err)
	}
	check.Equal(t, http.StatusServiceUnavailable, f.call(t, http.MethodGet, "/healthz", "", nil),
		"health without the engine")
}

// kill ends the child of this process whose data is in the folder.
func kill(t *testing.T, folder string) {
	t.Helper()
	lists := check.Got(filepath.Glob("/proc/self/task/*/children"))(t)
	for _, list := range lists {
		children, _ := os.ReadFile(list) // the thread may have ended
		for child := range strings.FieldsSeq(string(children)) {
			command, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if !strings.Contains(string(command), folder) {
				continue
			}
			pid := check.Got(strconv.Atoi(child))(t)
			check.OK(t, syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	t.Fatal("no engine found")
}
