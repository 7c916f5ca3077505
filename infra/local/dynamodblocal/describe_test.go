package dynamodblocal_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
)

// TestDescriptionsAreAnsweredAgain counts the requests that reach an engine, which is slow or quick.
func TestDescriptionsAreAnsweredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { checkDescriptions(t, 2*time.Second, 2, 4) })
	synctest.Test(t, func(t *testing.T) { checkDescriptions(t, 5*time.Millisecond, 4, 6) })
}

// checkDescriptions fails unless so many descriptions reach an engine that takes a time for each, after the same table
// is described four times, and then after another one is and a table is changed.
func checkDescriptions(t *testing.T, took time.Duration, same, all int) {
	t.Helper()
	reached := map[string]int{}
	cached := dynamodblocal.CacheDescriptions(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
		reached[operation]++
		time.Sleep(took)
		if operation == "DescribeTable" && r.Header.Get("Fail") != "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write([]byte(operation))
	}))
	call := func(operation, body, fail string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		r.Header.Set("Fail", fail)
		w := httptest.NewRecorder()
		cached.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if status, _ := call("DescribeTable", "a", "yes"); status != http.StatusInternalServerError {
		t.Errorf("a failure is answered with %d", status)
	}
	for range 3 {
		if status, body := call("DescribeTable", "a", ""); status != http.StatusOK || body != "DescribeTable" {
			t.Errorf("the answer is %d %q", status, body)
		}
		call("Query", "a", "")
	}
	if reached["DescribeTable"] != same || reached["Query"] != 3 {
		t.Errorf("the engine got %v, want %d descriptions and each query", reached, same)
	}
	call("DescribeTable", "b", "")
	call("UpdateTable", "a", "")
	call("DescribeTable", "a", "")
	if reached["DescribeTable"] != all {
		t.Errorf("the engine got %d descriptions, want %d", reached["DescribeTable"], all)
	}
}
