package trial

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strings"
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
		"JwtIssuer": api.issuer, "JwtAudience": issuer.Audience, "PineconeIndexHost": "http://127.0.0.1:1",
		"OpenAIBaseUrl": "http://127.0.0.1:1/v1",
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
	took := make([][]time.Duration, len(binaries))
	for range repeats + 1 { // the first brings the binary from the disk
		for i, f := range deployed.Functions {
			t, err := api.start(ctx, binaries[i], environment(f))
			if err != nil {
				return nil, fmt.Errorf("start %s: %w", f.Name, err)
			}
			took[i] = append(took[i], t)
		}
	}
	for i, f := range deployed.Functions {
		info, err := os.Stat(binaries[i])
		if err != nil {
			return nil, fmt.Errorf("look at binary: %w", err)
		}
		out = append(out, Start{f.Name, info.Size(), report.Median(took[i][1:]), report.Quantile(took[i][1:], 0)})
	}
	return out, nil
}

func build(ctx context.Context, folder string, functions []template.Function) ([]string, error) {
	packages := make([]string, len(functions))
	for i, f := range functions {
		packages[i] = "./functions/" + f.Name
	}
	return rie.Build(ctx, folder, packages...)
}

// environment is what the template gives a function, with what only this machine knows in place of AWS.
func environment(f template.Function) []string {
	variables := maps.Clone(f.Environment)
	maps.Copy(variables, map[string]string{
		"TABLE_NAME": "bench", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1", "AWS_LAMBDA_FUNCTION_NAME": f.Name,
		"SECRET_NAME": "", "OPENAI_API_KEY": "local", "PINECONE_API_KEY": "local",
		"CURSOR_KEY": "1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
	})
	var out []string
	for name, value := range variables {
		out = append(out, name+"="+value)
	}
	return out
}

// runtimeAPI is as much of Lambda's runtime API as a start needs: it notes when the first invocation is asked for, and
// never gives one. One function starts at a time.
type runtimeAPI struct {
	address, issuer string
	ready           chan error
	server          *http.Server
	served          chan error
}

func newRuntimeAPI(ctx context.Context) (*runtimeAPI, error) {
	listener, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	a := &runtimeAPI{address: listener.Addr().String(), ready: make(chan error, 1), served: make(chan error, 1)}
	mux := http.NewServeMux()
	tokens, err := issuer.New("http://"+a.address, "", time.Now)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	tokens.Register(mux)
	a.issuer = tokens.URL()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(_ http.ResponseWriter, r *http.Request) {
		a.ready <- nil
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", func(_ http.ResponseWriter, r *http.Request) {
		why, err := io.ReadAll(r.Body)
		a.ready <- errors.Join(fmt.Errorf("the function says: %s", why), err)
	})
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { a.served <- a.server.Serve(listener) }()
	return a, nil
}

func (a *runtimeAPI) close() error {
	err := a.server.Close()
	if ended := <-a.served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// start starts a function and ends it when it is ready.
func (a *runtimeAPI) start(ctx context.Context, binary string, environment []string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var printed strings.Builder
	command := exec.CommandContext(ctx, binary)
	command.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + a.address}, environment...)
	command.Stdout, command.Stderr = &printed, &printed
	began := time.Now()
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("start process: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-a.ready:
		took := time.Since(began)
		cancel() // kills it
		if why := <-ended; err != nil {
			err = errors.Join(err, why)
		}
		return took, err
	case err := <-ended:
		return 0, fmt.Errorf("it ended before it was ready: %w: %s", err, printed.String())
	}
}
