// Package function holds what the functions' wiring shares: the AWS clients, the secrets, the logger and the metrics
// of one function. The packages under it build one function's handler each, from configuration alone; functions/*
// start them in Lambda, and the local stack calls the same values.
package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
	// The Lambda runtime has no time zones of its own, and days are counted in the user's.
	_ "time/tzdata"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/metric"
)

// Runtime is what the process gives a function beside its configuration.
type Runtime struct {
	Log *slog.Logger
	// Metrics is where EMF lines go; in Lambda, standard output.
	Metrics io.Writer
}

// Recorder returns the metrics of a function.
func (r Runtime) Recorder(name string) *metric.Recorder {
	return metric.NewRecorder(r.Metrics, name, time.Now)
}

// awsConfig makes the SDK's configuration from ours. Lambda hands the execution role's credentials over in the
// environment, so the SDK's chain of providers, and its cost at start-up, is not needed.
func awsConfig(cfg config.Config) aws.Config {
	return aws.Config{
		Region:      cfg.Region,
		Credentials: credentials.NewStaticCredentialsProvider(cfg.AccessKeyID, cfg.SecretAccessKey, cfg.SessionToken),
		HTTPClient:  httpClient(),
		Retryer:     func() aws.Retryer { return retry.NewStandard(repeatCutAnswers) },
	}
}

// repeatCutAnswers has the SDK repeat a request whose answer's body ended early, as it repeats by itself those whose
// connection was reset: the two differ only in how the connection was lost.
func repeatCutAnswers(o *retry.StandardOptions) {
	o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}))
}

// httpClient keeps enough idle connections for one prompt's parallel reads.
func httpClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 2 * time.Second,
	}}
}

// DynamoDB returns the table's client.
func DynamoDB(cfg config.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(awsConfig(cfg), func(o *dynamodb.Options) {
		o.BaseEndpoint = endpoint(cfg.DynamoDBEndpoint)
	})
}

// Lambda returns the client that the coach function invokes prompt through.
func Lambda(cfg config.Config) *lambda.Client {
	return lambda.NewFromConfig(awsConfig(cfg), func(o *lambda.Options) {
		o.BaseEndpoint = endpoint(cfg.LambdaEndpoint)
	})
}

func endpoint(url string) *string {
	if url == "" {
		return nil
	}
	return &url
}

// WithSecrets fills in the keys that the environment does not hold from the one secret, in one remote call, or in
// none where no secret is named.
func WithSecrets(ctx context.Context, cfg config.Config) (config.Config, error) {
	if cfg.SecretName == "" {
		return cfg, nil
	}
	out, err := secretsmanager.NewFromConfig(awsConfig(cfg)).GetSecretValue(ctx,
		&secretsmanager.GetSecretValueInput{SecretId: &cfg.SecretName})
	if err != nil {
		return cfg, fmt.Errorf("read secret %s: %w", cfg.SecretName, err)
	}
	var secret struct {
		OpenAI    string `json:"openaiApiKey"`
		Embedding string `json:"embeddingApiKey"`
		Pinecone  string `json:"pineconeApiKey"`
		Cursor    string `json:"cursorKey"`
	}
	if err := json.Unmarshal([]byte(aws.ToString(out.SecretString)), &secret); err != nil {
		return cfg, fmt.Errorf("parse secret %s: it is not a JSON object of strings", cfg.SecretName)
	}
	fill(&cfg.OpenAI.APIKey, secret.OpenAI)
	fill(&cfg.OpenAI.EmbeddingAPIKey, secret.Embedding)
	fill(&cfg.Pinecone.APIKey, secret.Pinecone)
	fill(&cfg.CursorKey, secret.Cursor)
	return cfg, nil
}

func fill(target *string, value string) {
	if *target == "" {
		*target = value
	}
}

// RequestID returns the invocation's id, empty outside Lambda.
func RequestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

// Report logs a failure that a service mends by itself or that the client does not see.
func Report(log *slog.Logger) func(ctx context.Context, op string, err error) {
	return func(ctx context.Context, op string, err error) {
		metric.Add(ctx, "Failures", 1, metric.Count)
		log.WarnContext(ctx, "failure", "op", op, "error", err.Error())
	}
}
