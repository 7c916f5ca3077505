package throughline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrTimeout is the error of a call that took longer than its timeout. It is a context.DeadlineExceeded, too.
var ErrTimeout = fmt.Errorf("no answer within the call's timeout: %w", context.DeadlineExceeded)

// LostAnswerError is the error of an answer that was lost: no connection, or one that was cut before the answer's end.
type LostAnswerError struct{ Err error }

// Error says why the answer was lost.
func (e *LostAnswerError) Error() string { return "the answer was lost: " + e.Err.Error() }

// Unwrap returns the error of the connection.
func (e *LostAnswerError) Unwrap() error { return e.Err }

// ProblemError is an error answer of the API (RFC 9457). Where a gateway or a firewall answers without a problem, the
// code is that of the status.
type ProblemError struct {
	Problem
	// RetryAfter is how long the answer asks to wait, or nil.
	RetryAfter *time.Duration
}

// Error says what is wrong, with the fields of the input.
func (e *ProblemError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s: %s", e.Status, e.Code, e.Detail)
	for _, field := range e.Errors {
		fmt.Fprintf(&b, " [%s: %s]", field.Field, field.Message)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// mayPass reports whether the same call may succeed later.
func (e *ProblemError) mayPass() bool {
	return slices.Contains([]int{429, 500, 502, 503, 504}, e.Status) ||
		e.Status == http.StatusConflict && e.RetryAfter != nil
}

// codes are the codes of answers without a problem. The code of other statuses is internal.
var codes = map[int]string{
	400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
	413: "too_large", 429: "rate_limited", 502: "unavailable", 503: "unavailable", 504: "unavailable",
}

// readProblem returns the problem of the answer of an address, whose status is 400 or above.
func readProblem(answer *http.Response, address string) error {
	text, _ := io.ReadAll(answer.Body) // what is missing from a cut body is no problem document
	problem := &ProblemError{}
	if err := json.Unmarshal(text, &problem.Problem); err != nil {
		problem.Problem = Problem{} // a gateway answers without a problem
	}
	problem.Status = answer.StatusCode
	problem.Type = cmp.Or(problem.Type, "about:blank")
	problem.Title = cmp.Or(problem.Title, http.StatusText(answer.StatusCode))
	problem.Detail = cmp.Or(problem.Detail, address+" answered without a problem document")
	problem.RequestID = cmp.Or(problem.RequestID, answer.Header.Get("X-Request-Id"))
	problem.Code = cmp.Or(problem.Code, codes[answer.StatusCode], "internal")
	problem.RetryAfter = retryAfter(answer.Header.Get("Retry-After"))
	return problem
}

// retryAfter returns the wait of a Retry-After, which has seconds or a date, or nil.
func retryAfter(text string) *time.Duration {
	var wait time.Duration
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = max(0, time.Until(at))
	} else {
		return nil
	}
	return &wait
}
