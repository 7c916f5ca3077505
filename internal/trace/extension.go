package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// waitingEnds is how many ends of invocations may wait for the extension. It takes one in each invocation.
const waitingEnds = 8

// extension is an extension of Lambda in the function's own process (AWS Lambda Developer Guide, "Extensions API"). An
// invocation ends for Lambda when the function has answered and each extension asks for the next event. The caller has
// the answer by then, so that what is sent in between makes nobody wait, and is sent before the process is frozen.
type extension struct {
	client *http.Client
	api    string
	ended  <-chan string
	flush  func(ctx context.Context)
	report func(ctx context.Context, op string, err error)
}

// The headers of the Extensions API.
const (
	extensionName = "Lambda-Extension-Name"
	extensionID   = "Lambda-Extension-Identifier"
)

// start registers the extension, which has to happen before the first invocation, and follows the invocations.
func (e *extension) start(ctx context.Context) error {
	header := http.Header{extensionName: {"throughline-spans"}, "Content-Type": {"application/json"}}
	registered, _, err := e.call(ctx, http.MethodPost, "register", header, `{"events":["INVOKE"]}`)
	if err != nil {
		return err
	}
	go e.follow(ctx, registered.Get(extensionID))
	return nil
}

// event is an event of the Extensions API.
type event struct {
	RequestID  string `json:"requestId"`
	DeadlineMS int64  `json:"deadlineMs"`
}

// follow sends the spans of each invocation at its end. A failure of the API ends it: then Lambda ends the process.
func (e *extension) follow(ctx context.Context, id string) {
	for {
		_, body, err := e.call(ctx, http.MethodGet, "event/next", http.Header{extensionID: {id}}, "")
		var next event
		if err == nil {
			err = json.Unmarshal(body, &next)
		}
		if err != nil {
			e.report(ctx, "follow invocations", err)
			return
		}
		e.await(ctx, next)
		e.flush(ctx)
	}
}

// await waits for the end of an invocation, at most until its deadline.
func (e *extension) await(ctx context.Context, of event) {
	ctx, cancel := context.WithDeadline(ctx, time.UnixMilli(of.DeadlineMS))
	defer cancel()
	for {
		select {
		case id := <-e.ended:
			if id == of.RequestID {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// call calls the Extensions API and returns the headers and the body of the answer.
func (e *extension) call(ctx context.Context, method, path string, header http.Header, body string) (
	http.Header, []byte, error,
) {
	request, err := http.NewRequestWithContext(ctx, method,
		"http://"+e.api+"/2020-01-01/extension/"+path, bytes.NewBufferString(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header = header
	response, err := e.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("extensions API: status %d", response.StatusCode)
	}
	return response.Header, answer, err
}
