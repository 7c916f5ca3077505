package unitbench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// meteredModel is a model service as one function sees it.
func meteredModel(t *tally, function, address string) (http.Handler, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("parse model address: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		Transport: &http.Transport{DisableCompression: true},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.ContentLength
		answer := &copyWriter{ResponseWriter: w}
		// The proxy panics where the function closes a stream before its end, as it may once it has the usage.
		defer func() {
			use := Use{SentBytes: float64(max(sent, 0))}
			in, out := lastNumber(inputTokens, answer.body.Bytes()), lastNumber(outputTokens, answer.body.Bytes())
			if path.Base(r.URL.Path) == "embeddings" {
				use.EmbeddingCalls, use.EmbeddingTokens = 1, in
			} else {
				use.ModelCalls, use.InputTokens, use.OutputTokens = 1, in, out
			}
			t.add(function, use)
		}()
		proxy.ServeHTTP(answer, r)
	}), nil
}

// copyWriter keeps a copy of an answer's body.
type copyWriter struct {
	http.ResponseWriter
	body bytes.Buffer
}

// Write writes and keeps.
func (c *copyWriter) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// Unwrap lets the proxy flush the pieces of a stream.
func (c *copyWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// floatBytes is the size of a dense value.
const floatBytes = 4

// meteredIndex counts the calls of the index that one function makes.
func meteredIndex(t *tally, function string, dimensions int) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		message, _ := request.(proto.Message)
		use := Use{SentBytes: float64(proto.Size(message))}
		switch path.Base(info.FullMethod) {
		case "Query":
			use.IndexQueries = 1
		case "Upsert":
			m := message.ProtoReflect()
			n := m.Get(m.Descriptor().Fields().ByName("vectors")).List().Len()
			use.IndexWrites, use.Vectors = 1, float64(n)
			use.VectorBytes = use.SentBytes - float64(n*dimensions*floatBytes)
		}
		t.add(function, use)
		return next(ctx, request)
	}
}
