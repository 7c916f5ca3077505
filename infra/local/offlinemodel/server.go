package offlinemodel

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// ModelID is the model that every response names, whichever was asked for.
const ModelID = "throughline-offline"

// maxBody bounds a request's body; the service refuses larger ones too.
const maxBody = 16 << 20

// Options tune a handler. The zero value is ready for use.
type Options struct {
	// Now gives the `created` times of responses; nil means [time.Now]. Nothing else depends on it.
	Now func() time.Time
	// Logger gets one line for a request that broke the handler, without its contents; nil discards it.
	Logger *slog.Logger
	// ChunkDelay is waited before each piece of a streamed answer, so that a person can watch it arrive.
	ChunkDelay time.Duration
}

// server holds what the handlers share, all of it read-only.
type server struct {
	options   Options
	lex       *lexicon
	embedder  *Embedder
	tokens    tokenizers
	endpoints map[string]endpoint
}

// Handler serves the endpoint under /v1, as api.openai.com does: any bearer key is accepted, none is 401, and every
// error is JSON in the service's form. It is safe for concurrent use.
func Handler(options Options) http.Handler {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	embedder := NewEmbedder()
	s := &server{options: options, lex: embedder.lex, embedder: embedder, tokens: newTokenizers()}
	s.endpoints = map[string]endpoint{
		"/v1/embeddings":       {http.MethodPost, s.embeddings},
		"/v1/chat/completions": {http.MethodPost, s.chatCompletions},
		"/v1/models":           {http.MethodGet, s.listModels},
	}
	return s
}

// endpoint is what one path serves: it returns its error instead of answering it.
type endpoint struct {
	method string
	handle func(http.ResponseWriter, *http.Request) error
}

// ServeHTTP answers a request behind the check for a key. It routes by the path as it came, without the redirects of a
// [http.ServeMux], because an SDK's POST does not survive them.
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

// recoverRequest answers 500 for a request that broke a handler. Where the answer had begun the connection is cut, so
// that the client cannot take what came for the whole.
func (s *server) recoverRequest(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	s.options.Logger.ErrorContext(r.Context(), "offline model request broke", "path", r.URL.Path, "cause", cause)
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

// readJSON decodes a request's body, unknown fields allowed, as the service does.
func readJSON(r *http.Request, into any) error {
	data, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &apiError{
			status: http.StatusRequestEntityTooLarge, Type: invalidRequest,
			Message: "The request body is larger than 16 MiB.",
		}
	case err != nil:
		return badRequest("", "The request body could not be read.")
	}
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
