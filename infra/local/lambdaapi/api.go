package lambdaapi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/throughline/throughline/infra/local/devapi"
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
	return mux
}

func (r *Runtime) serveInvoke(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Amzn-Requestid", newID())
	name, qualifier := functionName(req.PathValue("name"))
	qualifier = cmp.Or(qualifier, req.URL.Query().Get("Qualifier"), latest)
	if !r.Has(name) || qualifier != latest && qualifier != template.Alias {
		writeAPIError(w, http.StatusNotFound, "ResourceNotFoundException", "Function not found: "+arn(name)+":"+qualifier)
		return
	}
	isEvent, limit := req.Header.Get("X-Amz-Invocation-Type") == "Event", MaxSyncPayload
	if isEvent {
		limit = maxAsyncPayload
	}
	payload, err := io.ReadAll(http.MaxBytesReader(w, req.Body, int64(limit)))
	if err != nil {
		writeAPIError(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException",
			fmt.Sprintf("payload is larger than the limit of %d bytes", limit))
		return
	}
	if len(payload) == 0 {
		payload = []byte("{}")
	}
	if isEvent {
		r.invokeAsync(name, payload)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out, err := r.invoke(req.Context(), name, payload, clientContext(req.Header.Get("X-Amz-Client-Context")))
	writeResult(w, out, err)
}

// clientContext reads the caller's client context. The service passes it to the function in synchronous invocations
// only.
func clientContext(header string) (client lambdacontext.ClientContext) {
	text, _ := base64.StdEncoding.DecodeString(header) // the header is an SDK's, or empty
	_ = json.Unmarshal(text, &client)
	return client
}

func writeResult(w http.ResponseWriter, out []byte, err error) {
	var failure *FunctionError
	switch {
	case errors.As(err, &failure):
		// The service sets "Unhandled" for every error of a Go function, returned or panicked.
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		out, _ = json.Marshal(failure) // texts always marshal
	case err != nil:
		writeAPIError(w, http.StatusInternalServerError, "ServiceException", err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
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

func writeAPIError(w http.ResponseWriter, status int, errorType, message string) {
	w.Header().Set("X-Amzn-Errortype", errorType)
	devapi.Answer(w, status, "application/json", map[string]string{"Type": "User", "Message": message})
}
