// Package devapi reads and writes the JSON bodies of what only the local stack serves.
package devapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/strictjson"
)

// maxBody is the largest body that Read accepts, in bytes.
const maxBody = 64 << 10

// Read decodes a JSON body into v, as strictly as the HTTP API does. An empty body leaves v unchanged. Its errors are
// faults for httpapi.WriteProblem.
func Read(r *http.Request, v any) error {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fault.Newf(fault.TooLarge, "a body has at most %d bytes", maxBody)
	}
	if err != nil {
		return fault.New(fault.NotJSON, "the body could not be read to its end")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if err := httpapi.CheckMediaType(r.Header); err != nil {
		return err
	}
	return strictjson.Unmarshal(body, v)
}

// Write answers 200 with a value.
func Write(w http.ResponseWriter, v any) {
	w.Header().Set("Cache-Control", "no-store")
	Answer(w, http.StatusOK, "application/json", v)
}

// Answer answers with a value in JSON, under the name that a service has for it.
func Answer(w http.ResponseWriter, status int, mediaType string, v any) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
}
