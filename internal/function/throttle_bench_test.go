package function_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkReadsBesideFaults reads beside a table that fails one of five requests, after an outage of 1,000 requests.
// It prints the share of the reads that were refused, and how many requests a read took (docs/adr/0063).
func BenchmarkReadsBesideFaults(b *testing.B) {
	const readers = 16
	for name, fail := range map[string]func(w http.ResponseWriter){
		"throttles": func(w http.ResponseWriter) {
			w.Header().Set("X-Amzn-ErrorType", "ThrottlingException")
			w.WriteHeader(http.StatusBadRequest)
		},
		"errors": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		b.Run(name, func(b *testing.B) {
			var requests, refused atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n := requests.Add(1); n <= 1000 || n%5 == 0 {
					fail(w)
					return
				}
				answer(w, oneItem)
			}))
			defer server.Close()
			client := tableAt(server.URL)
			for requests.Load() < 1000 { // the outage
				_, _ = ask(b.Context(), client)
			}
			outage := requests.Load()
			b.ResetTimer()
			var group sync.WaitGroup
			var begun atomic.Int64
			for range readers {
				group.Go(func() {
					for begun.Add(1) <= int64(b.N) {
						if _, err := ask(b.Context(), client); err != nil {
							refused.Add(1)
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(100*float64(refused.Load())/float64(b.N), "refused-%")
			b.ReportMetric(float64(requests.Load()-outage)/float64(b.N), "requests/read")
		})
	}
}
