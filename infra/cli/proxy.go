package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/throughline/throughline/infra/client"
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

// remote is the stack. Each message goes over a connection of its own, because the stack knows no sessions.
type remote struct {
	base, user string
	given      string // a token, or none for a user of the local stack
	http       *http.Client

	mu     sync.Mutex
	minted string // the token of the user of the local stack
	// revision is the one of the protocol that initialize has agreed on, for messages that do not name theirs.
	revision string
}

// call sends a message and returns the answer. A notification has none.
func (r *remote) call(ctx context.Context, request *jsonrpc.Request) jsonrpc.Message {
	answer, err := r.send(ctx, request)
	switch {
	case !request.IsCall():
		return nil
	case err != nil:
		return &jsonrpc.Response{
			ID: request.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()},
		}
	}
	var result struct{ ProtocolVersion string }
	if response, ok := answer.(*jsonrpc.Response); ok && request.Method == "initialize" &&
		json.Unmarshal(response.Result, &result) == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.revision = result.ProtocolVersion
	}
	return answer
}

func (r *remote) send(ctx context.Context, request *jsonrpc.Request) (jsonrpc.Message, error) {
	transport := sdk.StreamableClientTransport{
		Endpoint: r.base + "/mcp", HTTPClient: &http.Client{Transport: r}, DisableStandaloneSSE: true, MaxRetries: -1,
	}
	stack, err := transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stack.Close() }() // the answer is there, or it is not
	if err := stack.Write(ctx, request); err != nil || !request.IsCall() {
		return nil, err
	}
	return stack.Read(ctx)
}

// RoundTrip makes a request as the user. It asks for another token of the local stack once.
func (r *remote) RoundTrip(in *http.Request) (*http.Response, error) {
	out, refused, err := r.attempt(in, "")
	if err == nil && out.StatusCode == http.StatusUnauthorized && r.given == "" {
		_ = out.Body.Close()
		if in.Body, err = in.GetBody(); err == nil {
			out, _, err = r.attempt(in, refused)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: start the stack, or correct THROUGHLINE_URL", r.base)
	}
	if out.StatusCode >= http.StatusBadRequest && out.Header.Get("Content-Type") == "application/problem+json" {
		defer out.Body.Close()
		var problem client.Problem
		_ = json.NewDecoder(out.Body).Decode(&problem) // without a detail the status says enough
		return nil, fmt.Errorf("the stack answers %d: %s", out.StatusCode, problem.Detail)
	}
	return out, nil
}

// attempt makes a request with a token, another one than the refused. It returns the token.
func (r *remote) attempt(in *http.Request, refused string) (out *http.Response, token string, err error) {
	r.mu.Lock()
	if r.given == "" && r.minted == refused {
		var answer struct{ Token string }
		err = client.New(r.base).Do(in.Context(), http.MethodPost, "/dev/tokens", map[string]any{"userId": r.user}, &answer)
		r.minted = answer.Token
	}
	token, revision := cmp.Or(r.given, r.minted), r.revision
	r.mu.Unlock()
	if err != nil {
		return nil, "", err
	}
	in = in.Clone(in.Context())
	in.Header.Set("Authorization", "Bearer "+token)
	if r.given != "" && r.user != "" {
		in.Header.Set("Throughline-User", url.PathEscape(r.user))
	}
	if in.Header.Get("Mcp-Protocol-Version") == "" && revision != "" {
		in.Header.Set("Mcp-Protocol-Version", revision)
	}
	out, err = r.http.Do(in)
	return out, token, err
}
