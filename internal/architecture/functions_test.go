package architecture_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

func TestEveryFunctionIsDeployed(t *testing.T) {
	t.Parallel()
	var deployed, written []string
	for id, r := range readTemplate(t).Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		var p struct{ CodeURI string }
		if err := json.Unmarshal(r.Properties, &p); err != nil {
			t.Fatalf("decode %s: %v", id, err)
		}
		folder, ok := strings.CutPrefix(p.CodeURI, "functions/")
		if !ok || r.Metadata.BuildMethod != "go1.x" {
			t.Errorf("%s is built from %q with %q, not from functions/ with go1.x", id, p.CodeURI, r.Metadata.BuildMethod)
		}
		deployed = append(deployed, folder)
	}
	mains := check.Got(filepath.Glob("../../functions/*/main.go"))(t)
	for _, main := range mains {
		written = append(written, filepath.Base(filepath.Dir(main)))
	}
	slices.Sort(deployed)
	check.Same(t, written, deployed, "functions/ (-) and template.yaml (+)")
}

func TestMainsAreShort(t *testing.T) {
	t.Parallel()
	const most = 50
	mains := check.Got(filepath.Glob("../../functions/*/main.go"))(t)
	for _, main := range mains {
		source := check.Got(os.ReadFile(main))(t)
		if lines := strings.Count(string(source), "\n"); lines > most {
			t.Errorf("%s has %d lines, more than %d", main, lines, most)
		}
	}
}

func TestFunctionsOnlyWire(t *testing.T) {
	t.Parallel()
	allowed := []string{
		module + "/internal/function", module + "/internal/config", "github.com/aws/aws-lambda-go",
	}
	for _, p := range listPackages(t) {
		if !strings.HasPrefix(p.path(), "functions/") {
			continue
		}
		for _, imported := range p.Imports {
			ok := isStandard(imported) || slices.ContainsFunc(allowed, func(a string) bool {
				return imported == a || strings.HasPrefix(imported, a+"/")
			})
			if !ok {
				t.Errorf("%s imports %s: a main only wires, through internal/function", p.path(), imported)
			}
		}
	}
}

// TestEveryFunctionHasFewClients looks for the clients of AWS that the shared wiring has: every function links them,
// and they take time at its start. A client of some functions has a package of its own.
func TestEveryFunctionHasFewClients(t *testing.T) {
	t.Parallel()
	const services = "github.com/aws/aws-sdk-go-v2/service/"
	for _, p := range listPackages(t) {
		if p.path() != "internal/function" {
			continue
		}
		isOther := func(imported string) bool { return !strings.HasPrefix(imported, services) }
		clients := slices.DeleteFunc(slices.Clone(p.Imports), isOther)
		check.Same(t, []string{services + "dynamodb", services + "secretsmanager"}, clients, "the clients")
	}
}
