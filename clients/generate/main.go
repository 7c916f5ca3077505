// Command generate writes what the clients take from the OpenAPI document: the list of operations, with a method for
// each. openapi-typescript writes the types of the client for TypeScript; see clients/typescript/tools/types.mjs.
//
//	go run ./clients/generate
package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/throughline/throughline/internal/httpapi"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the generated files below the root of the repository.
func run(root string) error {
	d, err := served()
	if err != nil {
		return err
	}
	for name, text := range files(d) {
		if err := os.WriteFile(filepath.Join(root, name), text, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// files returns the generated files by their names.
func files(d *document) map[string][]byte {
	return map[string][]byte{
		"clients/go/models.go":                         []byte(goModels(d)),
		"clients/go/operations.go":                     []byte(goOperations(d)),
		"clients/typescript/src/operations.ts":         []byte(typescript(d)),
		"clients/python/src/throughline/models.py":     []byte(pythonModels(d)),
		"clients/python/src/throughline/operations.py": []byte(pythonOperations(d)),
	}
}

// served returns the document that the code serves.
func served() (*document, error) {
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/openapi.json", http.NoBody)
	base := httpapi.Base{Log: slog.New(slog.DiscardHandler)}
	httpapi.Messages(httpapi.MessagesDeps{Base: base}).ServeHTTP(answer, request)
	return read(bytes.TrimSpace(answer.Body.Bytes()))
}
