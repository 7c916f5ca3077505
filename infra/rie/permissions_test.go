package rie_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// permissionCheck is a proxy of the table that checks permissions as IAM does. It lets one function do what its role in
// the template allows, and refuses the rest as the service would. DynamoDB Local itself allows everything, so without
// the check a missing permission would first show in AWS.
type permissionCheck struct {
	t        testing.TB
	function string
	allowed  []template.Permission
	engine   http.Handler
}

// need is one action on the table, or on one of its indexes where that is named, with the attributes that a call of its
// own names and what it asks to be returned.
type need struct {
	action, index string
	attributes    []string
	returnValues  string
}

// isAllowed reports whether a statement allows what is needed, its conditions included.
func (n need) isAllowed(p template.Permission) bool {
	if p.Action != n.action || p.Index() != n.index || p.ReturnValues != "" && p.ReturnValues != n.returnValues {
		return false
	}
	isOther := func(name string) bool { return !slices.Contains(p.Attributes, name) }
	return p.Attributes == nil || len(n.attributes) > 0 && !slices.ContainsFunc(n.attributes, isOther)
}

func newPermissionCheck(t testing.TB, function string) *permissionCheck {
	t.Helper()
	engine := check.Got(url.Parse(dynamodbtest.Endpoint(t)))(t)
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
		if !slices.ContainsFunc(c.allowed, need.isAllowed) {
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
func needs(operation string, body []byte) []need {
	var in struct {
		IndexName, ReturnValues  string
		Key                      map[string]json.RawMessage
		ExpressionAttributeNames map[string]string
		TransactItems            []map[string]json.RawMessage
	}
	if json.Unmarshal(body, &in) != nil {
		return []need{{action: "dynamodb:" + operation}}
	}
	parts := map[string]string{
		"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "Get": "GetItem",
		"ConditionCheck": "ConditionCheckItem",
	}
	var out []need
	for _, item := range in.TransactItems {
		for part := range item {
			out = append(out, need{action: "dynamodb:" + parts[part]})
		}
	}
	if len(out) == 0 {
		names := slices.Concat(slices.Collect(maps.Keys(in.Key)), slices.Collect(maps.Values(in.ExpressionAttributeNames)))
		out = append(out, need{"dynamodb:" + operation, in.IndexName, names, in.ReturnValues})
	}
	return out
}

// permissions lists what the template's role of a function allows on the table and its indexes.
func permissions(t testing.TB, function string) []template.Permission {
	t.Helper()
	tpl := check.Got(template.Parse(throughline.Template, nil))(t)
	role := check.Got(tpl.Role(function))(t)
	return slices.DeleteFunc(role, func(p template.Permission) bool { return !strings.HasPrefix(p.Action, "dynamodb:") })
}
