package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/rig"
)

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

// model counts the calls that a function makes of a model service.
type model struct {
	*bench
	function string
	next     http.RoundTripper
}

// RoundTrip makes a call, reads the answer to its end, and counts both.
func (m model) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(request))
	response, err := m.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := meter.Whole(response)
	if err != nil {
		return nil, err
	}
	sent, in, reasoned := float64(len(request)), lastNumber(inputTokens, answer), lastNumber(reasoningTokens, answer)
	if path.Base(r.URL.Path) == "embeddings" {
		m.count(m.function, use{"sentBytes": sent, "embeddingCalls": 1, "embeddingTokens": in})
		return response, nil
	}
	u := use{
		"sentBytes": sent, "modelCalls": 1, "inputTokens": in, "outputTokens": lastNumber(outputTokens, answer) - reasoned,
		"cachedTokens": lastNumber(cachedTokens, answer),
	}
	if reasoned > 0 {
		u["reasoningCalls"] = 1
	}
	m.count(m.function, u)
	if form := formOf(request); form != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.calls.add(form, u)
	}
	return response, nil
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
