// Package client is a small client of the HTTP API for the replay, the demo, the benchmarks and the end-to-end tests.
// It uses the API as an app's backend does: JSON in and out, a bearer token, an event stream.
package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Client calls one stack as one user. It is safe for concurrent use.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// Problem is an error answer of the API (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Errors []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
	// RetryAfter is how long the answer asks to wait, 0 where it asks nothing.
	RetryAfter time.Duration `json:"-"`
}

// Error returns the status, the code and the details.
func (p *Problem) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d %s: %s", p.Status, p.Code, p.Detail)
	for _, e := range p.Errors {
		fmt.Fprintf(&text, " [%s: %s]", e.Field, e.Message)
	}
	return text.String()
}

// New returns a client, without a token, of the stack at a base address.
func New(base string) *Client {
	return &Client{
		base: strings.TrimRight(base, "/"),
		http: &http.Client{Timeout: 3 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

// As returns a client of the same stack for a user whose token the local issuer mints.
func (c *Client) As(ctx context.Context, user string, scopes ...string) (*Client, error) {
	body := map[string]any{"userId": user}
	if len(scopes) > 0 {
		body["scopes"] = scopes
	}
	var minted struct{ Token string }
	if err := c.Do(ctx, http.MethodPost, "/dev/tokens", body, &minted); err != nil {
		return nil, fmt.Errorf("mint token: %w", err)
	}
	return c.WithToken(minted.Token), nil
}

// WithToken returns a client of the same stack with that bearer token.
func (c *Client) WithToken(token string) *Client {
	clone := *c
	clone.token = token
	return &clone
}

// Header is one request header.
type Header struct{ Name, Value string }

// Key is the Idempotency-Key header.
func Key(value string) Header { return Header{"Idempotency-Key", value} }

// Do makes a request. It sends in as JSON unless in is nil, and decodes the answer into out unless out is nil. Its
// error is a *Problem if the status is 400 or above.
func (c *Client) Do(ctx context.Context, method, path string, in, out any, headers ...Header) error {
	response, err := c.send(ctx, method, path, in, headers)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		return fmt.Errorf("decode answer of %s %s: %w", method, path, err)
	}
	return nil
}

// Open opens a session with a coach in one of the app's contexts.
func (c *Client) Open(ctx context.Context, appContext, coach, session string, headers ...Header) error {
	body := map[string]any{"context": appContext, "coachId": coach, "sessionId": session}
	if err := c.Do(ctx, http.MethodPost, "/v1/sessions", body, nil, headers...); err != nil {
		return fmt.Errorf("open session %s: %w", session, err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, path string, in any, headers []Header) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode body: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	for _, h := range headers {
		request.Header.Set(h.Name, h.Value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		return nil, problem(response)
	}
	return response, nil
}

func problem(response *http.Response) error {
	p := &Problem{}
	_ = json.NewDecoder(response.Body).Decode(p) // a gateway answers without a problem
	p.Status, p.Code = response.StatusCode, cmp.Or(p.Code, "no problem document")
	p.Detail = cmp.Or(p.Detail, http.StatusText(p.Status))
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // 0 without one
	p.RetryAfter = time.Duration(seconds) * time.Second
	return p
}

// Event is one server-sent event.
type Event struct {
	Name string
	Data json.RawMessage
}

// Chat posts one turn and calls each for every event of the stream, in order. If each returns an error, Chat closes the
// connection and returns the error.
func (c *Client) Chat(ctx context.Context, in any, each func(Event) error, headers ...Header) error {
	response, err := c.send(ctx, http.MethodPost, "/v1/chat", in, headers)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	var event Event
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "event:"):
			event.Name = strings.TrimSpace(strings.TrimPrefix(line, "event:"))
		case strings.HasPrefix(line, "data:"):
			event.Data = json.RawMessage(strings.TrimSpace(strings.TrimPrefix(line, "data:")))
		case line == "" && event.Name != "":
			if err := each(event); err != nil {
				return err
			}
			event = Event{}
		}
	}
	return lines.Err()
}
