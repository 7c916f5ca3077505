package function_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/throughline/throughline/infra/local/offlinemodel"
)

// countingModel is the offline model. It counts what is paid for.
type countingModel struct {
	url string

	mu     sync.Mutex
	counts map[string]int
}

func newCountingModel(t *testing.T, calls *workers) *countingModel {
	t.Helper()
	m := &countingModel{counts: map[string]int{}}
	next := offlinemodel.Handler()
	server := httptest.NewServer(calls.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		m.count(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})))
	t.Cleanup(server.Close)
	m.url = server.URL + "/v1"
	return m
}

// count counts each text of a request for embeddings, and any other request as a whole.
func (m *countingModel) count(body []byte) {
	var embeddings struct{ Input []string }
	paid := []string{string(body)}
	if err := json.Unmarshal(body, &embeddings); err == nil && len(embeddings.Input) > 0 {
		paid = embeddings.Input
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range paid {
		m.counts[text]++
	}
}

// paid returns how often each text was embedded, and each other request made.
func (m *countingModel) paid() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.counts)
}
