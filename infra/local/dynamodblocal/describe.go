package dynamodblocal

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// CacheDescriptions passes requests on to an engine and answers DescribeTable from an earlier answer. DynamoDB counts
// the items of a table and of its indexes about every six hours. The engine counts them in each DescribeTable and reads
// all of them for it, which takes seconds for a large table, and it does nothing else meanwhile. So an answer for which
// the engine took half a second or more is used again for a hundred times as long, or until a table is changed.
func CacheDescriptions(engine http.Handler) http.Handler {
	return &descriptions{engine: engine, answers: map[string]*description{}}
}

const (
	// slow is how long the engine takes at least for an answer that is used again.
	slow = 500 * time.Millisecond
	// reuse is for how many times as long as the engine took an answer is used again.
	reuse = 100
)

type descriptions struct {
	engine http.Handler

	mu      sync.Mutex
	answers map[string]*description // by the request's body
}

// description is an answer to DescribeTable.
type description struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *descriptions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "DescribeTable":
		d.describe(w, r)
	case "CreateTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive":
		d.engine.ServeHTTP(w, r)
		d.forget()
	default:
		d.engine.ServeHTTP(w, r)
	}
}

func (d *descriptions) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.answers)
}

// describe asks the engine once for all callers, and to the end: a caller that has gone away comes back for the answer.
func (d *descriptions) describe(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := d.answers[string(body)]
	if answer == nil || time.Now().After(answer.until) {
		began := time.Now()
		answer = &description{ResponseRecorder: httptest.NewRecorder()}
		r = r.Clone(context.WithoutCancel(r.Context()))
		r.Body = io.NopCloser(bytes.NewReader(body))
		d.engine.ServeHTTP(answer, r)
		took := time.Since(began)
		answer.until = time.Now().Add(reuse * took)
		if answer.Code == http.StatusOK && took >= slow {
			d.answers[string(body)] = answer
		}
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // a caller that is gone needs no answer
}
