package rie_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
)

// door stands before the table as IAM does: it lets one function do what its role in the template allows, and refuses
// the rest as the service would. DynamoDB Local itself allows everything, so a permission that is missing would show
// first in AWS.
type door struct {
	t        *testing.T
	function string
	allowed  []permission
	engine   http.Handler
}

// permission is one action on the table, or on one of its indexes where that is named.
type permission struct{ action, index string }

func newDoor(t *testing.T, function string) *door {
	t.Helper()
	engine, err := url.Parse(dynamodbtest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, function: function, allowed: permissions(t, function), engine: httputil.NewSingleHostReverseProxy(engine)}
	if len(d.allowed) == 0 {
		t.Fatalf("the role of %s allows nothing on the table", function)
	}
	return d
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	for _, need := range needs(operation, body) {
		if !slices.Contains(d.allowed, need) {
			d.t.Errorf("%s calls %s, and its role does not allow %v", d.function, operation, need)
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not authorized: %s"}`, need.action)
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.engine.ServeHTTP(w, r)
}

// needs are the permissions that a call takes. A transaction takes those of its parts, and none of its own.
func needs(operation string, body []byte) []permission {
	var in struct {
		IndexName     string
		TransactItems []map[string]json.RawMessage
	}
	if json.Unmarshal(body, &in) != nil {
		return []permission{{"dynamodb:" + operation, ""}}
	}
	parts := map[string]string{
		"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem",
	}
	var out []permission
	for _, item := range in.TransactItems {
		for part := range item {
			out = append(out, permission{"dynamodb:" + parts[part], ""})
		}
	}
	if len(out) == 0 {
		out = append(out, permission{"dynamodb:" + operation, in.IndexName})
	}
	return out
}

// permissions are what the template's role of a function allows on the table and its indexes.
func permissions(t *testing.T, function string) []permission {
	t.Helper()
	var tpl struct {
		Resources map[string]struct {
			Properties struct {
				Policies []struct {
					PolicyDocument struct {
						Statement []statement `yaml:"Statement"`
					} `yaml:"PolicyDocument"`
				} `yaml:"Policies"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(throughline.Template, &tpl); err != nil {
		t.Fatalf("parse template: %v", err)
	}
	role := strings.ToUpper(function[:1]) + function[1:] + "Role"
	var out []permission
	for _, policy := range tpl.Resources[role].Properties.Policies {
		for _, s := range policy.PolicyDocument.Statement {
			out = append(out, s.permissions()...)
		}
	}
	return out
}

// statement is one of a role's policy; its values are text or lists, with intrinsic functions in them.
type statement struct {
	Action   yaml.Node `yaml:"Action"`
	Resource yaml.Node `yaml:"Resource"`
}

var indexARN = regexp.MustCompile(`/index/([\w.-]+)$`)

func (s statement) permissions() []permission {
	indexes := []string{""}
	for _, resource := range scalars(&s.Resource) {
		if m := indexARN.FindStringSubmatch(resource); m != nil {
			indexes = append(indexes, m[1])
		}
	}
	if len(indexes) > 1 {
		indexes = indexes[1:] // a statement about indexes says nothing about the table
	}
	var out []permission
	for _, action := range scalars(&s.Action) {
		for _, index := range indexes {
			if strings.HasPrefix(action, "dynamodb:") {
				out = append(out, permission{action, index})
			}
		}
	}
	return out
}

// scalars are the texts of a node and of all below it.
func scalars(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var out []string
	for _, child := range n.Content {
		out = append(out, scalars(child)...)
	}
	return out
}
