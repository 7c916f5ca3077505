// Command restore restores a stage's table from its point-in-time recovery into a new table, and has the stage use
// that. It also makes a stage read-only and lets it be written again. `make restore` and `make read-only` run it:
//
//	go run ./infra/restore -at 2026-02-05T18:30:00Z [-env dev] [-config samconfig.toml]
//	go run ./infra/restore -close | -open
//
// It can be stopped at any time, and goes on when it is started again with the same time. docs/restore.md leads through
// it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/function"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "restore:", err)
		os.Exit(1)
	}
}

type options struct {
	env, config     string
	at              time.Time
	isClose, isOpen bool
}

func parse(arguments []string) (options, error) {
	var o options
	var at string
	flags := flag.NewFlagSet("restore", flag.ContinueOnError)
	flags.StringVar(&o.env, "env", "dev", "stage of the configuration")
	flags.StringVar(&o.config, "config", "samconfig.toml", "the configuration")
	flags.StringVar(&at, "at", "", "time to restore, as in 2026-02-05T18:30:00Z")
	flags.BoolVar(&o.isClose, "close", false, "make the stage read-only, and do nothing else")
	flags.BoolVar(&o.isOpen, "open", false, "let a read-only stage be written again, and do nothing else")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if o.isClose || o.isOpen {
		if at != "" || o.isClose && o.isOpen {
			return o, errors.New("give one of -at, -close and -open")
		}
		return o, nil
	}
	var err error
	if o.at, err = time.Parse(time.RFC3339, at); err != nil {
		return o, fmt.Errorf("-at=%s: must be a time such as 2026-02-05T18:30:00Z", at)
	}
	return o, nil
}

func command(ctx context.Context, arguments []string, out io.Writer) error {
	o, err := parse(arguments)
	if err != nil {
		return err
	}
	stage, err := deployment.Open(o.config, o.env)
	if err != nil {
		return err
	}
	r, err := connect(ctx, stage, o.at, out)
	if err != nil {
		return err
	}
	if !o.isClose && !o.isOpen {
		return r.run(ctx)
	}
	if err := r.find(ctx); err != nil {
		return err
	}
	is := "can be written"
	if o.isClose {
		is = "is read-only"
	}
	was, err := r.setReadOnly(ctx, r.arn(r.source), o.isClose)
	if err != nil {
		return err
	}
	if was {
		is += " already"
	}
	fmt.Fprintf(out, "%s: %s %s\n", stage.Stack, r.source, is)
	return nil
}

// connect returns the restoration of a stage with the operator's credentials, which must be of the stage's account.
func connect(ctx context.Context, of deployment.Stage, at time.Time, out io.Writer) (*restore, error) {
	cfg, operator, err := of.Connect(ctx)
	if err != nil {
		return nil, err
	}
	tables := dynamodb.NewFromConfig(cfg)
	return &restore{
		out: out, at: at.Truncate(time.Second), tables: tables,
		operator: principals(operator), updater: deployment.NewUpdater(cfg, of, out),
		services: preflight.Services{
			Table:      tables,
			KeyManager: deployment.KeyManager(kms.NewFromConfig(cfg)),
			// The stream is new, so nobody reads it.
			Consumers: func(context.Context, string) ([]string, error) { return nil, nil },
		},
		eraser: func(ctx context.Context, table string) (eraser, error) {
			environ, err := environment(ctx, cfg, of.Stack+"-messages")
			if err != nil {
				return nil, err
			}
			return newEraser(ctx, environ, table)
		},
		now: time.Now,
	}, nil
}

// environment returns the variables with which a function serves, with the operator's credentials.
func environment(ctx context.Context, cfg aws.Config, name string) (map[string]string, error) {
	out, err := deployment.Environment(ctx, lambda.NewFromConfig(cfg), name)
	if err != nil {
		return nil, err
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the AWS credentials: %w", err)
	}
	out["AWS_REGION"], out["AWS_ACCESS_KEY_ID"] = cfg.Region, keys.AccessKeyID
	out["AWS_SECRET_ACCESS_KEY"], out["AWS_SESSION_TOKEN"] = keys.SecretAccessKey, keys.SessionToken
	return out, nil
}

// newEraser returns what erases in a table, with the configuration of a function. It writes nothing into the ledger,
// which has these erasures.
func newEraser(ctx context.Context, environ map[string]string, table string) (*erasure.Repeater, error) {
	environ["TABLE_NAME"], environ["ERASURES_TABLE"] = table, ""
	cfg, err := config.Parse(environ)
	if err != nil {
		return nil, err
	}
	if err := function.UseApp(ctx, cfg); err != nil {
		return nil, err
	}
	if cfg, err = function.WithSecrets(ctx, cfg, config.PineconeKey); err != nil {
		return nil, err
	}
	db := function.Table(cfg)
	service, err := function.Eraser(cfg, function.Runtime{}, db)
	if err != nil {
		return nil, err
	}
	return &erasure.Repeater{Service: service, Session: dynamo.NewSessionStore(db).Session}, nil
}
