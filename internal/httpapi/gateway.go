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
)

// answerReserve is what a handler leaves of the invocation's time for its answer to get out.
const answerReserve = 500 * time.Millisecond

// maxPlainAnswer is how large an answer leaves as it is. Lambda takes 6 MB of an answer, as a JSON text in a JSON text,
// and a page of 1 MiB can become more than that: a control character takes seven bytes there.
const maxPlainAnswer = 2 << 20

// GatewayHandler returns a Lambda handler that puts h behind an API Gateway HTTP API (payload format 2.0). The caller
// is who the API's JWT authorizer says; h's deadline is the invocation's, less a reserve for the answer. It never
// returns an error: whatever goes wrong is an HTTP answer.
func GatewayHandler(h http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if end, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, end.Add(-answerReserve))
			defer cancel()
		}
		w := &recorder{header: http.Header{}}
		r := requestOf(ctx, e)
		packed := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
		h.ServeHTTP(w, r)
		if r.Method == http.MethodHead {
			w.body.Reset()
		}
		if packed && w.body.Len() > maxPlainAnswer {
			w.pack()
		}
		return w.response(), nil
	}
}

// requestOf is the HTTP request that an event stands for. What is wrong with the event, the handler finds: a sub that
// names no user where the caller is asked for, a body that is not base64 where it is read.
func requestOf(ctx context.Context, e events.APIGatewayV2HTTPRequest) *http.Request {
	if a := e.RequestContext.Authorizer; a != nil && a.JWT != nil {
		ctx = withCaller(ctx, a.JWT.Claims)
	}
	var body io.Reader = strings.NewReader(e.Body)
	length := int64(len(e.Body))
	if e.IsBase64Encoded {
		body, length = base64.NewDecoder(base64.StdEncoding, body), -1
	}
	r := &http.Request{
		Method: e.RequestContext.HTTP.Method, URL: urlOf(e), Host: e.RequestContext.DomainName,
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
	return r.WithContext(ctx)
}

// urlOf is the path and query of an event. A named stage stands before the path. The path has lost its escapes: an HTTP
// API decodes it before it matches routes. So a slash in an id looks like one that divides; of all ids only a message's
// may hold one, the user's, and it ends its path.
func urlOf(e events.APIGatewayV2HTTPRequest) *url.URL {
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
	if id := messageIn(path); id != "" {
		u.RawPath = (&url.URL{Path: strings.TrimSuffix(path, id)}).EscapedPath() + url.PathEscape(id)
	}
	return u
}

// messageIn returns what stands where a path names a message, empty where it names none.
func messageIn(path string) string {
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

// recorder is a ResponseWriter that keeps the answer.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

// Header, WriteHeader and Write make it an http.ResponseWriter.
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

// pack compresses the body. Writing to memory does not fail.
func (w *recorder) pack() {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(w.body.Bytes())
	_ = z.Close()
	w.body = packed
	w.header.Set("Content-Encoding", "gzip")
	w.header.Add("Vary", "Accept-Encoding")
}

// response is the answer as API Gateway takes it: one value for each header, cookies apart, and text as text.
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
	if utf8.Valid(w.body.Bytes()) {
		out.Body = w.body.String()
		return out
	}
	out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	return out
}
