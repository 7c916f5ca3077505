package dynamodbtest

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
)

func TestEachDatabaseIsGivenOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(assign(&dynamodblocal.Server{}))
	defer server.Close()
	given := map[string]bool{}
	for range maxProcesses {
		endpoint, err := takeDatabase(t.Context(), server.URL)
		if err != nil || given[endpoint] {
			t.Fatalf("%q is given, %v, after %v", endpoint, err, given)
		}
		given[endpoint] = true
	}
	_, err := takeDatabase(t.Context(), server.URL)
	if err == nil || !strings.Contains(err.Error(), "no database is left") {
		t.Errorf("the error is %v", err)
	}
}
