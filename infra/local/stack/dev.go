package stack

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/local/devapi"
	"github.com/throughline/throughline/infra/local/gateway"
	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

const (
	healthTimeout     = 2 * time.Second
	defaultSettleTime = 30 * time.Second
	maxSettleTime     = 10 * time.Minute
)

// handler serves what only the local stack has, and passes everything else to the gateway. It looks at the path
// itself: a ServeMux in front of the API would redirect paths that the API has to refuse.
func (s *Stack) handler() http.Handler {
	own := http.NewServeMux()
	s.issuer.Register(own)
	own.HandleFunc("GET /healthz", s.serveHealth)
	own.HandleFunc("GET /dev/info", s.whenReady(s.serveInfo))
	own.HandleFunc("POST /dev/settle", s.whenReady(s.serveSettle))
	own.HandleFunc("POST /dev/faults", s.whenReady(s.serveFaults))
	own.HandleFunc("POST /dev/redeliver", s.whenReady(s.serveRedeliver))
	own.HandleFunc("GET /dev/dead-letters", s.whenReady(s.serveDeadLetters))
	// A page that may use the API needs a token, and what else only the local stack has.
	ownForPages := gateway.CORS(s.template.CORS, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serveOwn(own, w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = gateway.Identify(w, r)
		if isOwn(r.URL.Path) {
			ownForPages.ServeHTTP(w, r)
			return
		}
		s.whenReady(func(w http.ResponseWriter, r *http.Request) { s.gateway.Load().ServeHTTP(w, r) })(w, r)
	})
}

func isOwn(path string) bool {
	return path == "/healthz" || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/.well-known/")
}

// serveOwn answers problem+json where the mux knows no such path or method.
func (s *Stack) serveOwn(own *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	if _, pattern := own.Handler(r); pattern != "" {
		own.ServeHTTP(w, r)
		return
	}
	allowed := methodsOf(own, r)
	if len(allowed) == 0 {
		httpapi.WriteProblem(w, fault.New(fault.NotFound, "the local stack has no such route"))
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	httpapi.WriteProblem(w, fault.New(fault.MethodNotAllowed, "this path takes "+strings.Join(allowed, ", ")))
}

// methodsOf lists the methods that the mux takes at a request's path.
func methodsOf(mux *http.ServeMux, r *http.Request) (allowed []string) {
	probe := *r
	for _, probe.Method = range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut} {
		if _, pattern := mux.Handler(&probe); pattern != "" {
			allowed = append(allowed, probe.Method)
		}
	}
	return allowed
}

// whenReady answers 503 while the stack starts.
func (s *Stack) whenReady(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.gateway.Load() == nil {
			httpapi.WriteProblem(w, fault.New(fault.Unavailable, "the local stack is starting"))
			return
		}
		next(w, r)
	}
}

func (s *Stack) serveHealth(w http.ResponseWriter, r *http.Request) {
	if s.gateway.Load() == nil {
		httpapi.WriteProblem(w, fault.New(fault.Unavailable, "the local stack is starting"))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	if _, err := s.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.cfg.TableName}); err != nil {
		httpapi.WriteProblem(w, fault.New(fault.Unavailable, "dynamodb does not answer"))
		return
	}
	for name, url := range map[string]string{"pinecone": s.pinecone.direct, "openai": s.openai.direct, "lambda": s.lambdaURL} {
		if !reachable(ctx, url) {
			httpapi.WriteProblem(w, fault.New(fault.Unavailable, name+" does not answer"))
			return
		}
	}
	devapi.Write(w, map[string]string{"status": "ok"})
}

// reachable connects to where a URL points.
func reachable(ctx context.Context, address string) bool {
	if !strings.Contains(address, "://") {
		address = "https://" + address // a real index is named by its host alone
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// Info is where everything is, without the fault door.
type Info struct {
	TableName        string            `json:"tableName"`
	DynamoDBEndpoint string            `json:"dynamodbEndpoint"`
	PineconeHost     string            `json:"pineconeHost"`
	OpenAIBaseURL    string            `json:"openaiBaseUrl"`
	LambdaEndpoint   string            `json:"lambdaEndpoint"`
	Functions        map[string]string `json:"functions"`
}

// Info returns where everything is.
func (s *Stack) Info() Info {
	info := Info{
		TableName: s.cfg.TableName, DynamoDBEndpoint: s.dynamodb.direct, PineconeHost: s.pinecone.direct,
		OpenAIBaseURL: s.openai.direct, LambdaEndpoint: s.lambdaURL, Functions: map[string]string{},
	}
	for _, f := range s.template.Functions {
		info.Functions[f.Name] = f.PhysicalName
	}
	return info
}

func (s *Stack) serveInfo(w http.ResponseWriter, _ *http.Request) { devapi.Write(w, s.Info()) }

func (s *Stack) serveSettle(w http.ResponseWriter, r *http.Request) {
	var in struct {
		TimeoutMS *int64 `json:"timeoutMs"`
	}
	if err := devapi.Read(r, &in); err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	limit := defaultSettleTime
	if in.TimeoutMS != nil {
		limit = time.Duration(*in.TimeoutMS) * time.Millisecond
		if *in.TimeoutMS < 0 || *in.TimeoutMS > maxSettleTime.Milliseconds() {
			httpapi.WriteProblem(w, fault.InvalidField("timeoutMs", "must be between 0 and 600000"))
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), max(limit, settleLook))
	defer cancel()
	devapi.Write(w, s.Settle(ctx))
}

// Redeliver has every consumer of the stream begin it anew, as a redelivery of everything it holds.
func (s *Stack) Redeliver(ctx context.Context) error {
	for _, p := range s.pollers {
		if err := p.Redeliver(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) serveRedeliver(w http.ResponseWriter, r *http.Request) {
	if err := s.Redeliver(r.Context()); err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// DeadLetters returns what the stream's consumers set aside.
func (s *Stack) DeadLetters() []streams.DeadLetter {
	letters := []streams.DeadLetter{}
	for _, p := range s.pollers {
		letters = append(letters, p.DeadLetters()...)
	}
	return letters
}

func (s *Stack) serveDeadLetters(w http.ResponseWriter, _ *http.Request) {
	devapi.Write(w, map[string]any{"items": s.DeadLetters()})
}
