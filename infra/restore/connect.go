package restore

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/function"
)

// New returns the restoration of a stage to a time, by an operator with the configuration's credentials.
func New(cfg aws.Config, of deployment.Stage, operator string, at time.Time, out io.Writer) *Restore {
	tables := dynamodb.NewFromConfig(cfg)
	return &Restore{
		out: out, at: at.Truncate(time.Second), tables: tables,
		operator: principals(operator), updater: deployment.NewUpdater(cfg, of, out),
		services: preflight.Services{
			Table:      tables,
			KeyManager: deployment.KeyManager(kms.NewFromConfig(cfg)),
			// The stream is new, so nobody reads it.
			Consumers: func(context.Context, string) ([]string, error) { return nil, nil },
		},
		environ: func(ctx context.Context) (map[string]string, error) {
			return deployment.OperatorEnvironment(ctx, cfg, of.Stack+"-messages")
		},
	}
}

// SetReadOnly makes the stage read-only, or lets it be written again, and says so.
func (r *Restore) SetReadOnly(ctx context.Context, isReadOnly bool) error {
	if err := r.find(ctx); err != nil {
		return err
	}
	is := "can be written"
	if isReadOnly {
		is = "is read-only"
	}
	was, err := r.setReadOnly(ctx, r.arn(r.source), isReadOnly)
	if err != nil {
		return err
	}
	if was {
		is += " already"
	}
	fmt.Fprintf(r.out, "%s: %s %s\n", r.updater.Stage.Stack, r.source, is)
	return nil
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
