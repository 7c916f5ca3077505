package stack

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/console"
	"github.com/throughline/throughline/infra/local/devapi"
	"github.com/throughline/throughline/infra/local/gateway"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

const (
	healthTimeout     = 2 * time.Second
	defaultSettleTime = 30 * time.Second
	maxSettleTime     = 10 * time.Minute
)

// routes serves what only the local stack has: the console, health, the issuer, and the routes under /dev.
type routes struct {
	stack   *Stack
	faults  *faultControl
	console console.Console
	mux     *http.ServeMux
}

func newRoutes(s *Stack) *routes {
	rt := &routes{stack: s, faults: &faultControl{services: s.services}, mux: http.NewServeMux()}
	if s.cfg.hasOwnIssuer() {
		rt.mux.HandleFunc("POST /dev/tokens", rt.serveNoToken)
		rt.mux.HandleFunc("POST /dev/tokens/{user}", rt.serveNoToken)
	} else {
		s.issuer.Register(rt.mux)
	}
	rt.mux.HandleFunc("GET /healthz", rt.answer(rt.health))
	rt.mux.HandleFunc("GET /dev/info", rt.answer(func(*http.Request) (any, error) { return s.Info(), nil }))
	rt.mux.HandleFunc("POST /dev/settle", rt.answer(rt.settle))
	rt.mux.HandleFunc("POST /dev/faults", rt.answer(func(r *http.Request) (any, error) { return rt.faults.set(r) }))
	rt.mux.HandleFunc("GET /dev/faults", rt.answer(func(*http.Request) (any, error) { return rt.faults.state(), nil }))
	rt.mux.HandleFunc("GET /dev/events", rt.ready(rt.serveEvents))
	rt.mux.HandleFunc("POST /dev/redeliver", rt.ready(rt.serveRedeliver))
	rt.mux.HandleFunc("GET /dev/dead-letters", rt.answer(func(*http.Request) (any, error) {
		return map[string]any{"items": s.triggers.deadLetters()}, nil
	}))
	return rt
}

// answer writes what a ready stack says to a request, or its error.
func (rt *routes) answer(say func(*http.Request) (any, error)) http.HandlerFunc {
	return rt.ready(func(w http.ResponseWriter, r *http.Request) {
		said, err := say(r)
		if err != nil {
			httpapi.WriteProblem(w, err)
			return
		}
		devapi.Write(w, said)
	})
}

// handler serves the stack's own routes, and passes everything else to the gateway. It compares the path itself,
// because a ServeMux in front of the API would redirect paths that the API has to refuse. CORS never opens the routes
// under /dev to pages of other origins: they need no token, and one of them gives tokens for any user.
func (rt *routes) handler() http.Handler {
	dev := localOnly(rt.mux)
	public := gateway.CORS(rt.stack.template.CORS, dev)
	page := localOnly(rt.console)
	api := rt.ready(func(w http.ResponseWriter, r *http.Request) { rt.stack.gateway.Load().ServeHTTP(w, r) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = gateway.Identify(w, r)
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/dev/"):
			dev.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/.well-known/oauth-protected-resource"): // of the function mcp
			api(w, r)
		case path == "/healthz" || strings.HasPrefix(path, "/.well-known/"):
			public.ServeHTTP(w, r)
		case rt.console.Has(path) || rt.isLost(r):
			page.ServeHTTP(w, r)
		default:
			api(w, r)
		}
	})
}

// isLost reports whether a person's browser asks for a path that nothing serves.
func (rt *routes) isLost(r *http.Request) bool {
	api := rt.stack.gateway.Load()
	return api != nil && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && !api.Has(r)
}

// ready answers 503 while the stack starts.
func (rt *routes) ready(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if rt.stack.gateway.Load() == nil {
			httpapi.WriteProblem(w, fault.New(fault.Unavailable, "the local stack is starting"))
			return
		}
		next(w, r)
	}
}

func (rt *routes) health(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	services := rt.stack.services
	// The engine reads a whole table to describe it.
	if _, err := services.tables.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)}); err != nil {
		return nil, fault.New(fault.Unavailable, "dynamodb does not answer")
	}
	return map[string]string{"status": "ok"}, nil
}

// serveNoToken refuses to make a token that the API would refuse.
func (rt *routes) serveNoToken(w http.ResponseWriter, _ *http.Request) {
	httpapi.WriteProblem(w, fault.Newf(fault.Conflict, "this stack takes the tokens of %s, because JWT_ISSUER is set: "+
		"sign in there and send its access token, or start the stack without JWT_ISSUER", rt.stack.cfg.Issuer))
}

func (rt *routes) settle(r *http.Request) (any, error) {
	var in struct {
		TimeoutMS *int64 `json:"timeoutMs"`
	}
	if err := devapi.Read(r, &in); err != nil {
		return nil, err
	}
	limit := defaultSettleTime
	if in.TimeoutMS != nil {
		limit = time.Duration(*in.TimeoutMS) * time.Millisecond
		if *in.TimeoutMS < 0 || *in.TimeoutMS > maxSettleTime.Milliseconds() {
			return nil, fault.InvalidField("timeoutMs", "must be between 0 and 600000")
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), max(limit, settleLook))
	defer cancel()
	return rt.stack.Settle(ctx), nil
}

func (rt *routes) serveRedeliver(w http.ResponseWriter, r *http.Request) {
	if err := rt.stack.triggers.redeliver(r.Context()); err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// serveEvents writes the events that came after the one of an id, one a line. With follow=true it goes on.
func (rt *routes) serveEvents(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	flush := func() { _ = http.NewResponseController(w).Flush() }
	rt.stack.services.bus.Write(r.Context(), w, flush, query.Get("after"), query.Get("follow") == "true")
}
