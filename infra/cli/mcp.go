package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// callTimeout is longer than the gateway waits for a function.
const callTimeout = 40 * time.Second

// mcpFlags passes each message of a client on this machine to a running stack. It has no tools of its own, so it serves
// what the stack serves. Clients start it without arguments, so that the environment says what it needs:
//
//	THROUGHLINE_URL     the stack's base URL, http://127.0.0.1:8080 by default
//	THROUGHLINE_TOKEN   the user's token, or a server's
//	THROUGHLINE_USER    with a server's token the user to act for; without a token a user of the local stack
func mcpFlags(*flags) func(context.Context) error {
	return func(ctx context.Context) error {
		remote := &remote{
			base:  strings.TrimSuffix(cmp.Or(os.Getenv("THROUGHLINE_URL"), "http://127.0.0.1:8080"), "/"),
			given: os.Getenv("THROUGHLINE_TOKEN"),
			user:  os.Getenv("THROUGHLINE_USER"), http: &http.Client{Timeout: callTimeout},
		}
		if remote.given == "" && remote.user == "" {
			return errors.New("set THROUGHLINE_TOKEN, or THROUGHLINE_USER for a user of the local stack")
		}
		local, err := (&sdk.StdioTransport{}).Connect(ctx)
		if err != nil {
			return err
		}
		if err := pass(ctx, local, remote); ctx.Err() == nil {
			return err
		}
		return nil
	}
}
