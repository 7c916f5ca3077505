package throughline_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	throughline "github.com/throughline/throughline/clients/go"
)

// answering answers every request with one body and status, and keeps the requests and their bodies.
func answering(status int, body string, asked *[]string) *http.Client {
	var mu sync.Mutex
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		sent, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		*asked = append(*asked, fmt.Sprintf("%s %s %s", r.Method, r.URL, sent))
		header := http.Header{"Retry-After": {"20"}}
		answer := &connection{r.Context(), strings.NewReader(body)}
		return &http.Response{StatusCode: status, Header: header, Body: answer}, err
	})}
}

// connection is a body that comes byte by byte until its request ends.
type connection struct {
	request context.Context
	body    io.Reader
}

func (c *connection) Read(p []byte) (int, error) {
	if err := c.request.Err(); err != nil {
		return 0, err
	}
	return c.body.Read(p[:1])
}

func (c *connection) Close() error { return nil }

func jwt(left time.Duration) string {
	payload := fmt.Sprintf(`{"exp":%d}`, time.Now().Add(left).Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".x"
}

// TestConfigIsChecked expects every call of a client to say what is wrong with its config.
func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]throughline.Config{
		`BaseURL is "": it has to be an address`:               {Token: "t"},
		`BaseURL is "localhost:8080": it has to be an address`: {BaseURL: "localhost:8080", Token: "t"},
		"BaseURL ends in /v1":                                  {BaseURL: "https://api/v1/", Token: "t"},
		`StreamURL is "coach": it has to be an address`:        {BaseURL: "https://api", StreamURL: "coach", Token: "t"},
		"there is neither a Token nor a TokenSource":           {BaseURL: "https://api"},
	} {
		if _, err := throughline.New(config).GetSeed(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestAttemptsAreLogged expects the log of each attempt, and a call's own headers and attempts.
func TestAttemptsAreLogged(t *testing.T) {
	t.Parallel()
	var logged []throughline.Attempted
	var traces []string
	client := throughline.New(throughline.Config{
		BaseURL: "http://api", Token: "t", Log: func(a throughline.Attempted) { logged = append(logged, a) },
		HTTP: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			traces = append(traces, r.Header.Get("X-Trace"))
			header := http.Header{"Retry-After": {"0"}, "X-Request-Id": {"r1"}}
			return &http.Response{StatusCode: 503, Header: header, Body: http.NoBody}, nil
		})},
	})
	_, err := client.GetSeed(t.Context(), throughline.Attempts(2), throughline.Header("X-Trace", "x"))
	want := "http://api/v1/seed answered without a problem document (request r1)"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if len(logged) != 2 || logged[1].Status != 503 || logged[1].RequestID != "r1" || fmt.Sprint(traces) != "[x x]" {
		t.Errorf("%+v %v", logged, traces)
	}
}

// TestTokenIsKept expects a token for all calls until 30 s before its end.
func TestTokenIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		got := 0
		client := throughline.New(throughline.Config{
			BaseURL: "http://api", HTTP: answering(200, `{"content":""}`, &asked),
			TokenSource: func(context.Context) (string, error) {
				time.Sleep(time.Second)
				got++
				return jwt(time.Minute), nil
			},
		})
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if _, err := client.GetSeed(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got != 1 {
			t.Errorf("three calls got %d tokens", got)
		}
		time.Sleep(31 * time.Second)
		if _, err := client.GetSeed(t.Context()); err != nil || got != 2 {
			t.Errorf("a call when the token is about to expire: %d tokens, %v", got, err)
		}
	})
}

// TestWaitEnds expects the app's cancellation, and a deadline before the end of the wait, to end a call.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		client := throughline.New(throughline.Config{BaseURL: "http://api", Token: "t", HTTP: answering(503, "", &asked)})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := client.GetSeed(ctx); !errors.Is(err, context.Canceled) || len(asked) != 1 {
			t.Errorf("cancelled: %v after %q", err, asked)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		var problem *throughline.ProblemError
		if _, err := client.GetSeed(ctx); !errors.As(err, &problem) || time.Since(start) > 0 {
			t.Errorf("a wait beyond the deadline: %v after %s", err, time.Since(start))
		}
	})
}

// TestStreams expects the address of streams, the end of the connection when the app stops, and no timeout while the
// app works on an event.
func TestStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		client := throughline.New(throughline.Config{
			BaseURL: "http://api/", StreamURL: "http://coach/", Token: "t", Attempts: 1,
			HTTP: answering(200, "{\"kind\":\"a\"}\n{\"kind\":\"end\"}\n", &asked),
		})
		for record, err := range client.Export(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if record.Kind == "a" {
				time.Sleep(time.Hour)
			}
		}
		for _, err := range client.Export(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		var lost *throughline.LostAnswerError
		if _, err := client.GetSeed(t.Context()); !errors.As(err, &lost) {
			t.Errorf("an answer that is no JSON: %v", err)
		}
		if asked[0] != "GET http://coach/v1/export " || asked[2] != "GET http://api/v1/seed " {
			t.Errorf("asked is %q", asked)
		}
	})
}

// TestNullable expects a field that is not given to be left out, and null to be sent.
func TestNullable(t *testing.T) {
	t.Parallel()
	var asked []string
	client := throughline.New(throughline.Config{BaseURL: "http://api", Token: "t", HTTP: answering(200, `{}`, &asked)})
	change := throughline.ChangedMemory{
		Pinned: throughline.Set(false), ValidUntil: throughline.Null[time.Time](), Content: throughline.Set("ü"),
	}
	if _, err := client.ChangeMemory(t.Context(), "m", change); err != nil {
		t.Fatal(err)
	}
	if want := `PATCH http://api/v1/memories/m {"content":"ü","pinned":false,"validUntil":null}`; asked[0] != want {
		t.Errorf("asked is %s, not %s", asked[0], want)
	}
	var read throughline.ChangedMemory
	if err := json.Unmarshal([]byte(`{"about":null}`), &read); err != nil || read.About.IsZero() || !read.Type.IsZero() {
		t.Errorf("read is %+v, %v", read, err)
	}
}

// TestModule expects a module without dependencies that has its licence and its changelog.
func TestModule(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "all").CombinedOutput()
	if got := strings.Fields(string(out)); err != nil || len(got) != 1 {
		t.Errorf("the module needs %q, %v", got, err)
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if text, err := os.ReadFile(name); err != nil || len(text) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
