// Package restore restores a stage's table from its point-in-time recovery into a new table, and has the stage use
// that. It also makes a stage read-only and lets it be written again. docs/restore.md leads through it.
package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/preflight"
)

// Restore is the restoration of one stage to a time. Every step asks what is there before it does anything, so that a
// run that was stopped anywhere is repeated as a whole.
type Restore struct {
	out      io.Writer
	at       time.Time
	operator []string // the patterns of the ARNs that may write meanwhile
	tables   *dynamodb.Client
	updater  *deployment.Updater
	services preflight.Services
	// environ returns the variables with which functions of the stage serve, for the operator.
	environ func(ctx context.Context) (map[string]string, error)

	source, target, ledger, tablePrefix string
	// isSwitched says that the stack has the new table already.
	isSwitched bool
	// afterStep is called after each step. Tests end a run there.
	afterStep func(name string) error
}

// restoredName is what the name of a restored table ends with.
var restoredName = regexp.MustCompile(`-\d{8}-\d{6}$`)

// find reads the tables of the stack. The name of the new table follows from the time, so that a repeat finds it.
func (r *Restore) find(ctx context.Context) error {
	found, err := deployment.Find(ctx, r.updater.Stacks, r.updater.Stage.Stack)
	if err != nil {
		return err
	}
	r.source, r.ledger = deployment.Output(found, tableOutput), deployment.Output(found, "ErasuresTableName")
	if r.source == "" || r.ledger == "" {
		return errors.New("the stack has no outputs TableName and ErasuresTableName: deploy this version of the " +
			"template first")
	}
	table, err := r.describe(ctx, r.source)
	if err != nil {
		return err
	}
	if table == nil {
		return fmt.Errorf("there is no table %s: restore its last backup in the console of DynamoDB, and adopt that table "+
			"(docs/adopting.md)", r.source)
	}
	arn := aws.ToString(table.TableArn)
	r.tablePrefix = arn[:len(arn)-len(r.source)]
	r.target = restoredName.ReplaceAllString(r.source, "") + r.at.UTC().Format("-20060102-150405")
	if r.isSwitched = r.source == r.target; !r.isSwitched {
		return nil
	}
	tags, err := r.tags(ctx, r.target)
	if err != nil {
		return err
	}
	for _, t := range tags {
		if aws.ToString(t.Key) == tagSource {
			r.source = aws.ToString(t.Value)
		}
	}
	return nil
}

// Run restores the stage. While its stack is updated, nobody knows which table it has.
func (r *Restore) Run(ctx context.Context) error {
	if _, err := r.updater.Settled(ctx); err != nil {
		return err
	}
	if err := r.find(ctx); err != nil {
		return err
	}
	began := time.Now()
	steps := []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{"close", r.closeSource},
		{"restore", r.restoreTable},
		{"settings", r.applySettings},
		{"preflight", r.preflight},
		{"erase again", r.eraseAgain},
		{"rights", r.allowTarget},
		{"switch", r.switchStack},
		{"open", r.openTarget},
	}
	for i, s := range steps {
		did, err := s.do(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w; the same command goes on from here", s.name, err)
		}
		fmt.Fprintf(r.out, "%d of %d  %s: %s\n", i+1, len(steps), s.name, did)
		if r.afterStep != nil {
			if err := r.afterStep(s.name); err != nil {
				return err
			}
		}
	}
	took := time.Since(began).Round(time.Second)
	fmt.Fprintf(r.out, "restored in %s: %s has what was written until %s\n", took, r.updater.Stage.Stack, stamp(r.at))
	return r.sayNext(ctx)
}

func (r *Restore) closeSource(ctx context.Context) (string, error) {
	was, err := r.setReadOnly(ctx, r.arn(r.source), true)
	if was {
		return r.source + " is read-only already", err
	}
	return r.source + " is read-only: every door answers writes with 503 and Retry-After", err
}

// eraseWithin is how long one erasure may take in one call.
const eraseWithin = time.Minute

// eraseAgain erases in the new table what the ledger says was erased.
func (r *Restore) eraseAgain(ctx context.Context) (string, error) {
	if r.isSwitched {
		return "done before the switch", nil
	}
	environ, err := r.environ(ctx)
	if err != nil {
		return "", err
	}
	e, err := newEraser(ctx, environ, r.target)
	if err != nil {
		return "", err
	}
	var entries, again int
	ledger := dynamo.NewLedgerStore(dynamo.New(r.tables, r.ledger))
	for entry, err := range ledger.Entries(ctx, r.tables) {
		if err != nil {
			return "", err
		}
		entries++
		had, err := e.EraseAgain(ctx, entry, time.Now().Add(eraseWithin))
		if err != nil {
			return "", fmt.Errorf("user %s: %w", entry.User, err)
		}
		if had {
			again++
		}
	}
	return fmt.Sprintf("%d of the %d entries of the ledger were there again and are erased", again, entries), nil
}

func (r *Restore) openTarget(ctx context.Context) (string, error) {
	was, err := r.setReadOnly(ctx, r.arn(r.target), false)
	if was {
		return r.target + " can be written already", err
	}
	return r.target + " can be written; " + r.source + " stays read-only", err
}

// sayNext says what the operator has to do beside the command.
func (r *Restore) sayNext(ctx context.Context) error {
	t, err := r.describe(ctx, r.target)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, `next:
  - put these into parameter_overrides of the stage, or the next deployment makes an empty table:
      "ExistingTableName=%s",
      "ExistingTableStreamArn=%s",
  - rebuild the vectors: throughline reindex (docs/restore.md says why and when)
`, r.target, aws.ToString(t.LatestStreamArn))
	return nil
}
