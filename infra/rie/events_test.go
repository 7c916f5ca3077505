package rie_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/eventpattern"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// load reads an event of infra/events.
func load(t testing.TB, name string) []byte {
	t.Helper()
	return check.Got(os.ReadFile(filepath.Join("../events", name+".json")))(t)
}

func decode[T any](t testing.TB, text []byte) T {
	t.Helper()
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("decode %.200s: %v", text, err)
	}
	return out
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	return check.Got(json.Marshal(v))(t)
}

// request returns the HTTP API event of the messages function with another method, path and body.
func request(t testing.TB, method, path, body string) []byte {
	t.Helper()
	e := decode[events.APIGatewayV2HTTPRequest](t, load(t, "messages"))
	e.RawPath, e.Body = path, body
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = method, path
	delete(e.Headers, "idempotency-key")
	return encode(t, e)
}

// items reads the user's items under a prefix, the oldest first, in the form that they have in stream records too.
func (s *system) items(t testing.TB, prefix string) []map[string]json.RawMessage {
	t.Helper()
	return s.query(t, prefix, true)
}

// query reads a page of items from the engine itself, where no permissions are checked.
func (s *system) query(t testing.TB, prefix string, forward bool) []map[string]json.RawMessage {
	t.Helper()
	query := encode(t, map[string]any{
		"TableName": s.table, "ConsistentRead": true, "ScanIndexForward": forward,
		"KeyConditionExpression": "pk = :pk AND begins_with(sk, :sk)",
		"ExpressionAttributeValues": map[string]any{
			":pk": map[string]string{"S": "user#" + user}, ":sk": map[string]string{"S": prefix},
		},
	})
	r := check.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, dynamodbtest.Endpoint(t),
		bytes.NewReader(query)))(t)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.Query")
	// The engine reads the access key and the region, and checks no signature.
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260205/us-east-1/dynamodb/aws4_request, "+
		"SignedHeaders=host, Signature=0")
	response := check.Got(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("query %s: status %d, %v: %s", prefix, response.StatusCode, err, answer)
	}
	return decode[struct{ Items []map[string]json.RawMessage }](t, answer).Items
}

// records returns a stream event with the table's own items in its records, in order.
func (s *system) records(t testing.TB, name, prefix string) []byte {
	t.Helper()
	event := decode[map[string][]map[string]any](t, load(t, name))
	stored := s.items(t, prefix)
	if len(stored) != len(event["Records"]) {
		t.Fatalf("%d items under %s for %d records of %s", len(stored), prefix, len(event["Records"]), name)
	}
	for i, r := range event["Records"] {
		change := r["dynamodb"].(map[string]any)
		change["Keys"] = map[string]any{"pk": stored[i]["pk"], "sk": stored[i]["sk"]}
		change["NewImage"] = stored[i]
	}
	return encode(t, event)
}

// TestEventsReachTheirFunctions checks the files, which people use to invoke functions, by the template: each must be
// an event that its function can get.
func TestEventsReachTheirFunctions(t *testing.T) {
	t.Parallel()
	deployed := check.Got(template.Parse(throughline.Template,
		map[string]string{"JwtIssuer": "https://issuer.example.com"}))(t)
	files := check.Got(filepath.Glob("../events/*.json"))(t)
	seen := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		function, _, _ := strings.Cut(name, "-")
		f, ok := deployed.Function(function)
		if !ok {
			t.Errorf("%s belongs to no function", file)
			continue
		}
		seen[function] = true
		if problem := deliveryProblem(t, f, load(t, name)); problem != "" {
			t.Errorf("%s: %s", file, problem)
		}
	}
	for _, f := range deployed.Functions {
		if !seen[f.Name] {
			t.Errorf("%s has no event", f.Name)
		}
	}
}

// deliveryProblem returns why an event cannot reach a function, or nothing if it can.
func deliveryProblem(t testing.TB, f template.Function, event []byte) string {
	t.Helper()
	e := decode[struct {
		RouteKey string
		// HTTPMethod is of the REST API's events, which are in payload format 1.0.
		HTTPMethod string
		Schedule   string
		UserID     string
		Action     string // of the migration, which is no user's
		Records    []map[string]any
	}](t, event)
	switch {
	case e.RouteKey == "$default", e.HTTPMethod != "":
		return unless(f.URL, "it has no door of its own")
	case e.RouteKey != "":
		return unless(slices.ContainsFunc(f.Routes, func(r template.Route) bool {
			return r.Method+" "+r.Path == e.RouteKey
		}), "it has no route "+e.RouteKey)
	case e.Schedule != "":
		return unless(slices.ContainsFunc(f.Schedules, func(s template.Schedule) bool {
			return string(encode(t, decode[any](t, []byte(s.Input)))) == string(encode(t, decode[any](t, event)))
		}), "no schedule sends it")
	case len(e.Records) > 0:
		return dropped(f, e.Records)
	}
	return unless(e.UserID != "" || f.Name == "migrate" && e.Action != "", "a direct invocation names its user")
}

func unless(holds bool, problem string) string {
	if holds {
		return ""
	}
	return problem
}

// dropped returns which record no filter of the function's mappings lets through.
func dropped(f template.Function, records []map[string]any) string {
	var filters []eventpattern.Pattern
	for _, mapping := range f.Streams {
		for _, text := range mapping.Filters {
			filter, err := eventpattern.Parse(text)
			if err != nil {
				return err.Error()
			}
			filters = append(filters, filter)
		}
	}
	for i, r := range records {
		if !slices.ContainsFunc(filters, func(p eventpattern.Pattern) bool { return p.Match(r) }) {
			return fmt.Sprintf("its filters drop record %d", i)
		}
	}
	return ""
}
