package faults

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"github.com/throughline/throughline/internal/delay"
)

// Failure is one of a service's own errors.
type Failure struct {
	Status int
	Header http.Header
	Body   string
}

// DynamoDBFailures are the answers of a broken and of a throttled DynamoDB, in turn.
func DynamoDBFailures() []Failure {
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"FAULT"}}
	return []Failure{
		{500, header, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}`},
		{400, header, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":` +
			`"The level of configured provisioned throughput for the table was exceeded. Consider increasing your ` +
			`provisioning level with the UpdateTable API."}`},
	}
}

// OpenAIFailures are the answers of a broken and of a throttled OpenAI, in turn. The service does not always say when
// to try again.
func OpenAIFailures() []Failure {
	plain := http.Header{"Content-Type": {"application/json"}}
	limited := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}}
	const tooMany = `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,` +
		`"code":"rate_limit_exceeded"}}`
	return []Failure{
		{500, plain, `{"error":{"message":"The server had an error while processing your request. Sorry about that!",` +
			`"type":"server_error","param":null,"code":null}}`},
		{429, limited, tooMany},
		{429, plain, tooMany},
	}
}

// EventBridgeFailures are the answers of a broken and of a throttled EventBridge, in turn.
func EventBridgeFailures() []Failure {
	header := http.Header{"Content-Type": {"application/x-amz-json-1.1"}}
	return []Failure{
		{500, header, `{"__type":"InternalException","message":"Internal error"}`},
		{400, header, `{"__type":"ThrottlingException","message":"Rate exceeded"}`},
	}
}

// Handler puts the injector in front of an HTTP service. A lost answer ends the connection without a byte of it.
func (i *Injector) Handler(service http.Handler, failures []Failure) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := i.decide()
		if delay.Sleep(r.Context(), d.latency) != nil {
			return // the client is gone
		}
		switch {
		case d.fail:
			failures[d.turn%len(failures)].write(w, r)
		case d.drop:
			service.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			service.ServeHTTP(w, r)
		}
	})
}

func (f Failure) write(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	maps.Copy(w.Header(), f.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Body)))
	w.WriteHeader(f.Status)
	_, _ = io.WriteString(w, f.Body)
}

// Proxy returns a handler that forwards requests to the service at a base URL and streams its answers back. It reads
// each request whole before it forwards it. The server closes a request's body once the answer begins; a transport
// that still reads the body then would drop the connection and the rest of the answer.
func Proxy(base string) (http.Handler, error) {
	target, err := url.Parse(base)
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("parse service address %q: it is no URL", base)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, _ error) {
			panic(http.ErrAbortHandler) // the service does not answer, so the client gets no answer either
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		proxy.ServeHTTP(w, r)
	}), nil
}
