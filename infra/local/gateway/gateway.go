// Package gateway is the local stack's API Gateway: an HTTP API with a JWT authorizer, the routes of template.yaml and
// payload format 2.0. On the paths of the coach it is a Lambda function URL that streams.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

// The service's limits: the size of a request's body, the size of a function's event, and the time of a function.
const (
	maxBody            = 10 << 20
	maxEvent           = 6 << 20
	integrationTimeout = 30 * time.Second
)

// Invoker calls functions: with an event for the HTTP API, and streaming for a function URL.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) ([]byte, error)
	Stream(function string, payload []byte) (*events.LambdaFunctionURLStreamingResponse, error)
}

// Options configure a gateway.
type Options struct {
	// Functions are the deployed functions with their routes.
	Functions []template.Function
	// URLPaths are the physical names of functions with a function URL, by path. A path that ends in a slash matches
	// all that begin with it.
	URLPaths map[string]string
	// CORS applies to the API's routes only. The function of a function URL handles CORS itself.
	CORS     *template.CORS
	Verifier httpapi.Verifier
	Invoker  Invoker
	Logger   *slog.Logger
}

// Gateway is an http.Handler. It is safe for concurrent use.
type Gateway struct {
	opts   Options
	api    http.Handler
	routes []route
}

// New returns a gateway.
func New(opts Options) *Gateway {
	g := &Gateway{opts: opts}
	for _, f := range opts.Functions {
		for _, r := range f.Routes {
			g.routes = append(g.routes, newRoute(r, f.PhysicalName))
		}
	}
	slices.SortStableFunc(g.routes, compareRoutes)
	g.api = CORS(opts.CORS, http.HandlerFunc(g.serveAPI))
	return g
}

// Identify gives a request an id: the client's, or a new one. It sets the id in the response, in the context for log
// lines, and in the request for the function.
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

// ServeHTTP answers one request. The gateway's own errors are problems too, and have the request's id.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = Identify(w, r)
	if function, ok := g.urlFunction(r.URL.Path); ok {
		g.serveURL(w, r, function)
		return
	}
	g.api.ServeHTTP(w, r)
}

// Has reports whether the gateway has a route for a request.
func (g *Gateway) Has(r *http.Request) bool {
	if _, ok := g.urlFunction(r.URL.Path); ok {
		return true
	}
	_, ok := match(g.routes, r.Method, r.URL.Path)
	return ok
}

// urlFunction returns the function whose function URL serves a path.
func (g *Gateway) urlFunction(path string) (string, bool) {
	if function, ok := g.opts.URLPaths[path]; ok {
		return function, true
	}
	for prefix, function := range g.opts.URLPaths {
		if strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix) {
			return function, true
		}
	}
	return "", false
}

// serveAPI is the HTTP API. It finds the route, checks the token if the route needs one, and calls the function.
func (g *Gateway) serveAPI(w http.ResponseWriter, r *http.Request) {
	route, ok := match(g.routes, r.Method, r.URL.Path)
	if !ok {
		httpapi.WriteProblem(w, fault.New(fault.NotFound, "no such route"))
		return
	}
	var authorizer *authorization
	if route.Authorized {
		var err error
		if authorizer, err = g.authorize(r); err != nil {
			httpapi.WriteProblem(w, err)
			return
		}
	}
	event, err := newEvent(r)
	if err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	event.RouteKey, event.PathParameters = route.key(), route.parameters(r.URL.Path)
	event.RequestContext.RouteKey, event.RequestContext.Authorizer = event.RouteKey, authorizer
	g.integrate(w, r, route.function, event)
}

// integrate calls the function and writes its response.
func (g *Gateway) integrate(
	w http.ResponseWriter, r *http.Request, function string, event *events.APIGatewayV2HTTPRequest,
) {
	payload, err := encode(event)
	if err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), integrationTimeout)
	defer cancel()
	out, err := g.opts.Invoker.Invoke(ctx, function, payload)
	switch {
	case r.Context().Err() != nil: // the client is gone; the function goes on
	case err != nil:
		g.writeFailure(ctx, w, function, err)
	default:
		g.writeResponse(ctx, w, function, out)
	}
}

// writeFailure answers for a function that gave no response.
func (g *Gateway) writeFailure(ctx context.Context, w http.ResponseWriter, function string, err error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fault.New(fault.Unavailable, "the function took too long")
	case errors.Is(err, lambdaapi.ErrStopping):
		err = fault.New(fault.Unavailable, "the local stack is stopping")
	default:
		g.opts.Logger.ErrorContext(ctx, "integration", "function", function, "error", err)
		err = fault.New(fault.Internal, "the function did not answer")
	}
	httpapi.WriteProblem(w, err)
}
