package architecture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/throughline/throughline"

// layer says how far from the middle a package of internal/ is.
type layer string

const (
	// domain holds types, rules and the interfaces it consumes. It knows no technology.
	domain layer = "domain"
	// base is what every technology may use: the environment, the metrics. It knows nothing of ours.
	base layer = "base"
	// technology implements the domain's interfaces with one thing. It knows no other technology.
	technology layer = "technology"
	// wiring puts the two together. It may import everything of internal/, and only functions/ and infra/ import it.
	wiring layer = "wiring"
)

// place is where a package stands, and the outside modules it may import beside the standard library. Packages in a
// folder below it share its place.
type place struct {
	layer   layer
	outside []string
}

// The arrows. A package that is not listed fails the test: decide where it belongs, and add its line.
var places = map[string]place{
	"internal/fault":        {layer: domain},
	"internal/delay":        {layer: domain},
	"internal/strictjson":   {layer: domain},
	"internal/parallel":     {layer: domain, outside: []string{"golang.org/x/sync"}},
	"internal/truncate":     {layer: domain},
	"internal/llm":          {layer: domain},
	"internal/conversation": {layer: domain},
	"internal/longterm":     {layer: domain},
	"internal/summary":      {layer: domain, outside: []string{"golang.org/x/sync", "golang.org/x/text"}},
	"internal/memory":       {layer: domain},
	"internal/recall":       {layer: domain, outside: []string{"golang.org/x/sync"}},
	"internal/prompt":       {layer: domain, outside: []string{"golang.org/x/sync", "golang.org/x/text"}},
	"internal/chat":         {layer: domain, outside: []string{"golang.org/x/sync"}},
	"internal/erasure":      {layer: domain, outside: []string{"golang.org/x/sync"}},
	"internal/vector":       {layer: domain, outside: []string{"github.com/kljensen/snowball"}},

	"internal/config": {layer: base, outside: []string{"github.com/caarlos0/env"}},
	"internal/metric": {layer: base},

	"internal/dynamo": {layer: technology, outside: []string{
		"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "golang.org/x/sync",
	}},
	"internal/pinecone": {layer: technology, outside: []string{
		"github.com/pinecone-io/go-pinecone", "google.golang.org/grpc", "google.golang.org/protobuf", "golang.org/x/sync",
	}},
	"internal/openai": {layer: technology, outside: []string{"github.com/sashabaranov/go-openai", "golang.org/x/sync"}},
	"internal/token":  {layer: technology, outside: []string{"github.com/tiktoken-go/tokenizer"}},
	"internal/auth": {layer: technology, outside: []string{
		"github.com/golang-jwt/jwt", "github.com/MicahParks/keyfunc", "github.com/MicahParks/jwkset", "golang.org/x/time",
	}},
	"internal/httpapi": {layer: technology, outside: []string{
		"github.com/danielgtaylor/huma", "github.com/aws/aws-lambda-go",
	}},
	"internal/stream": {layer: technology, outside: []string{"github.com/aws/aws-lambda-go"}},
	"internal/invoke": {layer: technology, outside: []string{
		"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2",
	}},

	"internal/function": {layer: wiring, outside: []string{
		"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2", "golang.org/x/sync",
	}},
	"internal/architecture": {layer: wiring},
}

// reach lists the layers that a layer's packages may import.
var reach = map[layer][]layer{
	domain:     {domain},
	base:       {},
	technology: {domain, base},
	wiring:     {domain, base, technology, wiring},
}

// goPackage is what "go list -json" says of a package; its Imports are those of the files that are no tests.
type goPackage struct {
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
}

// path is where the package is in the tree: "internal/prompt".
func (p goPackage) path() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

func TestPackagesImportOnlyWhatTheirLayerMay(t *testing.T) {
	for _, p := range listPackages(t) {
		if !strings.HasPrefix(p.path(), "internal/") || isTestSupport(p.path()) {
			continue
		}
		name, own := placeOf(p.path())
		if name == "" {
			t.Errorf("%s has no place in the architecture: add its line to places", p.path())
			continue
		}
		for _, imported := range p.Imports {
			if problem := own.forbids(name, imported); problem != "" {
				t.Errorf("%s (%s) imports %s: %s", p.path(), own.layer, imported, problem)
			}
		}
	}
}

// isTestSupport: packages such as dynamotest, named as net/http/httptest is, are for tests alone. They may import what
// they like, and only tests and each other import them.
func isTestSupport(path string) bool { return strings.HasSuffix(path, "test") }

// placeOf finds a package's place: its own line, or that of the nearest folder it is in. The name is empty where there
// is none.
func placeOf(path string) (string, place) {
	for path != "" {
		if found, ok := places[path]; ok {
			return path, found
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return "", place{}
}

// forbids says why the package at a place may not import a path; empty when it may.
func (from place) forbids(name, imported string) string {
	ours, isOurs := strings.CutPrefix(imported, module+"/")
	switch {
	case isStandard(imported):
		return ""
	case isOurs && isTestSupport(ours):
		return "it is for tests alone"
	case !isOurs:
		return from.forbidsOutside(imported)
	case !strings.HasPrefix(ours, "internal/"):
		return "nothing in internal/ knows what stands around it"
	}
	target, to := placeOf(ours)
	if target == name || slices.Contains(reach[from.layer], to.layer) {
		return ""
	}
	return "a " + string(from.layer) + " package knows no " + string(to.layer) + " package"
}

func (from place) forbidsOutside(imported string) string {
	for _, allowed := range from.outside {
		if imported == allowed || strings.HasPrefix(imported, allowed+"/") {
			return ""
		}
	}
	return "it is not among the modules this package may use"
}

// isStandard: the paths of the standard library have no dot in their first element.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
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

// listPackages asks the go command for every package of the module.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Doc,Imports", module+"/...")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, stderr.Bytes())
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("decode packages: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) < len(places) {
		t.Fatalf("only %d packages were listed, fewer than places has", len(packages))
	}
	return packages
}
