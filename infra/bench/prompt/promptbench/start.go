package promptbench

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/infra/rie"
)

// Start is how long a function's binary takes from the start of its process to its first request for an invocation.
type Start struct {
	Function string        `json:"function"`
	Bytes    int64         `json:"binaryBytes"`
	Median   time.Duration `json:"medianNs"`
	Least    time.Duration `json:"leastNs"`
	// Calls is how many remote calls it makes meanwhile, Waves how many of them follow each other.
	Calls int `json:"calls"`
	Waves int `json:"waves"`
}

// starts builds every function as it is built for Lambda, but for this machine, and starts each that often, by turns.
// What a function reads over the network when it starts, it reads from this process; its secrets are in its
// environment.
func starts(ctx context.Context, repeats int) (out []Start, err error) {
	api, err := newRuntimeAPI(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, api.close()) }()
	deployed, err := template.Parse(throughline.Template, map[string]string{
		"JwtIssuer": api.issuer, "JwtAudience": issuer.Audience, "PineconeIndexHost": api.url(), "OpenAIBaseUrl": api.url() + "/v1",
	})
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "functions")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binaries, err := build(ctx, folder, deployed.Functions)
	if err != nil {
		return nil, err
	}
	for i, f := range deployed.Functions {
		start, err := api.count(ctx, binaries[i], f)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", f.Name, err)
		}
		out = append(out, start)
	}
	took := make([][]time.Duration, len(binaries))
	for range repeats {
		for i, f := range deployed.Functions {
			t, err := api.start(ctx, binaries[i], api.environment(f))
			if err != nil {
				return nil, fmt.Errorf("start %s: %w", f.Name, err)
			}
			took[i] = append(took[i], t)
		}
	}
	for i := range out {
		out[i].Median, out[i].Least = report.Median(took[i]), report.Quantile(took[i], 0)
	}
	return out, nil
}

// count starts a function for the first time, which brings its binary from the disk, with answers so late that calls
// which do not wait for each other overlap.
func (a *runtimeAPI) count(ctx context.Context, binary string, f template.Function) (Start, error) {
	info, err := os.Stat(binary)
	if err != nil {
		return Start{}, fmt.Errorf("look at binary: %w", err)
	}
	a.idle.Store(false)
	defer a.idle.Store(true)
	a.take()
	if _, err := a.start(ctx, binary, a.environment(f)); err != nil {
		return Start{}, err
	}
	calls := a.take()
	return Start{Function: f.Name, Bytes: info.Size(), Calls: len(calls), Waves: slices.Max(append(depths(calls), 0))}, nil
}

func build(ctx context.Context, folder string, functions []template.Function) ([]string, error) {
	packages := make([]string, len(functions))
	for i, f := range functions {
		packages[i] = "./functions/" + f.Name
	}
	return rie.Build(ctx, folder, packages...)
}

// environment is what the template gives a function, with what only this machine knows in place of AWS.
func (a *runtimeAPI) environment(f template.Function) []string {
	variables := maps.Clone(f.Environment)
	maps.Copy(variables, map[string]string{
		"TABLE_NAME": "bench", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": a.url(), "AWS_ENDPOINT_URL_LAMBDA": a.url(),
		"AWS_LAMBDA_FUNCTION_NAME": f.Name,
		"SECRET_NAME":              "", "OPENAI_API_KEY": "local", "PINECONE_API_KEY": "local",
		"CURSOR_KEY": "1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
	})
	var out []string
	for name, value := range variables {
		out = append(out, name+"="+value)
	}
	return out
}
