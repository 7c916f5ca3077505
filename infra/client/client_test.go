package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestRefusalOfAGateway has what API Gateway and the firewall answer: no problem, or nothing.
func TestRefusalOfAGateway(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"message":"Unauthorized"}`, ""} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, body)
		}))
		err := client.New(server.URL).Do(t.Context(), http.MethodGet, "/v1/sessions", nil, nil)
		check.Equal(t, "401 no problem document: Unauthorized", fmt.Sprint(err), "the error of %q", body)
		server.Close()
	}
}
