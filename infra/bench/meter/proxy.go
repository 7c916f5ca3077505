package meter

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/capacity"
)

// Proxy is DynamoDB in front of an engine, for programs that make their own clients. It counts as a Meter does.
type Proxy struct {
	Table  capacity.Table
	Client *dynamodb.Client
	Engine http.Handler
	// Add is called with what each call took. It may be called concurrently.
	Add func(capacity.Units)
}

// ServeHTTP forwards a call and counts it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c := counter{p.Table, p.Client}
	units, _, err := c.count(r.Context(), operationOf(r), body, func(body []byte) []byte {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		copied := &CopyWriter{ResponseWriter: w}
		p.Engine.ServeHTTP(copied, r)
		return copied.Body.Bytes()
	})
	if err != nil { // the answer is sent, so only a log can say that the figures lack a call
		slog.ErrorContext(r.Context(), "a call was not counted", "operation", operationOf(r), "error", err)
	}
	p.Add(units)
}

func operationOf(r *http.Request) string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return operation
}

// CopyWriter keeps a copy of an answer's body.
type CopyWriter struct {
	http.ResponseWriter
	Body bytes.Buffer
}

// Write writes and keeps.
func (c *CopyWriter) Write(p []byte) (int, error) {
	c.Body.Write(p)
	return c.ResponseWriter.Write(p)
}

// Flush passes a piece of a stream on.
func (c *CopyWriter) Flush() {
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
