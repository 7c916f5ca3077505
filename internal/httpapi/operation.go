package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/metric"
)

// operation describes one operation of the API beyond its Go types.
type operation struct {
	method, path string
	// id is the operation's id in the OpenAPI document.
	id, tag string
	summary string
	detail  string
	status  int
	scope   string
	errors  []int
	// produces is the media type of a response that is not one JSON value, with an example and its schema.
	produces, example string
	schema            schemaFunc
	responses         []statusResponse
}

// op describes an operation by its route, such as "GET /v1/sessions", its id, tag, summary and detail.
func op(route, id, tag, summary string, detail ...string) operation {
	method, path, _ := strings.Cut(route, " ")
	return operation{
		method: method, path: path, id: id, tag: tag, summary: summary, detail: strings.Join(detail, ""), scope: ScopeUser,
	}
}

// forApp is for operations that only the app may call, answers for another status of success than 200, and or for
// errors that not every operation may answer.
func (o operation) forApp() operation            { o.scope = ScopeApp; return o }
func (o operation) answers(status int) operation { o.status = status; return o }
func (o operation) or(statuses ...int) operation { o.errors = statuses; return o }

// streams is for responses that are not one JSON value.
func (o operation) streams(mediaType, example string, schema schemaFunc) operation {
	o.produces, o.example, o.schema = mediaType, example, schema
	return o
}

// schemaFunc returns a schema. Those of the types that it refers to are added to the registry.
type schemaFunc func(r huma.Registry) *huma.Schema

// responds is for operations whose body depends on the status.
func (o operation) responds(with ...statusResponse) operation { o.responses = with; return o }

// statusResponse is the body, if there is one, and the headers of the responses with one status.
type statusResponse struct {
	status  int
	body    reflect.Type
	headers map[string]*huma.Param
}

// bodyOf is the response of a status whose body is a T.
func bodyOf[T any](status int, headers ...map[string]*huma.Param) statusResponse {
	out := statusResponse{status: status, body: reflect.TypeFor[T]()}
	if len(headers) > 0 {
		out.headers = headers[0]
	}
	return out
}

// handlerFunc carries out an operation. It gets the caller and an input that was checked against its schema.
type handlerFunc[I, O any] func(ctx context.Context, c Caller, in *I) (O, error)

// docOutput is the output of an operation that answers with a body and no headers of its own.
type docOutput[D any] struct{ Body D }

// registerDoc adds an operation that answers with a body and no headers of its own.
func registerDoc[I, D any](s *server, op operation, do handlerFunc[I, D]) {
	register(s, op, func(ctx context.Context, c Caller, in *I) (*docOutput[D], error) {
		body, err := do(ctx, c, in)
		return &docOutput[D]{body}, err
	})
}

// varied is the output of an operation whose body depends on the status.
type varied struct {
	Status     int
	Location   string `header:"Location" hidden:"true"`
	RetryAfter string `header:"Retry-After" hidden:"true"`
	Body       any
}

// noOutput is the output of an operation that answers without a body.
type noOutput struct{}

// registerDone adds an operation that answers without a body.
func registerDone[I any](s *server, op operation, do func(ctx context.Context, c Caller, in *I) error) {
	op.status = cmp.Or(op.status, http.StatusNoContent)
	register(s, op, func(ctx context.Context, c Caller, in *I) (*noOutput, error) {
		return &noOutput{}, do(ctx, c, in)
	})
}

// register adds an operation to the server. A request is checked in this order: the caller, the body, and the input
// against the schemas of I. Errors become problems.
func register[I, O any](s *server, op operation, do handlerFunc[I, *O]) {
	s.add(op, func(api huma.API) { describe(s, api, op, do) })
}

// add adds an operation, which is described at its first request: to describe all takes longer than everything else
// that a function does when it starts. The server of the document describes it at once.
func (s *server) add(op operation, describeIn func(api huma.API)) {
	if s.document != nil {
		describeIn(s.document)
		return
	}
	handler := sync.OnceValue(func() http.Handler {
		mux := http.NewServeMux()
		describeIn(humago.New(mux, humaConfig()))
		return mux
	})
	s.mux.HandleFunc(op.method+" "+op.path, func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}

// describe adds an operation to an API, which checks its requests and routes them.
func describe[I, O any](s *server, api huma.API, op operation, do handlerFunc[I, *O]) {
	body, hasBody := reflect.TypeFor[I]().FieldByName("Body")
	registry := api.OpenAPI().Components.Schemas
	if hasBody {
		allowNulls(registry, registry.Schema(body.Type, true, ""))
	}
	h := huma.Operation{
		OperationID: op.id, Method: op.method, Path: op.path, Tags: []string{op.tag},
		Summary: op.summary, Description: op.detail, DefaultStatus: op.status,
		Security:    []map[string][]string{{"bearer": {op.scope}}},
		Middlewares: huma.Middlewares{s.admit(op.scope)},
		Responses:   errorResponses(registry, op, hasBody),
	}
	if hasBody {
		h.Middlewares = append(h.Middlewares, readBody)
		h.MaxBodyBytes = maxBody + 1
	} else {
		h.Middlewares = append(h.Middlewares, refuseBody)
	}
	if op.produces != "" {
		streamed := response(http.StatusOK, nil, op.produces, op.schema(registry))
		streamed.Content[op.produces].Example = op.example
		h.Responses[strconv.Itoa(http.StatusOK)] = streamed
	}
	for _, r := range op.responses {
		var schema *huma.Schema
		if r.body != nil {
			schema = registry.Schema(r.body, true, "")
		}
		h.Responses[strconv.Itoa(r.status)] = response(r.status, r.headers, "application/json", schema)
	}
	huma.Register(api, h, func(ctx context.Context, in *I) (*O, error) {
		c, err := callerOf(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		out, err := do(ctx, c, in)
		if err != nil {
			return nil, s.report(ctx, op.id, err)
		}
		return out, nil
	})
}

// report turns an operation's error into a problem. It logs the error unless it is the client's mistake.
func (s *server) report(ctx context.Context, operation string, err error) *problem {
	p := problemOf(s.reported(ctx, operation, err))
	p.RequestID = RequestID(ctx)
	return p
}

// reported logs an error unless it is the client's mistake, and returns it.
func (s *server) reported(ctx context.Context, operation string, err error) error {
	if p := problemOf(err); p.Status >= http.StatusInternalServerError {
		s.Log.ErrorContext(ctx, "operation failed", "operation", operation, "code", p.Code, "error", err.Error())
	}
	return err
}

// admit is the middleware that refuses callers without a scope, and those who ask for too much.
func (s *server) admit(scope string) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		c, err := callerOf(r.Context())
		if err := s.admitted(w, r, c, err, scope); err != nil {
			WriteProblem(w, err)
			return
		}
		next(ctx)
	}
}

// admitted returns why a caller, with the error that came with it, is not admitted, or nil. It counts the request.
func (s *server) admitted(w http.ResponseWriter, r *http.Request, c Caller, err error, scope string) error {
	if sw, ok := w.(*statusWriter); ok {
		sw.caller = c
	}
	if err == nil {
		err = c.checkScope(scope)
	}
	if err != nil {
		return err
	}
	// What arrives is counted, because a length may be absent. An error of the body is found again by who reads it.
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	return s.charge(r.Context(), c, 1+len(body)/bytesPerWeight)
}

// A request weighs one, one more for each bytesPerWeight bytes of its body, and one more for each messagesPerWeight
// messages after the first that it appends. With 600 a minute a user then writes at most 100 messages and 160 KB a
// second, which a partition of the table and a shard of its stream carry beside the other users'.
const (
	bytesPerWeight    = 16 << 10
	messagesPerWeight = 10
)

// charge counts what a caller asks for. It returns a RateLimited error for a caller who asks for too much.
func (s *server) charge(ctx context.Context, c Caller, weight int) error {
	if s.Limiter == nil || weight == 0 {
		return nil
	}
	err := s.Limiter.Allow(ctx, c.User, weight)
	if fault.Is(err, fault.RateLimited) {
		metric.Add(ctx, "RequestsRefused", 1, metric.Count)
	}
	return err
}

// errorResponses documents the errors of an operation.
func errorResponses(registry huma.Registry, op operation, hasBody bool) map[string]*huma.Response {
	statuses := append([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}, op.errors...)
	if hasBody {
		statuses = append(statuses,
			http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if strings.Contains(op.path, "{") {
		statuses = append(statuses, http.StatusNotFound)
	}
	schema := registry.Schema(reflect.TypeFor[problem](), true, "Problem")
	responses := map[string]*huma.Response{}
	for _, status := range statuses {
		responses[strconv.Itoa(status)] = response(status, errorHeaders(status), problemType, schema)
	}
	return responses
}

// errorHeaders documents the headers of problems with that status.
func errorHeaders(status int) map[string]*huma.Param {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return retryAfter("The seconds to wait before the next call.")
	case http.StatusConflict:
		return retryAfter("The seconds to wait, if the same call may succeed later.")
	}
	return nil
}

func retryAfter(doc string) map[string]*huma.Param {
	least := 1.0
	return header("Retry-After", &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Description: doc})
}

func header(name string, schema *huma.Schema) map[string]*huma.Param {
	return map[string]*huma.Param{name: {Schema: schema}}
}

// response documents a response. Without a schema it has no body.
func response(status int, headers map[string]*huma.Param, media string, schema *huma.Schema) *huma.Response {
	out := &huma.Response{Description: http.StatusText(status), Headers: headers}
	if schema != nil {
		out.Content = map[string]*huma.MediaType{media: {Schema: schema}}
	}
	return out
}
