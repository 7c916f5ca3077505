package throughline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// call is one call with all its attempts.
type call struct {
	*deadline
	client  *Client
	p       *prepared
	token   string
	made    int
	lost    bool // An answer was lost, so the server may have done what was asked.
	renewed bool
}

func (c *Client) begin(ctx context.Context, p *prepared) *call {
	return &call{deadline: newDeadline(ctx, p.timeout), client: c, p: p}
}

// send makes attempts until one succeeds. All operations of the API can be repeated.
func (c *call) send(read func(status int, body io.ReadCloser) error) error {
	for {
		err := c.attempt(read)
		if err == nil {
			return nil
		}
		if c.renews(err) {
			continue
		}
		if err := c.next(err); err != nil {
			return err
		}
	}
}

// attempt sends one request. read has to close the body of the answer.
func (c *call) attempt(read func(status int, body io.ReadCloser) error) error {
	r, err := http.NewRequestWithContext(c.ctx, c.p.method, c.p.address(), bytes.NewReader(c.p.body))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	if c.token, err = c.client.tokens.get(c.ctx); err != nil {
		return fmt.Errorf("get a token: %w", err)
	}
	c.setHeaders(r.Header)
	begun := time.Now()
	answer, err := c.client.config.HTTP.Do(r)
	c.log(answer, time.Since(begun))
	if err != nil {
		return &LostAnswerError{Err: err}
	}
	if answer.StatusCode < http.StatusBadRequest {
		return read(answer.StatusCode, answer.Body)
	}
	defer answer.Body.Close()
	if c.lost && c.p.method == http.MethodDelete && answer.StatusCode == http.StatusNotFound {
		return nil // the attempt whose answer was lost has deleted it
	}
	return readProblem(answer, c.p.address())
}

// log tells the app's log of an attempt. The answer is nil where none came.
func (c *call) log(answer *http.Response, took time.Duration) {
	if c.client.config.Log == nil {
		return
	}
	made := Attempted{Method: c.p.method, URL: c.p.address(), Duration: took}
	if answer != nil {
		made.Status, made.RequestID = answer.StatusCode, answer.Header.Get("X-Request-Id")
	}
	c.client.config.Log(made)
}

func (p *prepared) address() string {
	if len(p.query) == 0 {
		return p.url
	}
	return p.url + "?" + p.query.Encode()
}

func (c *call) setHeaders(h http.Header) {
	maps.Copy(h, c.p.headers)
	h.Set("Authorization", "Bearer "+c.token)
	if c.p.body != nil {
		h.Set("Content-Type", "application/json")
	}
	if c.client.user != "" {
		h.Set("Throughline-User", strings.ReplaceAll(url.QueryEscape(c.client.user), "+", "%20"))
	}
	if c.p.key != "" {
		h.Set("Idempotency-Key", c.p.key)
	}
}

// renews reports whether the token was refused for the first time and another can be had.
func (c *call) renews(failure error) bool {
	var problem *ProblemError
	if c.renewed || !errors.As(failure, &problem) || problem.Status != http.StatusUnauthorized {
		return false
	}
	c.renewed = true
	return c.client.tokens.drop(c.token)
}

// renewDeadline begins the call's time again if a stream has stalled, and reports whether it has.
func (c *call) renewDeadline() bool {
	if c.outer.Err() != nil || !errors.Is(context.Cause(c.ctx), ErrTimeout) {
		return false
	}
	c.end()
	c.deadline = newDeadline(c.outer, c.p.timeout)
	return true
}

// next waits before the next attempt. It returns an error where no attempt is left.
func (c *call) next(failure error) error {
	if c.ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", c.p.method, c.p.url, context.Cause(c.ctx))
	}
	var problem *ProblemError
	var lost *LostAnswerError
	isProblem := errors.As(failure, &problem)
	if errors.As(failure, &lost) {
		c.lost = true
	} else if !isProblem || !problem.mayPass() {
		return failure
	}
	wait := time.Duration((0.5 + rand.Float64()/2) * float64(min(500*time.Millisecond<<c.made, 8*time.Second)))
	if isProblem && problem.RetryAfter != nil {
		wait = *problem.RetryAfter
	}
	// A conflict that may pass is the first request with this key, under way: only the timeout ends the wait.
	if !isProblem || problem.Status != http.StatusConflict {
		c.made++
	}
	if c.made >= c.p.attempts || !c.allows(wait) {
		return failure
	}
	return c.wait(wait)
}

// readJSON returns what decodes the answer of a status into the pointer for it.
func readJSON(answers map[int]any) func(int, io.ReadCloser) error {
	return func(status int, body io.ReadCloser) error {
		defer body.Close()
		text, err := io.ReadAll(body)
		if err != nil {
			return &LostAnswerError{Err: err}
		}
		into := answers[status]
		if into == nil || len(text) == 0 {
			return nil
		}
		err = json.Unmarshal(text, into)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return &LostAnswerError{Err: err} // cut where the connection's end was the answer's
		}
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		return nil
	}
}
