package rie_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/infra/local/template"
)

// permissionCheck is a proxy of the table that checks permissions as IAM does. It lets one function do what its role in
// the template allows, and refuses the rest as the service would. DynamoDB Local itself allows everything, so without
// the check a missing permission would first show in AWS.
type permissionCheck struct {
	t        *testing.T
	function string
	allowed  []permission
	engine   http.Handler
}

// permission is one action on the table, or on one of its indexes where that is named.
type permission struct{ action, index string }

func newPermissionCheck(t *testing.T, function string) *permissionCheck {
	t.Helper()
	engine, err := url.Parse(dynamodbtest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	check := &permissionCheck{
		t: t, function: function, allowed: permissions(t, function), engine: httputil.NewSingleHostReverseProxy(engine),
	}
	if len(check.allowed) == 0 {
		t.Fatalf("the role of %s allows nothing on the table", function)
	}
	return check
}

func (c *permissionCheck) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	for _, need := range needs(operation, body) {
		if !slices.Contains(c.allowed, need) {
			c.t.Errorf("%s calls %s, and its role does not allow %v", c.function, operation, need)
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type":"com.amazon.coral.service#AccessDeniedException",`+
				`"Message":"not authorized: %s"}`, need.action)
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.engine.ServeHTTP(w, r)
}

// needs lists the permissions that a call needs. A transaction needs those of its parts and none of its own.
func needs(operation string, body []byte) []permission {
	var in struct {
		IndexName     string
		TransactItems []map[string]json.RawMessage
	}
	if json.Unmarshal(body, &in) != nil {
		return []permission{{"dynamodb:" + operation, ""}}
	}
	parts := map[string]string{
		"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "Get": "GetItem",
		"ConditionCheck": "ConditionCheckItem",
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

// permissions lists what the template's role of a function allows on the table and its indexes.
func permissions(t *testing.T, function string) []permission {
	t.Helper()
	tpl, err := template.Parse(throughline.Template, nil)
	if err != nil {
		t.Fatal(err)
	}
	role, err := tpl.Role(function)
	if err != nil {
		t.Fatal(err)
	}
	var out []permission
	for _, p := range role {
		if strings.HasPrefix(p.Action, "dynamodb:") {
			out = append(out, permission{p.Action, p.Index()})
		}
	}
	return out
}
