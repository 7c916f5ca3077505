package dynamodbtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
)

// SharedVariable names the URL at which a test process gets a database of an engine that it shares with others.
const SharedVariable = "THROUGHLINE_TEST_DATABASES"

// maxProcesses is how many test processes can share an engine: several times as many as packages use one.
const maxProcesses = 100

// Share runs a command with an engine that its test processes share. An engine's start takes longer than the tests of
// most packages. Each process gets a database of its own, because the engine slows down with the streams of all tables
// that a database has had. Share returns the command's *exec.ExitError if it fails. It ends the command when ctx ends.
func Share(ctx context.Context, command *exec.Cmd) (err error) {
	engine, err := dynamodblocal.Start(ctx, dynamodblocal.Options{Databases: maxProcesses})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	databases := &http.Server{Handler: assign(engine), ReadHeaderTimeout: time.Second}
	go func() { _ = databases.Serve(listener) }() // ends with Close
	defer func() { err = errors.Join(err, databases.Close()) }()
	command.Env = append(os.Environ(), SharedVariable+"=http://"+listener.Addr().String())
	if err := command.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	defer stop()
	return command.Wait()
}

// assign answers each request with the endpoint of a database that no other request has got.
func assign(engine *dynamodblocal.Server) http.HandlerFunc {
	var assigned atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		number := int(assigned.Add(1))
		if number > maxProcesses {
			http.Error(w, "no database is left", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, engine.Database(number)) // a process that is gone needs none
	}
}

func takeDatabase(ctx context.Context, url string) (endpoint string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("take a database: %w", err)
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", fmt.Errorf("take a database: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("take a database: %s: %s", answer.Status, body)
	}
	return string(body), nil
}
