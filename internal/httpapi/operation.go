package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// operation is what one operation of the API says of itself beyond its Go types.
type operation struct {
	method, path string
	// id names it in the OpenAPI document.
	id      string
	tag     string
	summary string
	detail  string
	// status is that of success; 200 where zero.
	status int
	// scope is ScopeApp where only the app may call it.
	scope string
	// errors are the statuses it may answer beside those that every operation may.
	errors []int
	// produces is the media type of an answer that is not one JSON value.
	produces string
	// example is an answer of a media type that no schema describes.
	example string
	// answers are the bodies of an operation whose body depends on its status.
	answers []answerOf
}

// answerOf is the body that comes with a status, and its headers.
type answerOf struct {
	status  int
	body    reflect.Type
	headers map[string]*huma.Param
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// handle is what an operation does: the caller and the checked input in, the output or an error out.
type handle[I, O any] func(ctx context.Context, c Caller, in *I) (*O, error)

// register adds an operation to the server. The caller is checked first, then the body, then huma checks all against
// the schemas of I; the handle sees only what passed. Its errors become problems.
func register[I, O any](s *server, op operation, do handle[I, O]) {
	_, hasBody := reflect.TypeFor[I]().FieldByName("Body")
	h := huma.Operation{
		OperationID: op.id, Method: op.method, Path: op.path, Tags: []string{op.tag},
		Summary: op.summary, Description: op.detail, DefaultStatus: op.status,
		Security:    []map[string][]string{{"bearer": {scopeOf(op)}}},
		Middlewares: huma.Middlewares{allow(op.scope)},
		Responses:   errorResponses(s.api.OpenAPI().Components.Schemas, op, hasBody),
	}
	if hasBody {
		h.Middlewares = append(h.Middlewares, readBody)
		h.MaxBodyBytes = maxBody + 1
	} else {
		h.Middlewares = append(h.Middlewares, refuseBody)
	}
	if op.produces != "" {
		h.Responses[strconv.Itoa(http.StatusOK)] = streamResponse(op)
	}
	for _, a := range op.answers {
		h.Responses[strconv.Itoa(a.status)] = jsonResponse(s.api.OpenAPI().Components.Schemas, a)
	}
	huma.Register(s.api, h, func(ctx context.Context, in *I) (*O, error) {
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

// report turns an operation's error into a problem, and logs the cause of one that is not the client's.
func (s *server) report(ctx context.Context, operation string, err error) *problem {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		s.log.ErrorContext(ctx, "operation failed", "operation", operation, "code", p.Code, "error", err.Error())
	}
	return p
}

// allow is the middleware that lets only callers of a scope pass.
func allow(scope string) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c, err := callerOf(ctx.Context())
		if err == nil {
			err = c.allow(scope)
		}
		if err != nil {
			_, w := humago.Unwrap(ctx)
			writeProblem(w, err)
			return
		}
		next(ctx)
	}
}

func scopeOf(op operation) string {
	if op.scope != "" {
		return op.scope
	}
	return ScopeUser
}

// errorResponses documents the errors of an operation.
func errorResponses(registry huma.Registry, op operation, hasBody bool) map[string]*huma.Response {
	statuses := append([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}, op.errors...)
	if hasBody {
		statuses = append(statuses, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if strings.Contains(op.path, "{") {
		statuses = append(statuses, http.StatusNotFound)
	}
	schema := registry.Schema(reflect.TypeFor[problem](), true, "Problem")
	responses := map[string]*huma.Response{}
	for _, status := range statuses {
		responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Headers: errorHeaders(status),
			Content: map[string]*huma.MediaType{problemType: {Schema: schema}},
		}
	}
	return responses
}

// errorHeaders are the headers that a problem of that status bears.
func errorHeaders(status int) map[string]*huma.Param {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return retryHeader("After how many seconds to call again.")
	case http.StatusConflict:
		return retryHeader("Where the same call may succeed later: after how many seconds.")
	}
	return nil
}

func retryHeader(doc string) map[string]*huma.Param {
	least := 1.0
	return map[string]*huma.Param{
		"Retry-After": {Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Description: doc}},
	}
}

func jsonResponse(registry huma.Registry, a answerOf) *huma.Response {
	return &huma.Response{
		Description: http.StatusText(a.status), Headers: a.headers,
		Content: map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(a.body, true, "")}},
	}
}

func streamResponse(op operation) *huma.Response {
	return &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{op.produces: {
			Schema: &huma.Schema{Type: huma.TypeString}, Example: op.example,
		}},
	}
}
