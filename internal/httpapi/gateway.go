package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/fault"
)

// answerReserve is the part of the invocation's time that is left for sending the response.
const answerReserve = 500 * time.Millisecond

// Lambda limits a response to 6 MiB, after encoding it as a JSON string. There a quote takes four bytes. A response
// above maxPlainResponse is therefore base64, and compressed where the client takes that. maxResponse is the largest
// that fits then, and maxFound how much of it the found items may have, all in bytes.
const (
	maxPlainResponse = 2 << 20
	maxResponse      = 4_400_000
	maxFound         = 4 << 20
)

// GatewayHandler returns a Lambda handler that puts h behind an API Gateway HTTP API (payload format 2.0). The caller
// comes from the token that the API's JWT authorizer has checked. The deadline of h is a little before the end of the
// invocation. The handler never returns an error: every failure is an HTTP response.
func GatewayHandler(
	h http.Handler,
) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if end, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, end.Add(-answerReserve))
			defer cancel()
		}
		w := &recorder{header: http.Header{}}
		r := newRequest(ctx, e)
		acceptsGzip := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
		h.ServeHTTP(w, r)
		if r.Method == http.MethodHead {
			w.body.Reset()
		}
		if acceptsGzip && w.body.Len() > maxPlainResponse {
			w.compress()
		}
		if w.body.Len() > maxResponse {
			w = &recorder{header: http.Header{RequestIDHeader: w.header[RequestIDHeader]}}
			WriteProblem(w, errLargeAnswer)
		}
		return w.response(), nil
	}
}

var errLargeAnswer = fault.Newf(fault.TooLarge,
	"the answer has more than %d bytes: ask for less, by a smaller limit or budget", maxResponse)

// newRequest returns the HTTP request of an event. It does not check the event: callerOf reports a token that is not
// good, and reading the body reports bad base64.
func newRequest(ctx context.Context, e events.APIGatewayV2HTTPRequest) *http.Request {
	var body io.Reader = strings.NewReader(e.Body)
	length := int64(len(e.Body))
	if e.IsBase64Encoded {
		body, length = base64.NewDecoder(base64.StdEncoding, body), -1
	}
	r := &http.Request{
		Method: e.RequestContext.HTTP.Method, URL: requestURL(e), Host: e.RequestContext.DomainName,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header, len(e.Headers)),
		Body: io.NopCloser(body), ContentLength: length, RemoteAddr: e.RequestContext.HTTP.SourceIP,
	}
	r.RequestURI = r.URL.RequestURI()
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	if a := e.RequestContext.Authorizer; a != nil && a.JWT != nil {
		caller, err := checkedCaller(r, a.JWT.Claims["sub"])
		ctx = withCaller(ctx, caller, err)
	}
	return r.WithContext(ctx)
}

// requestURL returns the path and query of an event. The path begins with the stage if the stage has a name. An HTTP
// API decodes the path before it matches routes, so a slash inside an id looks like a separator. Message ids may
// contain slashes, because they contain the user's id, and a message id is the end of its path. The namespace of a
// document has slashes between its labels, and its key, the end of the path, has none.
func requestURL(e events.APIGatewayV2HTTPRequest) *url.URL {
	path := e.RawPath
	if stage := e.RequestContext.Stage; stage != "" && stage != "$default" {
		if rest, ok := strings.CutPrefix(path, "/"+stage); ok && (rest == "" || rest[0] == '/') {
			path = rest
		}
	}
	if path == "" {
		path = "/"
	}
	u := &url.URL{Path: path, RawQuery: e.RawQueryString}
	if id := messageIDIn(path); id != "" {
		u.RawPath = (&url.URL{Path: strings.TrimSuffix(path, id)}).EscapedPath() + url.PathEscape(id)
	}
	if place, ok := strings.CutPrefix(path, documentsPath); ok && strings.Contains(place, "/") {
		end := strings.LastIndexByte(place, '/')
		u.RawPath = documentsPath + url.PathEscape(place[:end]) + "/" + url.PathEscape(place[end+1:])
	}
	return u
}

const documentsPath = "/v1/documents/"

// messageIDIn returns the message id of a decoded path, or "" if the path has none.
func messageIDIn(path string) string {
	rest, ok := strings.CutPrefix(path, "/v1/sessions/")
	if !ok {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "/")
	id, _ := strings.CutPrefix(rest, "messages/")
	if id == rest {
		return ""
	}
	return id
}

// recorder is a ResponseWriter that keeps the response in memory.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// compress compresses the body. Writing to memory does not fail.
func (w *recorder) compress() {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, _ = z.Write(w.body.Bytes())
	_ = z.Close()
	w.body = compressed
	w.header.Set("Content-Encoding", "gzip")
	w.header.Add("Vary", "Accept-Encoding")
}

// response returns the response as API Gateway takes it: one value for each header, separate cookies, and a body that
// is base64 unless it is UTF-8 and small.
func (w *recorder) response() events.APIGatewayV2HTTPResponse {
	w.WriteHeader(http.StatusOK)
	out := events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: make(map[string]string, len(w.header))}
	for name, values := range w.header {
		if name == "Set-Cookie" {
			out.Cookies = values
			continue
		}
		out.Headers[name] = strings.Join(values, ",")
	}
	if w.body.Len() <= maxPlainResponse && utf8.Valid(w.body.Bytes()) {
		out.Body = w.body.String()
		return out
	}
	out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	return out
}
