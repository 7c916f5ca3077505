package dynamodbtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
)

// SharedVariable names the engine that a test process shares with others.
const SharedVariable = "THROUGHLINE_TEST_ENGINE"

// databases is how many a shared engine has: several times as many as packages use one.
const databases = 100

// Share runs a command with an engine that its test processes share. An engine's start takes longer than the tests of
// most packages. Share returns the command's *exec.ExitError if it fails. It ends the command when ctx ends.
func Share(ctx context.Context, command *exec.Cmd) (err error) {
	engine, err := dynamodblocal.Start(ctx, dynamodblocal.Options{Databases: databases})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	command.Env = append(os.Environ(), SharedVariable+"="+engine.Endpoint())
	if err := command.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	defer stop()
	return command.Wait()
}

// database is this process's database of a shared engine. The engine slows down with the streams of all tables that a
// database has had, so few processes have the same. Their tables have names of their own.
func database(engine string) string { return engine + "/" + strconv.Itoa(os.Getpid()%databases+1) }
