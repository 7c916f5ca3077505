package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
)

// demoFlags plays the example of unified-conversation-context through the public HTTP API: a user swaps an exercise in
// the program designer, then asks the coach about tomorrow, then goes back. After each turn it prints what the prompt
// says about the other screen, and the prompt's blocks and tokens. If no stack answers at the address, it starts one
// and stops it at the end.
func demoFlags(f *flags) func(context.Context) error {
	base := f.String("base", "http://127.0.0.1:8080", "address of the stack; a fresh one is started where none answers")
	return func(ctx context.Context) error {
		if answers(ctx, *base) {
			return f.tell(ctx, *base)
		}
		fmt.Fprintln(f.out, "no stack is running: starting a fresh one")
		return launch.With(ctx, nil, func(stack *launch.Stack) error { return f.tell(ctx, stack.Base) })
	}
}

func (f *flags) tell(ctx context.Context, base string) error {
	s := &story{api: client.New(base), out: f.out, run: strconv.FormatInt(time.Now().UnixMilli(), 36)}
	if err := s.play(ctx); err != nil {
		return err
	}
	// The background work of the last turn ends before the stack does.
	return client.New(base).Do(ctx, http.MethodPost, "/dev/settle", map[string]any{"timeoutMs": 10000}, nil)
}

func answers(ctx context.Context, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return client.New(base).Do(ctx, http.MethodGet, "/healthz", nil, nil) == nil
}
