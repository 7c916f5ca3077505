package stack

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/local/sqslocal"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
)

// Constructor builds a function's handler, as lambda.Start takes it, from its configuration.
type Constructor func(ctx context.Context, cfg config.Config, rt function.Runtime) (any, error)

// Of makes a Constructor of a function's own.
func Of[H any](build function.Constructor[H]) Constructor {
	return func(ctx context.Context, cfg config.Config, rt function.Runtime) (any, error) {
		return build(ctx, cfg, rt)
	}
}

// streamInstances is how many instances a function has that reads the table's stream. The service starts as many as a
// stream has shards, times the parallelization factor, and any of them may get the next record of a user.
const streamInstances = 2

func instancesOf(f template.Function) int {
	if len(f.Streams) > 0 {
		return streamInstances
	}
	return 1
}

// startFunctions builds the instances of the template's functions side by side, and registers them under their deployed
// names. Instances share nothing but the services.
func (s *Stack) startFunctions(ctx context.Context) error {
	shared := s.sharedEnvironment()
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range s.template.Functions {
		build, ok := s.cfg.Functions[f.Name]
		if !ok {
			return fmt.Errorf("function %s of template.yaml has no constructor", f.Name)
		}
		for range instancesOf(f) {
			group.Go(func() error {
				handler, err := s.build(f, build, shared)
				if err != nil {
					return err
				}
				s.runtime.Register(f.PhysicalName, handler, f.Timeout)
				return ctx.Err()
			})
		}
	}
	return group.Wait()
}

// build builds one instance of a function.
func (s *Stack) build(f template.Function, build Constructor, shared map[string]string) (any, error) {
	environment := maps.Clone(f.Environment)
	maps.Copy(environment, s.cfg.Environment) // the user's own values in the place of the template's
	maps.Copy(environment, shared)
	cfg, err := config.Parse(environment)
	if err != nil {
		return nil, fmt.Errorf("configure function %s: %w", f.Name, err)
	}
	rt := function.Runtime{Log: s.logger.With("function", f.Name), Metrics: s.cfg.Metrics, Stack: "local"}
	handler, err := build(s.supervisor.ctx, cfg, rt)
	if err != nil {
		return nil, fmt.Errorf("start function %s: %w", f.Name, err)
	}
	return handler, nil
}

// sharedEnvironment returns the variables that are the same for every function: servers and keys.
func (s *Stack) sharedEnvironment() map[string]string {
	out := map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": s.services.dynamodb.injected, "AWS_ENDPOINT_URL_LAMBDA": s.lambdaURL,
		"AWS_ENDPOINT_URL_SQS": cmp.Or(s.cfg.SQSEndpoint, s.queueURL), "DEAD_LETTER_QUEUES": s.deadLetterURLs(),
		"AWS_ENDPOINT_URL_EVENTBRIDGE": cmp.Or(s.cfg.EventsEndpoint, s.services.events.injected),
		"PINECONE_INDEX_HOST":          s.services.pinecone.injected, "OPENAI_BASE_URL": s.services.openai.injected,
		"OPENAI_EMBEDDING_BASE_URL": s.services.embedding.injected,
		"CURSOR_KEY":                s.cursorKey(), "SECRET_PREFIX": "", "CORS_ORIGINS": strings.Join(s.cfg.CORSOrigins, ","),
	}
	accepted := s.acceptedTokens()
	out["JWT_ISSUER"], out["JWT_AUDIENCE"] = accepted.Issuer, strings.Join(accepted.Audiences, ",")
	if s.services.nextIndex != "" {
		out["PINECONE_NEXT_INDEX"] = s.services.nextIndex
	}
	if s.cfg.Environment["OPENAI_EMBEDDING_API_KEY"] == "" && s.services.embedding.direct != s.services.openai.direct {
		out["OPENAI_EMBEDDING_API_KEY"] = "local" // the chat's key is not for this address
	}
	return out
}

// deadLetterQueue returns the name of the queue for what a function could not work on.
func deadLetterQueue(physicalName string) string { return physicalName + "-dead-letters" }

// deadLetterURLs returns the queues of the functions that read the stream, as DEAD_LETTER_QUEUES has them.
func (s *Stack) deadLetterURLs() string {
	var pairs []string
	for _, f := range s.template.Functions {
		if len(f.Streams) > 0 {
			pairs = append(pairs, f.Name+"="+sqslocal.URL(s.queueURL, deadLetterQueue(f.PhysicalName)))
		}
	}
	return strings.Join(pairs, ",")
}

// deadLetterQueues returns the number of dead letters by queue.
func (s *Stack) deadLetterQueues() map[string]int {
	queues := map[string]int{}
	for _, f := range s.template.Functions {
		if len(f.Streams) > 0 {
			queues[deadLetterQueue(f.PhysicalName)] = 0
		}
	}
	for _, letter := range s.triggers.deadLetters() {
		queues[deadLetterQueue(letter.Function)]++
	}
	return queues
}

// cursorKey returns the key that signs list cursors. The local one follows from the issuer's, which is kept with the
// data, so that cursors stay valid.
func (s *Stack) cursorKey() string {
	return cmp.Or(s.cfg.Environment["CURSOR_KEY"], "1:"+base64.StdEncoding.EncodeToString(s.issuer.Secret("cursors")))
}
