package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
)

// TestWorstInputsDelayNobody has one user send the six worst documents known at once, while another one reads. The
// median of the reads is at most twice that of the same reads alone. Both are taken in one run, and again where the
// machine was busy with something else.
func TestWorstInputsDelayNobody(t *testing.T) {
	worst := map[string]any{}
	for i := range 5 { // 80 KB, whose text repeats a name of 10,000 characters with each item
		worst[fmt.Sprint("k", i, strings.Repeat("x", 10_000))] = slices.Repeat([]any{1}, 8000)
	}
	var measured []string
	for try := range 6 {
		hostile, other := newUser(t), newUser(t)
		open(t, other, "coach_conversation", "s")
		median(t, other, 20) // the connections
		alone := median(t, other, 100)
		var puts sync.WaitGroup
		for i := range 6 {
			puts.Go(func() {
				path := fmt.Sprintf("/v1/documents/worst/%d-%d", try, i)
				if err := hostile.Do(t.Context(), http.MethodPut, path, map[string]any{"value": worst}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		beside := median(t, other, 100)
		puts.Wait()
		if beside <= 2*alone {
			return
		}
		measured = append(measured, fmt.Sprint(alone, " and ", beside))
		settle(t)
	}
	t.Errorf("reads alone and beside six of the worst documents: %s", strings.Join(measured, ", "))
}

// median is the median of the times of n reads of a session.
func median(t *testing.T, api *client.Client, n int) time.Duration {
	t.Helper()
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		do(t, api, http.MethodGet, "/v1/sessions/s", nil, &struct{}{})
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	return times[n/2]
}
