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

// dev serves what only the local stack has beside the console: health, the issuer, and the routes under /dev.
func (s *Stack) dev() http.Handler {
	mux := http.NewServeMux()
	if s.cfg.hasOwnIssuer() {
		mux.HandleFunc("POST /dev/tokens", s.serveNoToken)
		mux.HandleFunc("POST /dev/tokens/{user}", s.serveNoToken)
	} else {
		s.issuer.Register(mux)
	}
	for pattern, say := range map[string]func(*http.Request) (any, error){
		"GET /healthz": s.health, "POST /dev/settle": s.serveSettle,
		"POST /dev/faults": s.services.setFaults, "GET /dev/faults": s.services.setFaults,
		"GET /dev/info": func(*http.Request) (any, error) { return s.Info(), nil },
		"GET /dev/dead-letters": func(*http.Request) (any, error) {
			return map[string]any{"items": s.triggers.deadLetters()}, nil
		},
	} {
		mux.HandleFunc(pattern, s.ready(func(w http.ResponseWriter, r *http.Request) {
			said, err := say(r)
			if err != nil {
				httpapi.WriteProblem(w, err)
				return
			}
			devapi.Write(w, said)
		}))
	}
	mux.HandleFunc("GET /dev/events", s.ready(s.serveEvents))
	mux.HandleFunc("POST /dev/redeliver", s.ready(s.serveRedeliver))
	return localOnly(mux)
}

// handler serves the stack's own routes, and passes everything else to the gateway. It compares the path itself,
// because a ServeMux in front of the API would redirect paths that the API has to refuse. CORS never opens the routes
// under /dev to pages of other origins: they need no token, and one of them gives tokens for any user.
func (s *Stack) handler() http.Handler {
	dev, files := s.dev(), console.Console{}
	public, page := gateway.CORS(s.template.CORS, dev), localOnly(files)
	api := s.ready(func(w http.ResponseWriter, r *http.Request) { s.gateway.Load().ServeHTTP(w, r) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = gateway.Identify(w, r)
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/dev/"):
			dev.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/.well-known/oauth-protected-resource"): // of the function mcp
			api(w, r)
		case path == "/healthz" || strings.HasPrefix(path, "/.well-known/"):
			public.ServeHTTP(w, r)
		case files.Has(path) || s.isLost(r):
			page.ServeHTTP(w, r)
		default:
			api(w, r)
		}
	})
}

// isLost reports whether a person's browser asks for a path that nothing serves.
func (s *Stack) isLost(r *http.Request) bool {
	api := s.gateway.Load()
	return api != nil && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && !api.Has(r)
}

// ready answers 503 while the stack starts.
func (s *Stack) ready(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.gateway.Load() == nil {
			httpapi.WriteProblem(w, fault.New(fault.Unavailable, "the local stack is starting"))
			return
		}
		next(w, r)
	}
}

func (s *Stack) health(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	// The engine reads a whole table to describe it.
	if _, err := s.services.tables.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)}); err != nil {
		return nil, fault.New(fault.Unavailable, "dynamodb does not answer")
	}
	return map[string]string{"status": "ok"}, nil
}

// serveNoToken refuses to make a token that the API would refuse.
func (s *Stack) serveNoToken(w http.ResponseWriter, _ *http.Request) {
	httpapi.WriteProblem(w, fault.Newf(fault.Conflict, "this stack takes the tokens of %s, because JWT_ISSUER is set: "+
		"sign in there and send its access token, or start the stack without JWT_ISSUER", s.cfg.Issuer))
}

func (s *Stack) serveSettle(r *http.Request) (any, error) {
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
	return s.Settle(ctx), nil
}

func (s *Stack) serveRedeliver(w http.ResponseWriter, r *http.Request) {
	if err := s.triggers.redeliver(r.Context()); err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// serveEvents writes the events that came after the one of an id, one a line. With follow=true it goes on.
func (s *Stack) serveEvents(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	flush := func() { _ = http.NewResponseController(w).Flush() }
	s.services.bus.Write(r.Context(), w, flush, query.Get("after"), query.Get("follow") == "true")
}
