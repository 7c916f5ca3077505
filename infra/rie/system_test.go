package rie_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/collector"
	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// user is the user of the events in infra/events.
const user = "user-1"

// system is every function of the template, each in its emulator. Their variables name local servers, and the table's
// server checks the permissions of each function's role.
type system struct {
	table, erasures, token string
	functions              map[string]*emulator
	// spans has the spans of all functions.
	spans *collector.Collector
}

// newSystem starts what the events need. Nothing polls the table's stream: the tests send its events.
// parameters are the template's, in place of its defaults.
func newSystem(t testing.TB, parameters map[string]string) *system {
	t.Helper()
	tokens, issuerURL := serveIssuer(t)
	token, _, err := tokens.Mint(issuer.Claims{UserID: user})
	check.OK(t, err)
	model := serve(t, offlinemodel.Handler()) + "/v1"
	given := map[string]string{
		"JwtIssuer": issuerURL, "JwtAudience": issuer.Audience,
		"PineconeIndex": servePinecone(t) + ",text-embedding-3-small@768,user",
		"OpenAIBaseUrl": model, "OpenAIEmbeddingBaseUrl": model,
	}
	maps.Copy(given, parameters)
	deployed := check.Got(template.Parse(throughline.Template, given))(t)
	s := &system{
		token: token, table: dynamodbtest.Table(t, table.CreateTableInput("")),
		erasures:  dynamodbtest.Table(t, dynamo.CreateLedgerInput("")),
		functions: map[string]*emulator{}, spans: collector.New(),
	}
	for i, bootstrap := range build(t, deployed.Functions) {
		f := deployed.Functions[i]
		s.functions[f.Name] = startWith(t, bootstrap, f.MemoryMB, s.environment(t, f)...)
	}
	return s
}

func build(t testing.TB, functions []template.Function) []string {
	t.Helper()
	var packages []string
	for _, f := range functions {
		packages = append(packages, launch.Module+"functions/"+f.Name)
	}
	return check.Got(launch.BuildFunctions(t.Context(), t.TempDir(), packages...))(t)
}

// environment returns the variables that the template gives a function, with local values in place of AWS's.
func (s *system) environment(t testing.TB, f template.Function) []string {
	t.Helper()
	variables := maps.Clone(f.Environment)
	maps.Copy(variables, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": serve(t, s.spans), "STACK_NAME": "app",
		"TABLE_NAME": s.table, "ERASURES_TABLE": s.erasures,
		"AWS_ENDPOINT_URL_DYNAMODB": serve(t, newPermissionCheck(t, f.Name)),
		"AWS_ACCESS_KEY_ID":         "local", "AWS_SECRET_ACCESS_KEY": "local",
		"SECRET_PREFIX": "", "OPENAI_API_KEY": "local", "PINECONE_API_KEY": "local",
		"CURSOR_KEY": "1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
	})
	if f.Name == "coach" || f.Name == "mcp" {
		variables["AWS_ENDPOINT_URL_LAMBDA"] = serve(t, http.HandlerFunc(s.forwardToPrompt))
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		out = append(out, name+"="+variables[name])
	}
	return out
}

// forwardToPrompt is the Lambda API that the coach function calls. It invokes the prompt function in its emulator.
func (s *system) forwardToPrompt(w http.ResponseWriter, r *http.Request) {
	event, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := s.functions["prompt"].Invoke(r.Context(), event)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer, _ = json.Marshal(map[string]string{"errorType": "internal", "errorMessage": err.Error()})
	}
	_, _ = w.Write(answer) // the caller may be gone
}

// serve serves a handler until the test ends and returns its base URL.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func serveIssuer(t testing.TB) (*issuer.Issuer, string) {
	t.Helper()
	mux := http.NewServeMux()
	url := serve(t, mux)
	i := check.Got(issuer.New(url, ""))(t)
	i.Register(mux)
	return i, i.URL()
}

func servePinecone(t testing.TB) string {
	t.Helper()
	index := check.Got(pineconelocal.New(pineconelocal.Options{}))(t)
	var config net.ListenConfig
	listener := check.Got(config.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() { served <- index.Serve(listener) }()
	t.Cleanup(func() {
		if err := index.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}
