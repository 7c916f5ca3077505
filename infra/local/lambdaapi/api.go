package lambdaapi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/delay"
)

// latest is the version of a function that a name without a qualifier means. Here it is the alias live, too.
const latest = "$LATEST"

const (
	asyncRetries = 2 // the service's default MaximumRetryAttempts of an asynchronous invocation
	asyncPause   = time.Second
)

// Handler serves the invoke API over the runtime: POST /2015-03-31/functions/{name}/invocations with the invocation
// types RequestResponse and Event. Signatures are not checked.
func (r *Runtime) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", r.serveInvoke)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeAPIError(w, http.StatusNotFound, "UnknownOperationException", "only Invoke is served")
	})
	return mux
}

func (r *Runtime) serveInvoke(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Amzn-Requestid", newID())
	name, qualifier := functionName(req.PathValue("name"))
	kind := req.Header.Get("X-Amz-Invocation-Type")
	qualifier = cmp.Or(qualifier, req.URL.Query().Get("Qualifier"), latest)
	if !r.Has(name) || qualifier != latest && qualifier != template.Alias {
		writeAPIError(w, http.StatusNotFound, "ResourceNotFoundException", "Function not found: "+arn(name)+":"+qualifier)
		return
	}
	payload, ok := readPayload(w, req, kind)
	if !ok {
		return
	}
	switch kind {
	case "", "RequestResponse":
		client, err := clientContext(req.Header.Get("X-Amz-Client-Context"))
		if err != nil {
			writeAPIError(w, http.StatusBadRequest, "InvalidRequestContentException",
				"Client context must be a valid Base64-encoded JSON object.")
			return
		}
		out, err := r.invoke(req.Context(), name, payload, client)
		writeResult(w, out, err)
	case "Event":
		r.invokeAsync(name, payload)
		w.WriteHeader(http.StatusAccepted)
	default:
		writeAPIError(w, http.StatusBadRequest, "InvalidParameterValueException",
			fmt.Sprintf("unknown invocation type %q", kind))
	}
}

// clientContext reads the caller's client context. The service passes it to the function in synchronous invocations
// only.
func clientContext(header string) (client lambdacontext.ClientContext, err error) {
	if header == "" {
		return client, nil
	}
	text, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		return client, err
	}
	return client, json.Unmarshal(text, &client)
}

func writeResult(w http.ResponseWriter, out []byte, err error) {
	w.Header().Set("X-Amz-Executed-Version", latest)
	var failure *FunctionError
	switch {
	case errors.As(err, &failure):
		// The service sets "Unhandled" for every error of a Go function, returned or panicked.
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		out = failure.Payload
	case err != nil:
		writeAPIError(w, http.StatusInternalServerError, "ServiceException", err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	_, _ = w.Write(out)
}

// invokeAsync runs an Event invocation in the background. It retries twice, as the service does, after a shorter pause.
// The runtime's Close waits for it.
func (r *Runtime) invokeAsync(name string, payload []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.active.Add(1) // it is accepted, so it runs
	r.running.Go(func() {
		defer r.active.Add(-1)
		for attempt := 0; ; attempt++ {
			_, err := r.Invoke(r.base, name, payload)
			if err == nil || attempt == asyncRetries || delay.Sleep(r.base, asyncPause) != nil {
				return
			}
		}
	})
}

// readPayload reads the event. It has to be JSON and within the service's limits. An empty body is an empty object.
func readPayload(w http.ResponseWriter, req *http.Request, kind string) ([]byte, bool) {
	limit := MaxSyncPayload
	if kind == "Event" {
		limit = MaxAsyncPayload
	}
	payload, err := io.ReadAll(io.LimitReader(req.Body, int64(limit)+1))
	switch {
	case err != nil:
		writeAPIError(w, http.StatusBadRequest, "InvalidRequestContentException", "Could not read request body")
	case len(payload) > limit:
		writeAPIError(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException",
			fmt.Sprintf("payload is larger than the limit of %d bytes", limit))
	case len(payload) == 0:
		return []byte("{}"), true
	case !json.Valid(payload):
		writeAPIError(w, http.StatusBadRequest, "InvalidRequestContentException",
			"Could not parse request body into json")
	default:
		return payload, true
	}
	return nil, false
}

func writeAPIError(w http.ResponseWriter, status int, errorType, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", errorType)
	w.WriteHeader(status)
	body := map[string]string{"Type": "User", "Message": message, "message": message}
	_ = json.NewEncoder(w).Encode(body) // an error means that the client is gone
}
