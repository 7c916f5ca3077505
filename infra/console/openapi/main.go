// Command openapi prints the OpenAPI document of the HTTP API, from which the console's types are generated.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/throughline/throughline/internal/httpapi"
)

func main() {
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/openapi.json", http.NoBody)
	base := httpapi.Base{Log: slog.New(slog.DiscardHandler)}
	httpapi.Messages(httpapi.MessagesDeps{Base: base}).ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		fmt.Fprintln(os.Stderr, "openapi: the API answered", answer.Code)
		os.Exit(1)
	}
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}
