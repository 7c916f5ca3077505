// Package function has the wiring that the Lambda functions share: AWS clients, secrets, logger and metrics. Each
// package below it builds the handler of one function from its configuration. The commands in functions start these
// handlers in Lambda, and the local stack calls them.
package function

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	// The Lambda runtime has no time zone database, and users have time zones.
	_ "time/tzdata"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/trace"
)

// Runtime is what a function gets from its process beside the configuration.
type Runtime struct {
	Log *slog.Logger
	// Metrics gets the EMF lines. In Lambda it is standard output.
	Metrics io.Writer
	// Stack is the name of the stack in the metrics.
	Stack string
	// Spans makes spans. It is nil, which makes none, until WithSpans sets it.
	Spans *trace.Tracer
}

// Prepare reads the keys of a function as WithSecrets does, with what the collector of its spans asks for, and returns
// the function's configuration and runtime.
func Prepare(
	ctx context.Context, cfg config.Config, rt Runtime, name string, keys ...config.Secret,
) (config.Config, Runtime, error) {
	cfg, err := WithSecrets(ctx, cfg, append(cfg.Tracing.Secrets(), keys...)...)
	if err != nil {
		return cfg, rt, err
	}
	rt, err = rt.WithSpans(ctx, cfg, name)
	return cfg, rt, err
}

// WithSpans returns the runtime of a function that makes spans, where a collector is configured.
func (r Runtime) WithSpans(ctx context.Context, cfg config.Config, name string) (Runtime, error) {
	tracer, err := trace.New(ctx, trace.Options{
		Tracing: cfg.Tracing, Stack: r.Stack, Function: name, Region: cfg.Region,
		RuntimeAPI: os.Getenv("AWS_LAMBDA_RUNTIME_API"), Report: Report(r.Log), Now: time.Now,
	})
	r.Spans = tracer
	return r, err
}

// Recorder returns the metrics of a function.
func (r Runtime) Recorder(name string) *metric.Recorder {
	return metric.NewRecorder(r.Metrics, r.Stack, name, time.Now)
}

// AWS returns the configuration of a client of AWS. An endpoint replaces the service's own unless it is empty. Lambda
// passes the execution role's credentials in the environment, so the SDK's chain of credential providers, which costs
// start-up time, is not needed. A client that few functions need is built beside them, because the package of a client
// takes its time at the start of each function that is built with it.
func AWS(cfg config.Config, endpoint string) aws.Config {
	out := aws.Config{
		Region:      cfg.Region,
		Credentials: credentials.NewStaticCredentialsProvider(cfg.AccessKeyID, cfg.SecretAccessKey, cfg.SessionToken),
		HTTPClient:  InAttempts(cfg.Tracing, maxAttemptTime),
		Retryer:     func() aws.Retryer { return retry.NewStandard(retryTruncated, retrySoon) },
	}
	if endpoint != "" {
		out.BaseEndpoint = &endpoint
	}
	return out
}

// retryTruncated makes the SDK retry a request whose response body ended early. By itself the SDK retries only requests
// whose connection was reset.
func retryTruncated(o *retry.StandardOptions) {
	o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}))
}

// PromptRetention is how long manifests of prompts are kept.
const PromptRetention = 7 * 24 * time.Hour

// DynamoDB returns the table's client.
func DynamoDB(cfg config.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(AWS(cfg, cfg.DynamoDBEndpoint))
}

// The first retry of a call waits up to retryBackoff, and each one after it up to twice as long ("Error handling with
// DynamoDB", section "Error retries and exponential backoff").
const (
	retryBackoff  = 50 * time.Millisecond
	retryAttempts = 5
	// retryCost is what a retry takes of the 500 tokens that a client has, until it succeeds (docs/adr/0063).
	retryCost = 5
)

// retrySoon makes the SDK retry in the time that a prompt has. By itself the SDK waits up to a second before the first
// retry after a throttle, and retries twice.
func retrySoon(o *retry.StandardOptions) {
	o.MaxAttempts = retryAttempts
	o.RetryCost, o.ThrottlingRetryCost = retryCost, retryCost
	o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
		return rand.N(retryBackoff << max(attempt-1, 0)), nil
	})
}

// RequestID returns the invocation's id, empty outside Lambda.
func RequestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

// Report returns a function that logs and counts failures that the client does not see.
func Report(log *slog.Logger) func(ctx context.Context, op string, err error) {
	return func(ctx context.Context, op string, err error) {
		metric.Add(ctx, "Failures", 1, metric.Count)
		log.WarnContext(ctx, "failure", "op", op, "error", err.Error())
	}
}
