// Package offlinemodel is the OpenAI-compatible endpoint of the local stack: embeddings, chat completions, responses
// and the list of models, with no key, no network and no weights. The product calls it as it calls the real service, so
// it refuses what the service refuses of each model, with the same errors.
//
// It is deterministic: the same request gets the same answer, apart from the time of its creation, and from the cached
// tokens of requests that have a cache key. Embeddings place
// texts by their words, word forms and small fields of meaning. Chat answers quote the parts of the prompt that they
// use, so that a person sees the memory work. Summaries retell the weightiest statements of the request in the third
// person by rules of grammar, and keep what the user still has to do. Extractions find facts, promises and what is done
// by patterns: of English, and the commonest ones of German and Spanish.
//
// It is not a language model. It understands nothing, invents nothing and follows no instruction in a prompt. What a
// pattern does not foresee is not found. Summaries quote German and Spanish, and everything else is English. It calls
// itself [ModelID] in every response.
package offlinemodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ModelID is the model that every response names, whichever the request asks for.
const ModelID = "throughline-offline"

// maxBody bounds a request's body; the service refuses larger ones too.
const maxBody = 16 << 20

// Options tune a handler. The zero value is ready for use.
type Options struct {
	// Now gives the creation times of responses. Nil means [time.Now]. Nothing else depends on it.
	Now func() time.Time
	// Logger gets a line for each request that made the handler panic, without its contents. Nil discards it.
	Logger *slog.Logger
	// ChunkDelay is the pause before each piece of a streamed answer, so that a person can watch it arrive.
	ChunkDelay time.Duration
}

// server serves the endpoint. Its fields are read-only but the cache, which has its own lock.
type server struct {
	cache     promptCache
	options   Options
	embedder  *Embedder
	composer  *composer
	tokens    tokenizers
	endpoints map[string]endpoint
}

// Handler serves the endpoint under /v1, as api.openai.com does. It accepts any bearer key, and answers 401 without
// one. Every error is JSON in the service's form. The handler may be used concurrently.
func Handler(options Options) http.Handler {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	embedder := NewEmbedder()
	s := &server{options: options, embedder: embedder, composer: newComposer(embedder.lex), tokens: newTokenizers()}
	s.endpoints = map[string]endpoint{
		"/v1/embeddings":       {http.MethodPost, s.embeddings},
		"/v1/chat/completions": {http.MethodPost, s.chatCompletions},
		"/v1/responses":        {http.MethodPost, s.responses},
		"/v1/models":           {http.MethodGet, s.listModels},
	}
	return s
}

// endpoint serves one path. It returns its error, and the server writes it.
type endpoint struct {
	method string
	handle func(http.ResponseWriter, *http.Request) error
}

// ServeHTTP answers a request that has a key. It routes by the unchanged path, because the redirects of an
// [http.ServeMux] lose the body of an SDK's POST.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.recoverRequest(w, r)
	err := authorize(r)
	if err == nil {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		err = s.dispatch(w, r)
	}
	if err != nil {
		writeError(w, err)
	}
}

func (s *server) dispatch(w http.ResponseWriter, r *http.Request) error {
	served, ok := s.endpoints[r.URL.Path]
	if strings.HasPrefix(r.URL.Path, modelPath) {
		served, ok = endpoint{http.MethodGet, s.getModel}, true
	}
	switch {
	case !ok:
		return unknownRoute(r)
	case r.Method != served.method:
		return methodNotAllowed(r)
	default:
		return served.handle(w, r)
	}
}

// recoverRequest answers 500 for a request that made a handler panic. Where the answer has begun it cuts the
// connection, so that the client does not take a part for the whole.
func (s *server) recoverRequest(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	s.options.Logger.ErrorContext(r.Context(), "offline model panicked", "path", r.URL.Path, "cause", cause)
	if w.Header().Get("Content-Type") != "" {
		panic(http.ErrAbortHandler)
	}
	writeError(w, &apiError{
		status: http.StatusInternalServerError, Type: "server_error",
		Message: "The server had an error while processing your request.",
	})
}

func authorize(r *http.Request) error {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(key) != "" {
		return nil
	}
	return &apiError{
		status: http.StatusUnauthorized, Type: invalidRequest,
		Message: "You didn't provide an API key. Provide it in an Authorization header using Bearer auth " +
			"(i.e. Authorization: Bearer YOUR_KEY); the offline model accepts any.",
	}
}

func unknownRoute(r *http.Request) error {
	return &apiError{
		status: http.StatusNotFound, Type: invalidRequest, Code: "unknown_url",
		Message: "Invalid URL (" + r.Method + " " + r.URL.Path + ")",
	}
}

func methodNotAllowed(r *http.Request) error {
	return &apiError{
		status: http.StatusMethodNotAllowed, Type: invalidRequest, Code: "method_not_supported",
		Message: "Not allowed to " + r.Method + " on " + r.URL.Path + ".",
	}
}

// readJSON decodes a request's body.
func readJSON(r *http.Request, into any) error {
	data, err := readBody(r)
	if err != nil {
		return err
	}
	return decodeJSON(data, into)
}

// readStrict decodes a request's body, and refuses a field that the service does not know.
func readStrict(r *http.Request, into any, known []string, unknown func(name string) *apiError) error {
	data, err := readBody(r)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := decodeJSON(data, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			return unknown(name)
		}
	}
	return decodeJSON(data, into)
}

func readBody(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &apiError{
			status: http.StatusRequestEntityTooLarge, Type: invalidRequest,
			Message: "The request body is larger than 16 MiB.",
		}
	case err != nil:
		return nil, badRequest("", "The request body could not be read.")
	}
	return data, nil
}

func decodeJSON(data []byte, into any) error {
	var wrongType *json.UnmarshalTypeError
	switch err := json.Unmarshal(data, into); {
	case errors.As(err, &wrongType):
		return badRequest(wrongType.Field, "Invalid type for '%s': got %s.", wrongType.Field, wrongType.Value)
	case err != nil:
		return badRequest("", "We could not parse the JSON body of your request.")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that went away is not an error of this request
	return nil
}

// model describes a model as the service lists it.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// modelPath is the path before a model's id.
const modelPath = "/v1/models/"

// modelCreated is 2026-01-01, so that the list does not change from day to day.
const modelCreated = 1767225600

var offline = model{ID: ModelID, Object: "model", Created: modelCreated, OwnedBy: "throughline"}

func (s *server) listModels(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []model{offline}})
}

func (s *server) getModel(w http.ResponseWriter, r *http.Request) error {
	id := strings.TrimPrefix(r.URL.Path, modelPath)
	if id == ModelID {
		return writeJSON(w, http.StatusOK, offline)
	}
	missing := badRequest("model", "The model '%s' does not exist; there is only '%s'.", id, ModelID)
	missing.status, missing.Code = http.StatusNotFound, "model_not_found"
	return missing
}

// invalidRequest is the service's type of error for what the client can correct.
const invalidRequest = "invalid_request_error"

// apiError is an error in the service's form.
type apiError struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"` // a string or null
}

func (e *apiError) Error() string { return e.Message }

// badRequest is a 400 about a parameter, or about the whole request where param is empty.
func badRequest(param, format string, args ...any) *apiError {
	e := &apiError{status: http.StatusBadRequest, Type: invalidRequest, Message: fmt.Sprintf(format, args...)}
	if param != "" {
		e.Param = &param
	}
	return e
}

func writeError(w http.ResponseWriter, err error) {
	var problem *apiError
	if !errors.As(err, &problem) {
		problem = &apiError{status: http.StatusInternalServerError, Type: "server_error", Message: "The server had an error."}
	}
	_ = writeJSON(w, problem.status, map[string]any{"error": problem}) // strings and nulls always marshal
}
