// Package app gives a stage the registry of an app: it stores the file in the stage's table under its version, updates
// the functions to read that version, and waits until all of them serve with it. The stack's code and its other
// parameters stay.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/registry"
)

// File is the checked registry of an app, with its text.
type File struct {
	App  *registry.App
	Text string
}

// Read reads and checks the registry of an app.
func Read(path string) (File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read the app's registry: %w", err)
	}
	app, err := registry.Parse(text)
	if err != nil {
		return File{}, fmt.Errorf("%s:\n%w", path, err)
	}
	return File{App: app, Text: string(text)}, nil
}

// parameter names the version in the template.
const parameter = "AppVersion"

var (
	errNoTable   = errors.New("the stack has no output TableName: deploy this version of the template first")
	errNoVersion = errors.New("the stack has no parameter " + parameter + ": deploy this version of the template first")
)

// Give gives a stage a registry: it stores the file and updates the stack to its version. isFresh says that nobody has
// sessions yet in the contexts of the example that ships. A registry that loses contexts of the one before is refused,
// before anything is written.
func Give(ctx context.Context, cfg aws.Config, of deployment.Stage, file File, isFresh, isUrgent bool, out io.Writer,
) error {
	updater, app := deployment.NewUpdater(cfg, of, out), file.App
	found, err := deployment.Find(ctx, updater.Stacks, of.Stack)
	if err != nil {
		return err
	}
	table := deployment.Output(found, "TableName")
	if table == "" {
		return errNoTable
	}
	before, ok := deployment.Parameter(found, parameter)
	if !ok {
		return errNoVersion
	}
	store := dynamo.NewAppStore(dynamo.New(dynamodb.NewFromConfig(cfg), table))
	if before != app.Version {
		if err := checkSuccessor(ctx, store, before, app, isFresh); err != nil {
			return err
		}
		if err := store.Put(ctx, app.Version, file.Text); err != nil {
			return err
		}
	}
	given := map[string]string{parameter: app.Version}
	if isUrgent {
		given[deployment.Gradual] = "false"
	}
	changed, err := updater.Update(ctx, given, map[string]string{"APP_VERSION": app.Version})
	if err != nil {
		return err
	}
	if !changed {
		fmt.Fprintf(out, "%s has the version %s already\n", of.Stack, app.Version)
		return nil
	}
	fmt.Fprintf(out, "all functions of %s serve with the version %s\n", of.Stack, app.Version)
	if _, given := of.Given[parameter]; given {
		fmt.Fprintf(out, "the configuration names another version of %s: remove it there, or the next deployment goes "+
			"back\n", parameter)
	}
	return nil
}

func checkSuccessor(ctx context.Context, store *dynamo.AppStore, before string, app *registry.App, isFresh bool,
) error {
	if before == "" {
		err := registry.CheckSuccessor(registry.Live(), app)
		if err == nil || isFresh {
			return nil
		}
		return fmt.Errorf("the stack has the example that ships, and:\n%w\n"+
			"If no user has sessions in them yet, say so with -fresh", err)
	}
	text, err := store.File(ctx, before)
	if err != nil {
		return err
	}
	old, err := registry.Parse([]byte(text))
	if err != nil {
		return fmt.Errorf("the registry %s that the stack has: %w", before, err)
	}
	return registry.CheckSuccessor(old, app)
}
