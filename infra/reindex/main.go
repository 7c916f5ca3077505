// Command reindex fills the next vector index of a stage (PINECONE_NEXT_INDEX) from the table, while the current one is
// searched:
//
//	go run ./infra/reindex -dry-run
//	go run ./infra/reindex [-function throughline-dev-remember] [-segments 4]
//
// It takes its configuration from the environment variables of the functions, or from a deployed function. It can be
// stopped at any time, and goes on when it is started again. It exits with 0 when every user is in the index, with 1 if
// some are not, and with 2 if it did not begin. docs/reindexing.md leads through it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/caarlos0/env/v11"
	"golang.org/x/time/rate"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/adopt"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/reindex"
	"github.com/throughline/throughline/internal/token"
	"github.com/throughline/throughline/internal/vector"
)

// The exit codes.
const (
	done       = 0
	incomplete = 1
	notBegun   = 2
)

type options struct {
	function                        string
	dryRun                          bool
	segments                        int
	textsPerSecond, tokensPerMinute int
	every                           time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], env.ToMap(os.Environ()), os.Stdout, os.Stderr))
}

func run(ctx context.Context, arguments []string, environ map[string]string, out, failures io.Writer) int {
	o, err := parse(arguments, failures)
	if err != nil {
		fmt.Fprintln(failures, "reindex:", err)
		return notBegun
	}
	d, next, err := connect(ctx, o, environ)
	if err != nil {
		fmt.Fprintln(failures, "reindex:", err)
		return notBegun
	}
	d.Report = func(user conversation.UserID, err error) {
		fmt.Fprintf(out, "left for the next run: user %s: %v\n", user, err)
	}
	r := report{out: out, dryRun: o.dryRun, embedding: next.Embedding, prices: readPrices(), began: time.Now()}
	fmt.Fprintf(out, "to the index at %s (%s), %d segments\n", next.Host, next.Embedding.Version(), o.segments)
	x := reindex.New(d)
	stop := r.repeat(ctx, o.every, x.Counts)
	err = x.Run(ctx)
	stop()
	r.end(x.Counts())
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(out, "stopped; the same command goes on from here")
		return incomplete
	case err != nil:
		fmt.Fprintf(failures, "reindex: %v; the same command goes on from here\n", err)
		return incomplete
	case x.Counts().Left > 0:
		fmt.Fprintln(out, "some users are left; the same command reindexes them")
		return incomplete
	}
	return done
}

func parse(arguments []string, failures io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("reindex", flag.ContinueOnError)
	flags.SetOutput(failures)
	flags.StringVar(&o.function, "function", "", "deployed function to take the configuration from; else the environment")
	flags.BoolVar(&o.dryRun, "dry-run", false, "say how much there is to do and what it costs, and write nothing")
	flags.IntVar(&o.segments, "segments", 4, "parts of the table that are worked on at the same time, 1 to 1000")
	flags.IntVar(&o.textsPerSecond, "texts-per-second", 100, "most texts to embed in a second; 0 is no limit")
	flags.IntVar(&o.tokensPerMinute, "tokens-per-minute", 1_000_000, "most tokens to embed in a minute; 0 is no limit")
	flags.DurationVar(&o.every, "every", 10*time.Second, "time between two lines of progress")
	const maxSegments = 1000
	switch err := flags.Parse(arguments); {
	case err != nil:
		return o, err
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	case o.segments < 1 || o.segments > maxSegments:
		return o, fmt.Errorf("-segments=%d: must be from 1 to %d", o.segments, maxSegments)
	case o.textsPerSecond < 0 || o.tokensPerMinute < 0:
		return o, errors.New("-texts-per-second and -tokens-per-minute: must be 0 or more")
	case o.every <= 0:
		return o, fmt.Errorf("-every=%s: must be more than 0, such as 10s", o.every)
	}
	return o, nil
}

// connect reads the configuration, checks the next index and its model, and returns what a run works with.
func connect(ctx context.Context, o options, environ map[string]string) (reindex.Deps, config.NextIndex, error) {
	var none reindex.Deps
	cfg, awsCfg, err := configure(ctx, o.function, environ)
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
	return reindex.Deps{
		Store: dynamo.NewReindexStore(db, table), Messages: dynamo.NewIndexingSource(db), Next: indexes.Serving,
		Dimensions: next.Embedding.Dimensions, To: next.String(),
		Segments: o.segments, DryRun: o.dryRun, WriteUnits: pinecone.WriteUnits, CountTokens: tokens.Count, Now: time.Now,
		TextLimit:  limit(o.textsPerSecond, time.Second),
		TokenLimit: limit(o.tokensPerMinute, time.Minute),
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
func configure(ctx context.Context, name string, environ map[string]string) (config.Config, aws.Config, error) {
	const attempts = 10 // a reindex has time
	awsCfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRetryer(func() aws.Retryer {
		return retry.AddWithMaxAttempts(retry.NewStandard(), attempts)
	}))
	if err != nil {
		return config.Config{}, awsCfg, fmt.Errorf("read the AWS configuration: %w", err)
	}
	environ = maps.Clone(environ)
	if name != "" {
		of, err := deployment.Environment(ctx, lambda.NewFromConfig(awsCfg), name)
		if err != nil {
			return config.Config{}, awsCfg, fmt.Errorf("-function=%s: %w", name, err)
		}
		maps.Copy(environ, of)
	}
	keys, err := awsCfg.Credentials.Retrieve(ctx)
	if err != nil {
		return config.Config{}, awsCfg, fmt.Errorf("read the AWS credentials: %w", err)
	}
	environ["AWS_REGION"], environ["AWS_ACCESS_KEY_ID"] = awsCfg.Region, keys.AccessKeyID
	environ["AWS_SECRET_ACCESS_KEY"], environ["AWS_SESSION_TOKEN"] = keys.SecretAccessKey, keys.SessionToken
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
func check(ctx context.Context, o options, e config.Embedding, next vector.Held) error {
	n, err := next.Dimension(ctx)
	if err != nil {
		return err
	}
	if n > 0 && n != e.Dimensions { // an empty index may not say
		return fmt.Errorf("the next index has %d dimensions and PINECONE_NEXT_INDEX (PineconeNextIndex) says %s: make an "+
			"index of %d dimensions, or correct it and deploy", n, e.Version(), e.Dimensions)
	}
	if o.dryRun {
		return nil
	}
	_, err = next.Embed(ctx, []string{"reindex"})
	return err
}
