package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"regexp"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/throughline/throughline/infra/bench/rig"
)

// countCall adds to the use of the background's calls of the model.
func (b *bench) countCall(form string, u use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls[form] == nil {
		b.calls[form] = use{}
	}
	b.calls[form].add(u)
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// The usage in an answer of the models. The two interfaces and the embeddings have names of their own for it. Of a
// stream the last one counts.
var (
	// The service counts reasoning in the output, and the forecast assumes its own number for it.
	reasoningTokens = regexp.MustCompile(`"reasoning_tokens":\s*(\d+)`)
	cachedTokens    = regexp.MustCompile(`"cached_tokens":\s*(\d+)`)
	inputTokens     = regexp.MustCompile(`"(?:prompt_tokens|input_tokens)":\s*(\d+)`)
	outputTokens    = regexp.MustCompile(`"(?:completion_tokens|output_tokens)":\s*(\d+)`)
)

func lastNumber(pattern *regexp.Regexp, text []byte) (n float64) {
	for _, found := range pattern.FindAllSubmatch(text, -1) {
		n, _ = strconv.ParseFloat(string(found[1]), 64) // the pattern has digits only
	}
	return n
}

// model is a model service as a function sees it.
func (b *bench) model(function string, target *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		Transport: &http.Transport{DisableCompression: true},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the function is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(request))
		sent, answer := float64(len(request)), &copyWriter{ResponseWriter: w}
		// The proxy panics where the function closes a stream before its end, as it may once it has the usage.
		defer func() {
			in, out := lastNumber(inputTokens, answer.body.Bytes()), lastNumber(outputTokens, answer.body.Bytes())
			cached := lastNumber(cachedTokens, answer.body.Bytes())
			reasoned := lastNumber(reasoningTokens, answer.body.Bytes())
			u := use{
				"sentBytes": sent, "modelCalls": 1, "inputTokens": in, "outputTokens": out - reasoned, "cachedTokens": cached,
			}
			if reasoned > 0 {
				u["reasoningCalls"] = 1
			}
			if form := formOf(request); form != "" {
				b.countCall(form, u)
			}
			if path.Base(r.URL.Path) == "embeddings" {
				u = use{"sentBytes": sent, "embeddingCalls": 1, "embeddingTokens": in}
			}
			b.count(function, u)
		}()
		proxy.ServeHTTP(answer, r)
	})
}

// formOf returns the name of the form of answer that a request asks for, with the tier where it is flex. It is empty
// for the chat, which asks for none.
func formOf(request []byte) string {
	var asked struct {
		Tier string `json:"service_tier"`
		Text struct {
			Format struct{ Name string }
		}
	}
	_ = json.Unmarshal(request, &asked) // what is no JSON asks for no form
	if asked.Tier == "" {
		return asked.Text.Format.Name
	}
	return asked.Text.Format.Name + "/" + asked.Tier
}

// copyWriter keeps a copy of an answer's body.
type copyWriter struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (c *copyWriter) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// Unwrap lets the proxy flush the pieces of a stream.
func (c *copyWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// index counts the calls of the index that a function makes.
func (b *bench) index(function string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		message, _ := request.(proto.Message)
		u := use{"sentBytes": float64(proto.Size(message))}
		switch path.Base(info.FullMethod) {
		case "Query":
			u["indexQueries"] = 1
		case "Upsert":
			const floatBytes = 4 // of a dense value
			m := message.ProtoReflect()
			n := float64(m.Get(m.Descriptor().Fields().ByName("vectors")).List().Len())
			u["indexWrites"], u["vectors"], u["vectorBytes"] = 1, n, u["sentBytes"]-n*rig.Dimensions*floatBytes
		}
		b.count(function, u)
		return next(ctx, request)
	}
}
