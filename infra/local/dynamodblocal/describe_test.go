package dynamodblocal_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
)

// TestDescriptionsAreAnsweredAgain counts the requests that reach the engine.
func TestDescriptionsAreAnsweredAgain(t *testing.T) {
	t.Parallel()
	reached := map[string]int{}
	cached := dynamodblocal.CacheDescriptions(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
		reached[operation]++
		time.Sleep(20 * time.Millisecond) // an answer is used again for a hundred times as long
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
	if reached["DescribeTable"] != 2 || reached["Query"] != 3 {
		t.Errorf("the engine got %v, want each query, the failure and one description", reached)
	}
	call("DescribeTable", "b", "")
	call("UpdateTable", "a", "")
	call("DescribeTable", "a", "")
	if reached["DescribeTable"] != 4 {
		t.Errorf("the engine got %d descriptions, want one of another table and one after a change", reached["DescribeTable"])
	}
}
