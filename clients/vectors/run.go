package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"
)

// exchange is one request of the client, as far as the vector says what it has to be, and its answer.
type exchange struct {
	Method, Path string
	// Query is nil where the vector says nothing of it.
	Query   map[string]string
	Headers map[string]string
	// Key says what the Idempotency-Key is: new, the same as in the exchange before, or none.
	Key string
	// AfterMs is the least time since the exchange before.
	AfterMs int64
	Body    any
	Answer  answer
}

// run is one client's run of a vector.
type run struct {
	vector vector

	mu     sync.Mutex
	taken  int
	key    string
	last   time.Time
	faults []string
}

// take compares a request with the next exchange of the vector.
func (p *run) take(r *http.Request) (*exchange, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == len(p.vector.Exchanges) {
		p.faults = append(p.faults, fmt.Sprintf("one request too many: %s %s", r.Method, r.URL))
		return nil, errors.New("the vector is at its end")
	}
	e := &p.vector.Exchanges[p.taken]
	p.taken++
	for _, fault := range p.compare(e, r, body) {
		p.faults = append(p.faults, fmt.Sprintf("request %d: %s", p.taken, fault))
	}
	p.last, p.key = time.Now(), r.Header.Get("Idempotency-Key")
	return e, nil
}

// compare returns what is not as the exchange says.
func (p *run) compare(e *exchange, r *http.Request, body []byte) []string {
	var faults []string
	expect := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			faults = append(faults, fmt.Sprintf("%s is %v, not %v", what, got, want))
		}
	}
	expect("the method", r.Method, e.Method)
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/play/"), "/")
	expect("the path", "/"+rest, e.Path)
	if e.Query != nil {
		query := map[string]string{}
		for name := range maps.Keys(r.URL.Query()) {
			query[name] = r.URL.Query().Get(name)
		}
		expect("the query", query, e.Query)
	}
	expect("the client's name in User-Agent", strings.HasPrefix(r.UserAgent(), "throughline-"), true)
	for name, value := range e.Headers {
		expect(name, r.Header.Get(name), value)
	}
	switch key := r.Header.Get("Idempotency-Key"); e.Key {
	case "new":
		expect("the presence of a key", len(key) >= 16, true)
	case "same":
		expect("the key", key, p.key)
	case "none":
		expect("the key", key, "")
	}
	if waited := time.Since(p.last); e.AfterMs > 0 && waited < time.Duration(e.AfterMs)*time.Millisecond {
		faults = append(faults, fmt.Sprintf("it came after %s, not %d ms", waited, e.AfterMs))
	}
	if e.Body != nil {
		var sent any
		expect("the error of reading the body", json.Unmarshal(body, &sent), error(nil))
		expect("the body", sent, e.Body)
	}
	return faults
}

func (p *run) verdict() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	faults := append([]string{}, p.faults...)
	if p.taken < len(p.vector.Exchanges) {
		faults = append(faults, fmt.Sprintf("%d of %d requests were sent", p.taken, len(p.vector.Exchanges)))
	}
	return faults
}
