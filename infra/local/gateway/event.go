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
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

const (
	accountID  = "000000000000"
	timeFormat = "02/Jan/2006:15:04:05 -0700"
)

// event returns the request in payload format 2.0, of no route yet. Like an HTTP API, it decodes the path with its
// escaped slashes.
func (g *Gateway) event(r *http.Request) (*events.APIGatewayV2HTTPRequest, error) {
	body, encoded, err := readBody(r)
	if err != nil {
		return nil, err
	}
	now := g.opts.Now().UTC()
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

// encode writes an event as the service does, without escapes for HTML: its size has a limit.
func encode(event *events.APIGatewayV2HTTPRequest) ([]byte, error) {
	var payload bytes.Buffer
	encoder := json.NewEncoder(&payload)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(event)
	return payload.Bytes(), err
}

// readBody returns a text body as it is, and any other body as base64. Bytes that are not UTF-8 become base64 even if
// the type says text, so that the function can see and refuse them.
func readBody(r *http.Request) (body string, encoded bool, err error) {
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return "", false, fault.New(fault.TooLarge, "the request is too large")
	case err != nil:
		return "", false, fault.New(fault.NotJSON, "the body ended early")
	case len(raw) == 0 || isText(r.Header.Get("Content-Type")) && utf8.Valid(raw):
		return string(raw), false, nil
	}
	return base64.StdEncoding.EncodeToString(raw), true, nil
}

func isText(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	switch kind {
	case "application/json", "application/javascript", "application/xml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
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
	var out map[string]string
	for name, values := range r.URL.Query() {
		out = withEntry(out, name, strings.Join(values, ","))
	}
	return out
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// writeResponse writes what a function returned. Like the service, it writes JSON that has no statusCode as it is, with
// status 200.
func (g *Gateway) writeResponse(ctx context.Context, w http.ResponseWriter, out []byte) {
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
			g.opts.Logger.ErrorContext(ctx, "integration: the body is not base64", "error", err)
			httpapi.WriteProblem(w, fault.New(fault.Internal, "the function did not answer"))
			return
		}
	}
	writeHead(w, response.StatusCode, response.Headers, response.Cookies)
	_, _ = io.Copy(w, bytes.NewReader(body))
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
