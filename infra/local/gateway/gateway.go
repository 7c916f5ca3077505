// Package gateway is the local stack's door for browsers and apps: an API Gateway HTTP API (JWT authorizer, routes of
// template.yaml, payload format 2.0) and, on the paths of the coach, a Lambda function URL that streams.
package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/problem"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

// The service's limits: of a request's body, of the event that a function takes, and of the time it may take.
const (
	maxBody            = 10 << 20
	maxEvent           = 6 << 20
	integrationTimeout = 30 * time.Second
)

// errStopping is the answer for a function that a stop of the stack cut off: it is there again when the stack is.
var errStopping = fault.New(fault.Unavailable, "the local stack is stopping")

// Invoker calls functions: with an event for the HTTP API, and streaming for a function URL.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) ([]byte, error)
	Stream(function string, request *events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error)
}

// Options say what the gateway serves.
type Options struct {
	// Functions are the deployed functions; their routes are the API's.
	Functions []template.Function
	// URLPaths are paths that go to a function's URL, by the function's physical name.
	URLPaths map[string]string
	// CORS is for the API's routes alone; a function URL's function answers browsers itself.
	CORS     *template.CORS
	Verifier Verifier
	Invoker  Invoker
	Logger   *slog.Logger
	Now      func() time.Time
}

// Gateway is an http.Handler; safe for concurrent use.
type Gateway struct {
	api      http.Handler
	routes   []route
	urlPaths map[string]string
	verifier Verifier
	invoker  Invoker
	logger   *slog.Logger
	now      func() time.Time
}

// New returns a gateway.
func New(opts Options) *Gateway {
	g := &Gateway{
		urlPaths: opts.URLPaths, verifier: opts.Verifier, invoker: opts.Invoker, logger: opts.Logger, now: opts.Now,
	}
	for _, f := range opts.Functions {
		for _, r := range f.Routes {
			g.routes = append(g.routes, newRoute(r, f.PhysicalName))
		}
	}
	g.api = CORS(opts.CORS, http.HandlerFunc(g.serveAPI))
	return g
}

// Identify gives a request its id, the client's or one of its own: in the answer, in the context for log lines, and in
// the request, so that the function behind takes the same.
func Identify(w http.ResponseWriter, r *http.Request) *http.Request {
	id := r.Header.Get(httpapi.RequestIDHeader)
	if !httpapi.ValidRequestID(id) {
		id = "req_" + rand.Text()
	}
	w.Header().Set(httpapi.RequestIDHeader, id)
	r = r.Clone(httpapi.WithRequestID(r.Context(), id))
	r.Header.Set(httpapi.RequestIDHeader, id)
	return r
}

// ServeHTTP answers one request. Errors of the gateway itself are problem+json too, and carry the request's id.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = Identify(w, r)
	if function, ok := g.urlPaths[r.URL.Path]; ok {
		g.serveURL(w, r, function)
		return
	}
	g.api.ServeHTTP(w, r)
}

// serveAPI is the HTTP API: it finds the route, checks the token where the route needs one, and calls the function.
func (g *Gateway) serveAPI(w http.ResponseWriter, r *http.Request) {
	route, parameters, ok := match(g.routes, r.Method, r.URL.Path)
	if !ok {
		problem.Write(w, fault.New(fault.NotFound, "no such route"))
		return
	}
	var authorizer *events.APIGatewayV2HTTPRequestContextAuthorizerDescription
	if route.Authorized {
		var err error
		if authorizer, err = g.authorize(r); err != nil {
			refuse(w, err)
			return
		}
	}
	event, err := g.event(r, route, parameters)
	if err != nil {
		problem.Write(w, err)
		return
	}
	event.RequestContext.Authorizer = authorizer
	g.integrate(w, r, route.function, event)
}

// integrate calls the function and answers what it answers.
func (g *Gateway) integrate(w http.ResponseWriter, r *http.Request, function string, event *events.APIGatewayV2HTTPRequest) {
	var payload bytes.Buffer
	encoder := json.NewEncoder(&payload)
	encoder.SetEscapeHTML(false) // the service escapes no more than it must, and the event's size has a limit
	if err := encoder.Encode(event); err != nil {
		problem.Write(w, err)
		return
	}
	if payload.Len() > maxEvent {
		problem.Write(w, fault.New(fault.TooLarge, "the request is too large"))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), integrationTimeout)
	defer cancel()
	out, err := g.invoker.Invoke(ctx, function, payload.Bytes())
	switch {
	case r.Context().Err() != nil: // nobody is there to answer; the function goes on
	case errors.Is(err, context.DeadlineExceeded):
		problem.Write(w, fault.New(fault.Unavailable, "the function took too long"))
	case errors.Is(err, lambdaapi.ErrStopping):
		problem.Write(w, errStopping)
	case err != nil:
		g.logger.ErrorContext(ctx, "integration", "function", function, "error", err)
		problem.Write(w, fault.New(fault.Internal, "the function did not answer"))
	default:
		g.answer(ctx, w, out)
	}
}
