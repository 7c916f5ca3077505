package architecture_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestRolesAllowWhatTheCodeCalls compares each role with the calls of AWS that the function's code can make, both ways:
// a missing action would first show in AWS, and one too many is a right that nobody needs.
func TestRolesAllowWhatTheCodeCalls(t *testing.T) {
	t.Parallel()
	tpl := check.Got(template.Parse(throughline.Template, map[string]string{"EventBusName": "bus"}))(t)
	program, mains := loadFunctions(t)
	if len(mains) != len(tpl.Functions) {
		t.Errorf("%d functions are written and %d deployed", len(mains), len(tpl.Functions))
	}
	for _, f := range tpl.Functions {
		called := actionsOf(t, program, mains[f.Name])
		if !slices.Contains(called, "dynamodb:Query") {
			t.Errorf("no call of %s is found: it calls %v", f.Name, called)
		}
		called = append(called, servicePermissions(f)...)
		slices.Sort(called)
		check.Same(t, called, allowed(t, tpl, f), "what %s needs (-) and what its role allows (+)", f.Name)
	}
}

// TestRolesMayUseTheTablesKey expects that every role has the rights to a customer managed key of an adopted table, and
// only where there is one.
func TestRolesMayUseTheTablesKey(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	var roles []string
	for _, f := range tpl.Functions {
		roles = append(roles, template.LogicalID(f.Name, "Role"))
	}
	var p struct{ Roles []string }
	policy := tpl.Resources["TableKeyPolicy"]
	if err := json.Unmarshal(policy.Properties, &p); err != nil {
		t.Fatalf("decode TableKeyPolicy: %v", err)
	}
	slices.Sort(p.Roles)
	check.Same(t, roles, p.Roles, "the functions' roles (-) and those of the policy (+)")
	if policy.Condition != "HasTableKey" {
		t.Errorf("TableKeyPolicy has the condition %q", policy.Condition)
	}
}

// TestRolesMayReadThePreviousTable expects that each function but the migration may read the table that a restore
// leaves, its indexes and, where it has the stream, that, and may not write there. Without such a table nothing names
// one.
func TestRolesMayReadThePreviousTable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "other"} {
		tpl := check.Got(template.Parse(throughline.Template, map[string]string{"PreviousTableName": name}))(t)
		for _, f := range tpl.Functions {
			permissions := check.Got(tpl.Role(f.Name))(t)
			var want, got []string
			if name != "" && f.Name != "migrate" { // a migration waits for the end of a restore
				want = []string{"dynamodb:BatchGetItem", "dynamodb:Query"}
				if len(f.Streams) > 0 {
					want = append(want, "dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator",
						"dynamodb:ListStreams")
				}
			}
			for _, p := range permissions {
				if strings.HasSuffix(p.Resource, ":table/other/*") {
					got = append(got, p.Action)
				}
			}
			check.Same(t, want, got, "PreviousTableName=%s: %s", name, f.Name)
		}
	}
}

// TestRolesMayReadTheCollectorsHeaders expects that each function that makes spans may read the collector's headers,
// and only where there is a collector.
func TestRolesMayReadTheCollectorsHeaders(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"https://otlp.example": true, "": false} {
		tpl := check.Got(template.Parse(throughline.Template, map[string]string{"OtlpEndpoint": value}))(t)
		for _, f := range tpl.Functions {
			permissions := check.Got(tpl.Role(f.Name))(t)
			may := slices.ContainsFunc(permissions, func(p template.Permission) bool {
				return p.Secret() == string(config.OTLPHeaders)
			})
			if may != (want && f.Name != "migrate") { // the function migrate makes none
				t.Errorf("OtlpEndpoint=%s: %s may read them: %t", value, f.Name, may)
			}
		}
	}
}

// servicePermissions lists what Lambda itself does with a function's role: it writes logs and traces, reads the
// stream, and sends failed records to the dead-letter queue (AWS Lambda Developer Guide, "Permissions").
func servicePermissions(f template.Function) []string {
	needs := []string{
		"logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTelemetryRecords", "xray:PutTraceSegments",
	}
	if len(f.Streams) > 0 {
		needs = append(needs, "dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator",
			"dynamodb:ListStreams")
	}
	if slices.ContainsFunc(f.Streams, func(s template.Stream) bool { return s.DeadLetters }) {
		needs = append(needs, "sqs:SendMessage")
	}
	return needs
}

// allowed lists what a function's role allows, and checks that each action is allowed on the function's own resources.
func allowed(t *testing.T, tpl *template.Template, f template.Function) []string {
	t.Helper()
	permissions := check.Got(tpl.Role(f.Name))(t)
	var out []string
	for _, p := range permissions {
		if want := resourceOf(p, f.Name); !strings.Contains(p.Resource, want) {
			t.Errorf("the role of %s allows %s on %q, not on %q", f.Name, p.Action, p.Resource, want)
		}
		out = append(out, strings.TrimSpace(p.Action+" "+p.Index()+p.Secret()))
	}
	slices.Sort(out)
	return slices.Compact(out) // an action may be allowed on several resources
}

// resourceOf returns what the resource of a permission has to contain.
func resourceOf(p template.Permission, function string) string {
	service, action, _ := strings.Cut(p.Action, ":")
	switch {
	case action == "ListStreams": // it applies to the streams of a table, not to one stream
		return "Table.Arn/stream/"
	case action == "DescribeStream",
		action == "GetRecords" || action == "GetShardIterator":
		return "Table.StreamArn"
	case service == "dynamodb":
		return "Table.Arn"
	case service == "logs":
		return template.LogicalID(function, "Logs.Arn")
	case service == "sqs" && action == "GetQueueAttributes": // of all functions
		return "DeadLetters.Arn"
	case service == "sqs":
		return template.LogicalID(function, "DeadLetters.Arn")
	case service == "lambda" && function == "summarize": // itself, by its name: its ARN would depend on its role
		return ":function:throughline-summarize:live"
	case service == "lambda":
		return "throughline-prompt:live"
	case service == "events":
		return ":event-bus/bus"
	case service == "secretsmanager":
		return ":secret:throughline/"
	}
	return "*" // X-Ray has no resources
}
