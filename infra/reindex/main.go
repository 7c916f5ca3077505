// Command reindex rebuilds the vectors of all users in another vector index, whose embedding model or dimension may be
// another, while the old vectors serve:
//
//	go run ./infra/reindex -to b -dry-run
//	go run ./infra/reindex -to b [-function throughline-dev-remember] [-segments 4]
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
	"slices"
	"strings"
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
	"github.com/throughline/throughline/internal/openai"
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
	to, function                    string
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
	d, e, err := connect(ctx, o, environ)
	if err != nil {
		fmt.Fprintln(failures, "reindex:", err)
		return notBegun
	}
	d.Report = func(user conversation.UserID, err error) {
		fmt.Fprintf(out, "left for the next run: user %s: %v\n", user, err)
	}
	r := report{out: out, dryRun: o.dryRun, embedding: e, prices: readPrices(), began: time.Now()}
	fmt.Fprintf(out, "to the index %s (%s, %d dimensions), %d segments\n", o.to, e.Model, e.Dimensions, o.segments)
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
	flags.StringVar(&o.to, "to", "", "name of the index to reindex users into")
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
		return o, fmt.Errorf("%q is no flag; write -to NAME", flags.Arg(0))
	case o.to == "":
		return o, errors.New("name the index with -to NAME")
	case o.segments < 1 || o.segments > maxSegments:
		return o, fmt.Errorf("-segments=%d: must be from 1 to %d", o.segments, maxSegments)
	case o.textsPerSecond < 0 || o.tokensPerMinute < 0:
		return o, errors.New("-texts-per-second and -tokens-per-minute: must be 0 or more")
	case o.every <= 0:
		return o, fmt.Errorf("-every=%s: must be more than 0, such as 10s", o.every)
	}
	return o, nil
}

// connect reads the configuration, checks the index and its model, and returns what a run works with.
func connect(ctx context.Context, o options, environ map[string]string) (reindex.Deps, config.Embedding, error) {
	var none reindex.Deps
	cfg, awsCfg, err := configure(ctx, o.function, environ)
	if err != nil {
		return none, config.Embedding{}, err
	}
	e, err := target(o, cfg)
	if err != nil {
		return none, e, err
	}
	table := dynamodb.NewFromConfig(awsCfg)
	db := dynamo.New(table, cfg.TableName, adopt.WithLegacy())
	index, err := function.VectorIndex(cfg, function.Runtime{}, db)
	if err != nil {
		return none, e, err
	}
	model := openai.New(cfg.OpenAI.WithEmbedding(e))
	if err := check(ctx, o, e, index, model); err != nil {
		return none, e, err
	}
	tokens := token.New()
	return reindex.Deps{
		Store: dynamo.NewReindexStore(db, table), Messages: dynamo.NewIndexingSource(db), Index: index, To: o.to,
		Model: vector.Model{Embedder: model, Version: e.Version()}, Dimensions: e.Dimensions, Usual: config.FirstIndex,
		Segments: o.segments, DryRun: o.dryRun, WriteUnits: pinecone.WriteUnits, CountTokens: tokens.Count, Now: time.Now,
		TextLimit:  limit(o.textsPerSecond, time.Second),
		TokenLimit: limit(o.tokensPerMinute, time.Minute),
	}, e, nil
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

// target returns the embedding of the index that users are reindexed into.
func target(o options, cfg config.Config) (config.Embedding, error) {
	names := append([]string{config.FirstIndex}, slices.Sorted(maps.Keys(cfg.Pinecone.MoreIndexes))...)
	if !slices.Contains(names, o.to) {
		return config.Embedding{}, fmt.Errorf("-to=%s: must be one of %s; add others to PINECONE_MORE_INDEXES "+
			"(PineconeMoreIndexes) and deploy", o.to, strings.Join(names, ", "))
	}
	if len(names) == 1 {
		return config.Embedding{}, errors.New("PINECONE_MORE_INDEXES is empty: there is no index to reindex users into")
	}
	if cfg.Pinecone.NewUsersIndex != o.to && !o.dryRun {
		return config.Embedding{}, fmt.Errorf("PINECONE_NEW_USERS_INDEX=%s: must be %s (PineconeNewUsersIndex), or new "+
			"users still go to the other; set it, deploy and run again", cfg.Pinecone.NewUsersIndex, o.to)
	}
	if e, ok := cfg.Pinecone.Embeddings[o.to]; ok {
		return e, nil
	}
	return cfg.OpenAI.Embedding(), nil
}

// check compares the index and the model with the configuration. Once a user is being reindexed, new vectors of that
// user need both.
func check(ctx context.Context, o options, e config.Embedding, index *vector.Router, model vector.Embedder) error {
	n, err := index.Dimension(ctx, o.to)
	if err != nil {
		return err
	}
	if n > 0 && n != e.Dimensions { // an empty index may not say
		return fmt.Errorf("the index %s has %d dimensions and PINECONE_INDEX_EMBEDDINGS (PineconeIndexEmbeddings) gives it "+
			"%s: set %s=%s@%d, or make an index of %d dimensions", o.to, n, e.Version(), o.to, e.Model, n, e.Dimensions)
	}
	if o.dryRun {
		return nil
	}
	_, err = model.Embed(ctx, []string{"reindex"})
	return err
}
