package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// pass passes the messages of a connection to the stack, several at a time, and the answers back. It ends with the
// connection.
func pass(ctx context.Context, local sdk.Connection, remote *remote) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	var write sync.Mutex
	for {
		message, err := local.Read(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		request, isRequest := message.(*jsonrpc.Request)
		if !isRequest {
			continue // the stack asks nothing of a client
		}
		calls.Go(func() {
			answer := remote.call(ctx, request)
			if answer == nil {
				return
			}
			write.Lock()
			defer write.Unlock()
			_ = local.Write(ctx, answer) // an error means that the client is gone, which Read reports
		})
	}
}

// remote is the stack.
type remote struct {
	base, user string
	client     *http.Client

	mu sync.Mutex
	// token is the given one, or that of the user of the local stack.
	token  string
	minted bool
	// revision is the one of the protocol that initialize has agreed on, for messages that do not name theirs.
	revision string
}

// call sends a message and returns the answer. A notification has none.
func (r *remote) call(ctx context.Context, request *jsonrpc.Request) jsonrpc.Message {
	body, err := r.send(ctx, request)
	if !request.IsCall() {
		return nil
	}
	if err == nil {
		var answer jsonrpc.Message
		if answer, err = jsonrpc.DecodeMessage(body); err == nil {
			r.learn(request, answer)
			return answer
		}
	}
	return &jsonrpc.Response{
		ID: request.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()},
	}
}

// send sends a message and returns the body of the answer. It asks for another token of the local stack once.
func (r *remote) send(ctx context.Context, request *jsonrpc.Request) ([]byte, error) {
	token, err := r.credential(ctx, "")
	if err != nil {
		return nil, err
	}
	status, body, err := r.forward(ctx, request, token)
	if err == nil && status == http.StatusUnauthorized {
		if token, err = r.credential(ctx, token); err == nil {
			status, body, err = r.forward(ctx, request, token)
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s does not answer: start the stack, or correct THROUGHLINE_URL", r.base)
	case status < http.StatusMultipleChoices || isMessage(body):
		return body, nil
	case status == http.StatusUnauthorized:
		return nil, fmt.Errorf("THROUGHLINE_TOKEN is not accepted: %s", detail(status, body))
	}
	return nil, errors.New(detail(status, body))
}

// isMessage reports whether the body of a refusal is an answer of the protocol.
func isMessage(body []byte) bool {
	answer, err := jsonrpc.DecodeMessage(body)
	response, ok := answer.(*jsonrpc.Response)
	return err == nil && ok && response.Error != nil
}

// detail returns what a refusal says.
func detail(status int, body []byte) string {
	var problem struct{ Detail string }
	if json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		return problem.Detail
	}
	return fmt.Sprintf("the stack answered %d %s", status, http.StatusText(status))
}

func (r *remote) forward(ctx context.Context, request *jsonrpc.Request, token string) (int, []byte, error) {
	message, err := jsonrpc.EncodeMessage(request)
	if err != nil {
		return 0, nil, err
	}
	header := http.Header{"Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + token}}
	if r.user != "" && !r.minted {
		header.Set("Throughline-User", url.PathEscape(r.user))
	}
	r.setProtocolHeaders(header, request)
	return r.post(ctx, "/mcp", message, header)
}

// post returns the status and the body of an answer.
func (r *remote) post(ctx context.Context, path string, body []byte, header http.Header) (int, []byte, error) {
	in, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(r.base, "/")+path,
		bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	in.Header = header
	in.Header.Set("Content-Type", "application/json")
	out, err := r.client.Do(in)
	if err != nil {
		return 0, nil, err
	}
	defer out.Body.Close()
	answer, err := io.ReadAll(out.Body)
	return out.StatusCode, answer, err
}

// setProtocolHeaders repeats parts of a message as the protocol's headers, with which a server compares them.
func (r *remote) setProtocolHeaders(h http.Header, request *jsonrpc.Request) {
	var params struct {
		Name, URI string
		Meta      struct {
			Revision string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(request.Params, &params) // the stack says what is wrong with them
	revision := params.Meta.Revision
	if revision == "" {
		r.mu.Lock()
		revision = r.revision
		r.mu.Unlock()
	}
	for name, value := range map[string]string{
		"MCP-Protocol-Version": revision, "Mcp-Method": request.Method, "Mcp-Name": params.Name + params.URI,
	} {
		if value != "" {
			h.Set(name, headerValue(value))
		}
	}
}

// headerValue encodes what is no ASCII, as the protocol has it.
func headerValue(text string) string {
	for _, r := range text {
		if r < ' ' || r > '~' {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
		}
	}
	return text
}

// learn remembers the revision that initialize has agreed on.
func (r *remote) learn(request *jsonrpc.Request, answer jsonrpc.Message) {
	response, ok := answer.(*jsonrpc.Response)
	if !ok || request.Method != "initialize" {
		return
	}
	var result struct{ ProtocolVersion string }
	if json.Unmarshal(response.Result, &result) == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.revision = result.ProtocolVersion
	}
}

// credential returns the token. Without a given one it is one of the local stack, another one than the refused.
func (r *remote) credential(ctx context.Context, refused string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token != "" && (r.token != refused || !r.minted) {
		return r.token, nil
	}
	asked, err := json.Marshal(map[string]string{"userId": r.user})
	if err != nil {
		return "", err
	}
	_, body, err := r.post(ctx, "/dev/tokens", asked, http.Header{})
	if err != nil {
		return "", err
	}
	var out struct{ Token string }
	if json.Unmarshal(body, &out) != nil || out.Token == "" {
		return "", fmt.Errorf("%s gives no tokens: set THROUGHLINE_TOKEN", r.base)
	}
	r.token, r.minted = out.Token, true
	return r.token, nil
}
