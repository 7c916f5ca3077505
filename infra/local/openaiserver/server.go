// Package openaiserver serves OpenAI's protocol for a [Model]: embeddings, chat completions and responses. The product
// calls it as it calls the real service, so it refuses what the service refuses of each model, with the same errors. It
// counts tokens and reuses cached prompts by the service's rules.
//
// The same request gets the same answer, apart from the time of its creation, and from the cached tokens of requests
// that have a cache key.
package openaiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// maxBody bounds a request's body; the service refuses larger ones too.
const maxBody = 16 << 20

// Model composes what a server answers. It may be used concurrently.
type Model interface {
	// Reply answers the last message of a conversation.
	Reply(c Conversation) Reply
	// Fill returns values for the properties of the named response format, which [encoding/json] can encode, and a text
	// for each required string that has none. The server makes an answer of them that the request's schema allows.
	Fill(c Conversation, format string) (values map[string]any, text string)
	// Embed returns the unit vector of a text.
	Embed(text string, dimensions int) []float32
}

// The dimensions of a vector unless the request says otherwise, those of text-embedding-3-small, and the most that
// text-embedding-3-large allows.
const (
	defaultDimensions = 1536
	maxDimensions     = 3072
)

// Conversation is a request as its model sees it.
type Conversation struct {
	Messages []Message
	// Tools are the names of the functions that may be called.
	Tools []string
}

// Message is a message with one of the service's roles.
type Message struct{ Role, Text string }

// Reply is a text, or the call of the tool that it names, whose parameter "query" is Query.
type Reply struct{ Text, Tool, Query string }

// server serves the endpoint. Its fields are read-only but the cache, which has its own lock.
type server struct {
	cache     promptCache
	model     Model
	name      string
	tokens    tokenizers
	endpoints map[string]func(http.ResponseWriter, *http.Request) error
}

// Handler serves a model under /v1, as api.openai.com does. Every response has its name, whichever model the request
// asks for. It accepts any bearer key, and answers 401 without one. Every error is JSON in the service's form. The
// handler may be used concurrently.
func Handler(m Model, name string) http.Handler {
	s := &server{model: m, name: name, tokens: sharedTokenizers()}
	s.endpoints = map[string]func(http.ResponseWriter, *http.Request) error{
		"POST /v1/embeddings":       s.embeddings,
		"POST /v1/chat/completions": s.chatCompletions,
		"POST /v1/responses":        s.responses,
	}
	return s
}

// ServeHTTP answers a request that has a key. It routes by the unchanged path, because the redirects of an
// [http.ServeMux] lose the body of an SDK's POST.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := authorize(r)
	if err == nil {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		err = newError(http.StatusNotFound, "unknown_url", "Invalid URL (%s %s)", r.Method, r.URL.Path)
		if handle, ok := s.endpoints[r.Method+" "+r.URL.Path]; ok {
			err = handle(w, r)
		}
	}
	if err != nil {
		writeError(w, err)
	}
}

func authorize(r *http.Request) error {
	if key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); key != "" {
		return nil
	}
	return newError(http.StatusUnauthorized, "", "You didn't provide an API key. Provide it in an Authorization header "+
		"using Bearer auth (i.e. Authorization: Bearer YOUR_KEY); this server accepts any.")
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
	if err != nil { // of another error nobody is left to hear
		return nil, newError(http.StatusRequestEntityTooLarge, "", "The request body is larger than 16 MiB.")
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

// invalidRequest is the service's type of error for what the client can correct.
const invalidRequest = "invalid_request_error"

// apiError is an error in the service's form.
type apiError struct {
	status  int
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"` // a string or null, as Code
	Code    any    `json:"code"`
}

func (e *apiError) Error() string { return e.Message }

// newError is about the whole request. The code may be empty.
func newError(status int, code, format string, args ...any) *apiError {
	e := &apiError{status: status, Type: invalidRequest, Message: fmt.Sprintf(format, args...)}
	if code != "" {
		e.Code = code
	}
	return e
}

// badRequest is a 400 about a parameter, or about the whole request where param is empty.
func badRequest(param, format string, args ...any) *apiError {
	e := newError(http.StatusBadRequest, "", format, args...)
	if param != "" {
		e.Param = param
	}
	return e
}

func writeError(w http.ResponseWriter, err error) {
	var problem *apiError
	if !errors.As(err, &problem) {
		problem = newError(http.StatusInternalServerError, "", "The server had an error while processing your request.")
		problem.Type = "server_error"
	}
	_ = writeJSON(w, problem.status, map[string]any{"error": problem}) // strings and nulls always marshal
}
