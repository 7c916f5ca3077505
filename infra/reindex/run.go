package reindex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/time/rate"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/token"
	"github.com/throughline/throughline/internal/vector"
)

// Options say what to fill from what, and how fast.
type Options struct {
	// Function is the deployed function to take the configuration from. Environ has it otherwise.
	Function string
	Environ  map[string]string
	// DryRun says how much there is to do and what it costs, and writes nothing.
	DryRun                                    bool
	Segments, TextsPerSecond, TokensPerMinute int
	Out                                       io.Writer
}

// every is the time between two lines of progress.
const every = 10 * time.Second

// Run fills the index, and reports whether every user is in it then. An error says why it could not begin.
func Run(ctx context.Context, o Options) (isWhole bool, err error) {
	if err := o.check(); err != nil {
		return false, err
	}
	d, next, err := connect(ctx, o)
	if err != nil {
		return false, err
	}
	d.Report = func(user conversation.UserID, err error) {
		fmt.Fprintf(o.Out, "left for the next run: user %s: %v\n", user, err)
	}
	r := report{out: o.Out, dryRun: o.DryRun, embedding: next.Embedding, prices: readPrices(), began: time.Now()}
	fmt.Fprintf(o.Out, "to the index at %s (%s), %d segments\n", next.Host, next.Embedding.Version(), o.Segments)
	x := New(d)
	stop := r.repeat(ctx, x.Counts)
	err = x.Run(ctx)
	stop()
	r.end(x.Counts())
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(o.Out, "stopped; the same command goes on from here")
	case err != nil:
		fmt.Fprintf(o.Out, "%v; the same command goes on from here\n", err)
	case x.Counts().Left > 0:
		fmt.Fprintln(o.Out, "some users are left; the same command reindexes them")
	default:
		return true, nil
	}
	return false, nil
}

func (o Options) check() error {
	const maxSegments = 1000
	switch {
	case o.Segments < 1 || o.Segments > maxSegments:
		return fmt.Errorf("-segments=%d: must be from 1 to %d", o.Segments, maxSegments)
	case o.TextsPerSecond < 0 || o.TokensPerMinute < 0:
		return errors.New("-texts-per-second and -tokens-per-minute: must be 0 or more")
	}
	return nil
}

// connect reads the configuration, checks the next index and its model, and returns what a run works with.
func connect(ctx context.Context, o Options) (Deps, config.Index, error) {
	var none Deps
	cfg, awsCfg, err := configure(ctx, o)
	next := cfg.Pinecone.Next
	if err == nil && next.Host == "" {
		err = errors.New("PINECONE_NEXT_INDEX is empty: name an index (PineconeNextIndex) and deploy, so that " +
			"what is written meanwhile goes there, too")
	}
	if err != nil {
		return none, next, err
	}
	cfg.Pinecone.ServeNext = true // so that Serving is the next index
	indexes, err := function.VectorIndexes(cfg, function.Runtime{})
	if err != nil {
		return none, next, err
	}
	if err := check(ctx, o, next.Embedding, indexes.Serving); err != nil {
		return none, next, err
	}
	table := dynamodb.NewFromConfig(awsCfg)
	db := dynamo.New(table, cfg.TableName, adopt.WithLegacy())
	tokens := token.New()
	return Deps{
		Store: NewTable(db, table), Messages: dynamo.NewIndexingSource(db), Next: indexes.Serving,
		Dimensions: next.Embedding.Dimensions, To: next.String(),
		Segments: o.Segments, DryRun: o.DryRun, WriteUnits: pinecone.WriteUnits, CountTokens: tokens.Count, Now: time.Now,
		TextLimit:  limit(o.TextsPerSecond, time.Second),
		TokenLimit: limit(o.TokensPerMinute, time.Minute),
	}, next, nil
}

// limit returns a limit of n in a time, or nil for none. A second's worth may come at once.
func limit(n int, in time.Duration) *rate.Limiter {
	if n == 0 {
		return nil
	}
	perSecond := rate.Limit(float64(n) / in.Seconds())
	return rate.NewLimiter(perSecond, max(1, int(perSecond)))
}

// configure reads the configuration of the functions, with the operator's credentials.
func configure(ctx context.Context, o Options) (config.Config, aws.Config, error) {
	const attempts = 10 // a reindex has time
	awsCfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRetryer(func() aws.Retryer {
		return retry.AddWithMaxAttempts(retry.NewStandard(), attempts)
	}))
	if err != nil {
		return config.Config{}, awsCfg, fmt.Errorf("read the AWS configuration: %w", err)
	}
	own, err := deployment.OperatorEnvironment(ctx, awsCfg, o.Function)
	if err != nil {
		return config.Config{}, awsCfg, err
	}
	environ := map[string]string{}
	maps.Copy(environ, o.Environ)
	maps.Copy(environ, own)
	cfg, err := config.Parse(environ)
	if err != nil {
		return cfg, awsCfg, err
	}
	if err := function.UseApp(ctx, cfg); err != nil {
		return cfg, awsCfg, err
	}
	cfg, err = function.WithSecrets(ctx, cfg, config.EmbeddingKey, config.PineconeKey)
	return cfg, awsCfg, err
}

// check compares the index and its model with the configuration.
func check(ctx context.Context, o Options, e config.Embedding, next vector.Held) error {
	n, err := next.Dimension(ctx)
	if err != nil {
		return err
	}
	if n > 0 && n != e.Dimensions { // an empty index may not say
		return fmt.Errorf("the next index has %d dimensions and PINECONE_NEXT_INDEX (PineconeNextIndex) says %s: make an "+
			"index of %d dimensions, or correct it and deploy", n, e.Version(), e.Dimensions)
	}
	if o.DryRun {
		return nil
	}
	_, err = next.Embed(ctx, []string{"reindex"})
	return err
}
