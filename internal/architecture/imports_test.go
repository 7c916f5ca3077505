package architecture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/throughline/throughline"

// layer is the role of a package of internal/. It decides what the package may import.
type layer string

const (
	// domain packages hold types, rules and the interfaces that they consume. They know no technology.
	domain layer = "domain"
	// base packages may be used by every technology: the configuration and the metrics. They import nothing of ours.
	base layer = "base"
	// technology packages implement the domain's interfaces with one service or library. They know no other technology.
	technology layer = "technology"
	// wiring packages connect the domain and the technologies. They may import all of internal/.
	wiring layer = "wiring"
)

// importRule says which layer a package is in, and which modules it may import besides the standard library and this
// module. The packages in the folders below it share its rule. beside is the folder of a technology that it adds to.
type importRule struct {
	layer   layer
	modules []string
	beside  string
}

// importRules has a line for each package of internal/. A package without a line fails the test: decide on its layer
// and add it.
var importRules = map[string]importRule{
	"internal/fault":        {layer: domain},
	"internal/span":         {layer: domain, modules: []string{"go.opentelemetry.io/otel"}},
	"internal/delay":        {layer: domain},
	"internal/strictjson":   {layer: domain, modules: []string{"github.com/go-json-experiment/json"}},
	"internal/parallel":     {layer: domain, modules: []string{"golang.org/x/sync"}},
	"internal/truncate":     {layer: domain, modules: []string{"github.com/clipperhouse/uax29"}},
	"internal/untrusted":    {layer: domain},
	"internal/llm":          {layer: domain},
	"internal/registry":     {layer: domain, modules: []string{"go.yaml.in/yaml"}},
	"internal/conversation": {layer: domain},
	"internal/claims":       {layer: domain},
	"internal/sweep":        {layer: domain},
	"internal/ratelimit":    {layer: domain},
	"internal/document":     {layer: domain},
	"internal/longterm":     {layer: domain, modules: []string{"github.com/clipperhouse/uax29"}},
	"internal/summary":      {layer: domain, modules: []string{"golang.org/x/sync", "golang.org/x/text"}},
	"internal/indexing":     {layer: domain},
	"internal/extraction":   {layer: domain},
	"internal/recall":       {layer: domain, modules: []string{"golang.org/x/sync"}},
	"internal/prompt":       {layer: domain, modules: []string{"golang.org/x/sync"}},
	"internal/canary":       {layer: domain},
	"internal/chat":         {layer: domain, modules: []string{"golang.org/x/sync"}},
	"internal/migration":    {layer: domain},
	"internal/health":       {layer: domain},
	"internal/event":        {layer: domain},
	"internal/erasure":      {layer: domain, modules: []string{"golang.org/x/sync"}},
	"internal/quote":        {layer: domain},
	"internal/secret":       {layer: domain},
	"internal/vector":       {layer: domain},

	"internal/word": {layer: domain, modules: []string{"github.com/blevesearch/snowballstem", "golang.org/x/text"}},

	"internal/config": {layer: base, modules: []string{"github.com/caarlos0/env"}},
	"internal/metric": {layer: base},
	// The connections of all clients.
	"internal/transport": {layer: base, modules: []string{"golang.org/x/sys"}},

	"internal/dynamo": {layer: technology, modules: []string{
		"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "golang.org/x/sync",
	}},
	"internal/migration/adopt": {
		layer: technology, modules: []string{"github.com/aws/aws-sdk-go-v2"}, beside: "internal/dynamo",
	},
	"internal/pinecone": {layer: technology, modules: []string{
		"github.com/pinecone-io/go-pinecone", "google.golang.org/grpc", "google.golang.org/protobuf", "golang.org/x/sync",
	}},
	"internal/openai": {layer: technology, modules: []string{"github.com/sashabaranov/go-openai", "golang.org/x/sync"}},
	"internal/token":  {layer: technology, modules: []string{"github.com/tiktoken-go/tokenizer"}},
	"internal/auth": {layer: technology, modules: []string{
		"github.com/golang-jwt/jwt", "github.com/MicahParks/keyfunc", "github.com/MicahParks/jwkset", "golang.org/x/time",
	}},
	"internal/httpapi": {layer: technology, modules: []string{
		"github.com/danielgtaylor/huma", "github.com/aws/aws-lambda-go",
	}},
	"internal/mcp": {layer: technology, modules: []string{
		"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go",
	}},
	"internal/trace": {layer: technology, modules: []string{
		"go.opentelemetry.io/otel", "go.opentelemetry.io/contrib", "google.golang.org/grpc",
	}},
	"internal/stream":      {layer: technology, modules: []string{"github.com/aws/aws-lambda-go"}},
	"internal/deadletter":  {layer: technology, modules: []string{"github.com/aws/aws-sdk-go-v2"}},
	"internal/eventbridge": {layer: technology, modules: []string{"github.com/aws/aws-sdk-go-v2"}},
	"internal/invoke": {layer: technology, modules: []string{
		"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2",
	}},

	"internal/function": {layer: wiring, modules: []string{
		"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2", "golang.org/x/sync",
	}},
	"internal/architecture": {layer: wiring},
}

// importable lists the layers that the packages of a layer may import.
var importable = map[layer][]layer{
	domain:     {domain},
	base:       {},
	technology: {domain, base},
	wiring:     {domain, base, technology, wiring},
}

// goPackage is a package as "go list -json" describes it. GoFiles and Imports leave out tests.
type goPackage struct {
	ImportPath string
	Name       string
	Doc        string
	GoFiles    []string
	Imports    []string
}

// path is the package's folder in the repository: "internal/prompt".
func (p goPackage) path() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

func TestImportsFollowTheLayers(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if !strings.HasPrefix(p.path(), "internal/") || isTestSupport(p.path()) {
			continue
		}
		folder, rule := importRuleOf(p.path())
		if folder == "" {
			t.Errorf("%s has no line in importRules: add one", p.path())
			continue
		}
		for _, imported := range p.Imports {
			if problem := rule.problem(folder, imported); problem != "" {
				t.Errorf("%s (%s) imports %s: %s", p.path(), rule.layer, imported, problem)
			}
		}
	}
}

// isTestSupport reports whether a package exists for tests only. Such packages are in internal/testing. They may import
// everything, and only tests and other test support may import them.
func isTestSupport(path string) bool { return strings.HasPrefix(path, "internal/testing/") }

// importRuleOf returns the rule of a package and the folder that has it: the package's own, or the nearest above it.
// The folder is empty if there is none.
func importRuleOf(path string) (folder string, rule importRule) {
	for path != "" {
		if found, ok := importRules[path]; ok {
			return path, found
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return "", importRule{}
}

// problem says why a package below folder may not import a path. It is empty if the package may.
func (r importRule) problem(folder, imported string) string {
	ours, isOurs := strings.CutPrefix(imported, module+"/")
	switch {
	case isStandard(imported):
		return ""
	case isOurs && isTestSupport(ours):
		return "only tests may import it"
	case !isOurs:
		return r.moduleProblem(imported)
	case !strings.HasPrefix(ours, "internal/"):
		return "a package of internal/ may import only internal/ of this module"
	}
	target, to := importRuleOf(ours)
	if target == folder || target == r.beside && target != "" || slices.Contains(importable[r.layer], to.layer) {
		return ""
	}
	return "a " + string(r.layer) + " package may not import a " + string(to.layer) + " package"
}

func (r importRule) moduleProblem(imported string) string {
	for _, allowed := range r.modules {
		if imported == allowed || strings.HasPrefix(imported, allowed+"/") {
			return ""
		}
	}
	return "its module is not listed for this package"
}

// isStandard reports whether a path is of the standard library: the first element of such a path has no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// promptSteps are the steps of a prompt, in their order. Each may import the steps before it, so that gathering and
// choosing know nothing of budgets and formats. What the steps share imports none of them.
var promptSteps = []string{"gather", "choose", "pack", "render"}

func TestStepsOfAPromptKnowOnlyThoseBefore(t *testing.T) {
	t.Parallel()
	const folder = "internal/prompt/"
	known := 0
	for _, p := range listPackages(t) {
		name, below := strings.CutPrefix(p.path(), folder)
		if !below {
			continue
		}
		place := slices.Index(promptSteps, name) // -1 for what the steps share
		known += min(place+1, 1)
		for _, imported := range p.Imports {
			if problem := stepProblem(place, strings.TrimPrefix(imported, module+"/")); problem != "" {
				t.Errorf("%s imports %s: %s", p.path(), imported, problem)
			}
		}
	}
	if known != len(promptSteps) {
		t.Errorf("%d of the steps %v are packages of %s", known, promptSteps, folder)
	}
}

// stepProblem says why the step at a place may not import a path of this module. It is empty if it may.
func stepProblem(place int, imported string) string {
	if imported == "internal/prompt" {
		return "a step does not know the service"
	}
	name, _ := strings.CutPrefix(imported, "internal/prompt/")
	switch at := slices.Index(promptSteps, name); {
	case at < 0:
		return ""
	case place < 0:
		return "what the steps share knows no step"
	case at >= place:
		return "a step knows only the steps before it"
	case at == 0 && place > 1:
		return "only choosing knows what was gathered"
	}
	return ""
}

func TestEveryPackageHasAComment(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: its package comment begins with %q, not with %q", p.ImportPath, first(p.Doc, 30), want)
		}
	}
}

func first(s string, n int) string { return s[:min(n, len(s))] }

// packages asks the go command for every package of the module, once for all tests.
var packages = sync.OnceValues(func() ([]goPackage, error) {
	list := exec.CommandContext(context.Background(),
		"go", "list", "-json=ImportPath,Name,Doc,GoFiles,Imports", module+"/...")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode packages: %w", err)
		}
		packages = append(packages, p)
	}
})

// listPackages returns every package of the module. Nobody may change them.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	packages, err := packages()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	if len(packages) < len(importRules) {
		t.Fatalf("go list returned %d packages, fewer than importRules has", len(packages))
	}
	return packages
}
