// Command mcp speaks the Model Context Protocol over standard input and output, for clients on this machine, and passes
// each message to a running stack:
//
//	THROUGHLINE_URL     the stack's base URL, http://127.0.0.1:8080 by default
//	THROUGHLINE_TOKEN   the user's token, or a server's
//	THROUGHLINE_USER    with a server's token the user to act for; without a token a user of the local stack
//
// It has no tools of its own, so it serves what the stack serves.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// callTimeout is longer than the gateway waits for a function.
const callTimeout = 40 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	remote := &remote{
		base: cmp.Or(os.Getenv("THROUGHLINE_URL"), "http://127.0.0.1:8080"), token: os.Getenv("THROUGHLINE_TOKEN"),
		user: os.Getenv("THROUGHLINE_USER"), client: &http.Client{Timeout: callTimeout},
	}
	if err := run(ctx, remote, &sdk.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "throughline mcp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, remote *remote, transport sdk.Transport) error {
	if remote.token == "" && remote.user == "" {
		return errors.New("set THROUGHLINE_TOKEN, or THROUGHLINE_USER for a user of the local stack")
	}
	local, err := transport.Connect(ctx)
	if err != nil {
		return err
	}
	return pass(ctx, local, remote)
}
