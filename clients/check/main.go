// Command check runs the tests of the clients, or of the adapters, beside what they need: the server of the test
// vectors, whose address is in VECTORS, and a fresh local stack, whose address is in THROUGHLINE.
//
//	go run ./clients/check COMMAND [ARGUMENT...]
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/throughline/throughline/clients/vectors"
	"github.com/throughline/throughline/infra/launch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command []string) (err error) {
	if len(command) == 0 {
		return errors.New("name the command that tests the clients or the adapters")
	}
	played, err := vectors.New()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: played, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() {
		err = errors.Join(err, server.Close())
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
	}()
	return launch.With(ctx, nil, func(stack *launch.Stack) error {
		test := exec.CommandContext(ctx, command[0], command[1:]...)
		test.Env = append(os.Environ(), "VECTORS=http://"+listener.Addr().String(), "THROUGHLINE="+stack.Base)
		test.Stdout, test.Stderr = os.Stdout, os.Stderr
		return test.Run()
	})
}
