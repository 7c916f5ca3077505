// Command app gives a stage the registry of an app: it checks the file, stores it in the stage's table under its
// version, and updates the functions to read that version. The stack's code and its other parameters stay. `make app`
// runs it.
//
//	go run ./infra/app -file app.yaml [-env dev] [-config samconfig.toml] [-fresh]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/registry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("app", flag.ContinueOnError)
	path := flags.String("file", "", "the app's registry")
	name := flags.String("env", "dev", "stage of the configuration")
	config := flags.String("config", "samconfig.toml", "the configuration")
	isFresh := flags.Bool("fresh", false, "no user has sessions in the contexts of the example that ships")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	file, err := os.ReadFile(*path)
	if err != nil {
		return fmt.Errorf("read the app's registry: %w", err)
	}
	app, err := registry.Parse(file)
	if err != nil {
		return fmt.Errorf("%s:\n%w", *path, err)
	}
	of, err := deployment.Open(*config, *name)
	if err != nil {
		return err
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(of.Region))
	if err != nil {
		return err
	}
	s := stage{
		name: of.Stack, isFresh: *isFresh, stacks: cloudformation.NewFromConfig(cfg),
		files: func(table string) files {
			return dynamo.NewAppStore(dynamo.New(dynamodb.NewFromConfig(cfg), table))
		},
	}
	changed, err := s.use(ctx, app, string(file))
	if err != nil {
		return err
	}
	if !changed {
		fmt.Fprintf(out, "%s has the version %s already\n", of.Stack, app.Version)
		return nil
	}
	fmt.Fprintf(out, "%s changes to the version %s: new requests have it when the update is complete\n",
		of.Stack, app.Version)
	if _, given := of.Given[parameter]; given {
		fmt.Fprintf(out, "%s names another version of %s: remove it there, or the next deployment goes back\n",
			*config, parameter)
	}
	return nil
}

// parameter names the version in the template.
const parameter = "AppVersion"

// files keeps the files of a table.
type files interface {
	Put(ctx context.Context, version, file string) error
	File(ctx context.Context, version string) (string, error)
}

var (
	errNoTable   = errors.New("the stack has no output TableName: deploy this version of the template first")
	errNoVersion = errors.New("the stack has no parameter " + parameter + ": deploy this version of the template first")
)

// stage is the stack whose registry is changed.
type stage struct {
	name string
	// isFresh is true if nobody has sessions yet in the contexts of the example that ships.
	isFresh bool
	stacks  deployment.Stacks
	files   func(table string) files
}

// use stores the file and updates the stack to its version. It reports whether the stack has another version. A
// registry that loses contexts of the one before is refused, before anything is written.
func (s stage) use(ctx context.Context, app *registry.App, file string) (changed bool, err error) {
	found, err := deployment.Find(ctx, s.stacks, s.name)
	if err != nil {
		return false, err
	}
	table := deployment.Output(found, "TableName")
	if table == "" {
		return false, errNoTable
	}
	before, ok := deployment.Parameter(found, parameter)
	if !ok {
		return false, errNoVersion
	}
	if before == app.Version {
		return false, nil
	}
	store := s.files(table)
	if err := s.checkSuccessor(ctx, store, before, app); err != nil {
		return false, err
	}
	if err := store.Put(ctx, app.Version, file); err != nil {
		return false, err
	}
	given := map[string]string{parameter: app.Version}
	if err := deployment.Update(ctx, s.stacks, s.name, found, app.Version, given); err != nil {
		return false, err
	}
	return true, nil
}

func (s stage) checkSuccessor(ctx context.Context, store files, before string, app *registry.App) error {
	if before == "" {
		err := registry.CheckSuccessor(registry.Live(), app)
		if err == nil || s.isFresh {
			return nil
		}
		return fmt.Errorf("the stack has the example that ships, and:\n%w\n"+
			"If no user has sessions in them yet, say so with FRESH=1", err)
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
