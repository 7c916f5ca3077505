package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/fault"
)

const (
	accountID  = "000000000000"
	timeFormat = "02/Jan/2006:15:04:05 -0700"
)

// newEvent returns the request in payload format 2.0, of no route yet. Like an HTTP API, it decodes the path with its
// escaped slashes.
func newEvent(r *http.Request) (*events.APIGatewayV2HTTPRequest, error) {
	body, encoded, err := readBody(r)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	headers, cookies := eventHeaders(r)
	return &events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery, Cookies: cookies, Headers: headers,
		QueryStringParameters: query(r), Body: body, IsBase64Encoded: encoded,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			AccountID: accountID, Stage: "$default", RequestID: rand.Text()[:16], APIID: "local", DomainName: r.Host,
			DomainPrefix: "local", Time: now.Format(timeFormat), TimeEpoch: now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: sourceIP(r), UserAgent: r.UserAgent(),
			},
		},
	}, nil
}

// errTooLarge refuses what the service does not pass on.
var errTooLarge = fault.New(fault.TooLarge, "the request is too large")

// encode writes an event as the service does, without escapes for HTML: its size has a limit.
func encode(event *events.APIGatewayV2HTTPRequest) ([]byte, error) {
	var payload bytes.Buffer
	encoder := json.NewEncoder(&payload)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(event)
	if payload.Len() > maxEvent {
		err = errTooLarge
	}
	return payload.Bytes(), err
}

// readBody returns a text body as it is, and any other body as base64. Bytes that are not UTF-8 become base64 even if
// the type says text, so that the function can see and refuse them.
func readBody(r *http.Request) (body string, encoded bool, err error) {
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return "", false, errTooLarge
	case err != nil:
		return "", false, fault.New(fault.NotJSON, "the body ended early")
	case len(raw) == 0 || isText(r.Header.Get("Content-Type")) && utf8.Valid(raw):
		return string(raw), false, nil
	}
	return base64.StdEncoding.EncodeToString(raw), true, nil
}

func isText(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType) // empty where it is no type
	return kind == "application/json" || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json")
}

// eventHeaders returns the headers in lower case, with repeated ones joined by commas, and the cookies.
func eventHeaders(r *http.Request) (headers map[string]string, cookies []string) {
	headers = map[string]string{
		"host": r.Host, "x-forwarded-for": sourceIP(r), "x-forwarded-proto": "http",
		"x-amzn-trace-id": "Root=1-" + rand.Text()[:24],
	}
	for name, values := range r.Header {
		if name == "Cookie" {
			for _, line := range values {
				cookies = append(cookies, strings.Split(line, "; ")...)
			}
			continue
		}
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return headers, cookies
}

func query(r *http.Request) map[string]string {
	out := map[string]string{}
	for name, values := range r.URL.Query() {
		out[name] = strings.Join(values, ",")
	}
	return out
}

func sourceIP(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr) // the server's own address of a client
	return host
}

// writeResponse writes what a function returned. Like the service, it writes JSON that has no statusCode as it is, with
// status 200.
func (g *Gateway) writeResponse(ctx context.Context, w http.ResponseWriter, function string, out []byte) {
	var response events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(out, &response); err != nil || response.StatusCode == 0 {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out)
		return
	}
	body := []byte(response.Body)
	if response.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(response.Body); err != nil {
			g.writeFailure(ctx, w, function, err)
			return
		}
	}
	writeHead(w, response.StatusCode, response.Headers, response.Cookies)
	_, _ = w.Write(body)
}

func writeHead(w http.ResponseWriter, status int, headers map[string]string, cookies []string) {
	for name, value := range headers {
		if http.CanonicalHeaderKey(name) == "Vary" {
			w.Header().Add(name, value) // the gateway has set one too
			continue
		}
		w.Header().Set(name, value)
	}
	for _, cookie := range cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	w.WriteHeader(status)
}
