package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/infra/local/template"
)

// starts is how long functions take from the start of their process to their first request for an invocation.
type starts struct {
	functions []*program
	// empty is the floor: a function that builds the same clients and does nothing with them. vocabulary is how much
	// longer it takes when it builds the tokenizer's vocabulary.
	empty, vocabulary time.Duration
}

// program is a function's binary with its environment, and how long its starts took. calls is how many remote calls a
// start makes, waves how many of them follow each other.
type program struct {
	name, binary string
	environment  []string
	took         []time.Duration
	calls, waves int
}

func (p *program) median() time.Duration { return report.Median(p.took) }

// measureStarts builds every function as it is built for Lambda, but for this machine's processor, and starts each that
// often, by turns. This process serves what a function reads over the network when it starts; secrets are in its
// environment.
func measureStarts(ctx context.Context, repeats int) (out starts, err error) {
	api, err := newRuntimeAPI()
	if err != nil {
		return out, err
	}
	defer api.Close()
	folder, err := os.MkdirTemp("", "functions")
	if err != nil {
		return out, fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	programs, err := api.build(ctx, folder)
	if err != nil {
		return out, err
	}
	empty := programs[0]
	out.functions = programs[1:]
	for _, f := range out.functions {
		if err := api.countCalls(ctx, f); err != nil {
			return out, fmt.Errorf("start %s: %w", f.name, err)
		}
	}
	vocabulary := *empty
	vocabulary.environment = append(slices.Clip(empty.environment), "VOCABULARY=build")
	for range repeats {
		for _, p := range append(programs, &vocabulary) {
			took, err := api.start(ctx, p)
			if err != nil {
				return out, fmt.Errorf("start %s: %w", p.name, err)
			}
			p.took = append(p.took, took)
		}
	}
	out.empty, out.vocabulary = empty.median(), vocabulary.median()-empty.median()
	return out, nil
}

// build builds the empty function, which comes first, and those of the template.
func (a *runtimeAPI) build(ctx context.Context, folder string) (programs []*program, err error) {
	deployed, err := template.Parse(throughline.Template, map[string]string{
		"JwtIssuer": a.issuer, "JwtAudience": issuer.Audience,
		"PineconeIndex": a.URL + ",text-embedding-3-small@768,user", "OpenAIBaseUrl": a.URL + "/v1",
	})
	if err != nil {
		return nil, err
	}
	packages := []string{launch.Module + "infra/bench/prompt/emptyfn"}
	for _, f := range deployed.Functions {
		packages = append(packages, launch.Module+"functions/"+f.Name)
	}
	binaries, err := launch.BuildFunctions(ctx, folder, packages...)
	if err != nil {
		return nil, err
	}
	empty := template.Function{Name: "an empty function", Environment: deployed.Functions[0].Environment}
	for i, f := range append([]template.Function{empty}, deployed.Functions...) {
		programs = append(programs, &program{name: f.Name, binary: binaries[i], environment: a.environment(f)})
	}
	return programs, nil
}

// environment returns the variables that the template gives a function, with local values in place of AWS's.
func (a *runtimeAPI) environment(f template.Function) []string {
	variables := maps.Clone(f.Environment)
	maps.Copy(variables, map[string]string{
		"TABLE_NAME": "bench", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": a.URL, "AWS_ENDPOINT_URL_LAMBDA": a.URL, "AWS_LAMBDA_FUNCTION_NAME": f.Name,
		"SECRET_PREFIX": "", "OPENAI_API_KEY": "local", "PINECONE_API_KEY": "local",
		"CURSOR_KEY":             "1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"AWS_LAMBDA_RUNTIME_API": strings.TrimPrefix(a.URL, "http://"),
	})
	var out []string
	for name, value := range variables {
		out = append(out, name+"="+value)
	}
	return out
}

// countCalls starts a function for the first time, which reads its binary from the disk, and counts its remote calls.
// The answers are so late that calls which do not wait for each other overlap.
func (a *runtimeAPI) countCalls(ctx context.Context, p *program) error {
	a.isSlow.Store(true)
	defer a.isSlow.Store(false)
	a.drain()
	_, err := a.start(ctx, p)
	calls := a.drain()
	setDepths(calls)
	for _, c := range calls {
		p.calls, p.waves = p.calls+1, max(p.waves, c.depth)
	}
	return err
}

// runtimeAPI is the part of Lambda's runtime API that a start needs: it learns when the first invocation is requested,
// and never gives one. One function starts at a time. It also serves in place of every other service: it gives the
// issuer's keys, refuses the rest, and records every call.
type runtimeAPI struct {
	link
	*httptest.Server
	issuer string
	ready  chan error
}

const runtimePath = "/2018-06-01/runtime/"

func newRuntimeAPI() (*runtimeAPI, error) {
	mux := http.NewServeMux()
	a := &runtimeAPI{link: link{callLog: &callLog{}, latency: chatLatency}, ready: make(chan error, 1)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if began := time.Now(); !strings.HasPrefix(r.URL.Path, runtimePath) {
			a.finish(began, operationName(r))
		}
		mux.ServeHTTP(w, r)
	}))
	tokens, err := issuer.New(a.URL, "")
	if err != nil {
		a.Close()
		return nil, err
	}
	tokens.Register(mux)
	a.issuer = tokens.URL()
	mux.HandleFunc("GET "+runtimePath+"invocation/next", func(_ http.ResponseWriter, r *http.Request) {
		a.ready <- nil
		<-r.Context().Done()
	})
	mux.HandleFunc("POST "+runtimePath+"init/error", func(_ http.ResponseWriter, r *http.Request) {
		reason, err := io.ReadAll(r.Body)
		a.ready <- errors.Join(fmt.Errorf("the function says: %s", reason), err)
	})
	return a, nil
}

// start starts a program, kills it when it is ready, and returns how long it took to be ready.
func (a *runtimeAPI) start(ctx context.Context, p *program) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var printed strings.Builder
	command := exec.CommandContext(ctx, p.binary)
	command.Env, command.Stdout, command.Stderr = p.environment, &printed, &printed
	began := time.Now()
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("start process: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-a.ready:
		took := time.Since(began)
		cancel()
		if exit := <-ended; err != nil {
			err = errors.Join(err, exit)
		}
		return took, err
	case err := <-ended:
		return 0, fmt.Errorf("it ended before it was ready: %w: %s", err, printed.String())
	}
}
