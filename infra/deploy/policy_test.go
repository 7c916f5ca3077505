package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// services are the services whose rights a type of resource needs, as policy.json writes them. Types of SAM become
// several resources.
var services = map[string][]string{
	"AWS::CloudFormation::Stack":    {"cloudformation"},
	"AWS::CloudWatch::Alarm":        {"cloudwatch"},
	"AWS::CloudWatch::Dashboard":    {"cloudwatch"},
	"AWS::DynamoDB::Table":          {"dynamodb"},
	"AWS::IAM::Policy":              {"iam"},
	"AWS::IAM::Role":                {"iam"},
	"AWS::Logs::LogGroup":           {"logs"},
	"AWS::SQS::Queue":               {"sqs"},
	"AWS::Serverless::Function":     {"lambda", "iam", "scheduler", "s3", "codedeploy"},
	"AWS::Lambda::Permission":       {"lambda"},
	"AWS::Lambda::Url":              {"lambda"},
	"AWS::Serverless::Api":          {"apigateway"},
	"AWS::WAFv2::WebACL":            {"wafv2"},
	"AWS::WAFv2::WebACLAssociation": {"wafv2"},
	"AWS::Serverless::HttpApi":      {"apigateway", "logs"},
	"AWS::Serverless::StateMachine": {"states", "iam", "s3"},
}

var resourceType = regexp.MustCompile(`(?m)^    Type: (AWS::\w+::\w+)`)

// TestDeployersRights compares policy.json with the templates: each type of resource needs rights, and no service has
// rights that nothing needs. tools/deployer.py compares the actions, with the templates as SAM expands them.
func TestDeployersRights(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	needed := map[string]bool{"secretsmanager": true} // of make deploy and throughline bootstrap
	for _, path := range []string{
		"template.yaml", "infra/alarms/template.yaml", "infra/alarms/release.yaml", "infra/dashboard/template.yaml",
	} {
		text := check.Got(os.ReadFile(filepath.Join(root, path)))(t)
		for _, m := range resourceType.FindAllSubmatch(text, -1) {
			of, known := services[string(m[1])]
			if !known {
				t.Errorf("%s has %s: say which rights its deployment needs, here and in policy.json", path, m[1])
			}
			for _, service := range of {
				needed[service] = true
			}
		}
	}
	granted := grantedActions(t)
	for service := range needed {
		if len(granted[service]) == 0 {
			t.Errorf("policy.json has no rights to %s", service)
		}
	}
	for service, actions := range granted {
		if !needed[service] || slices.Contains(actions, "*") {
			t.Errorf("policy.json has more rights to %s than needed: %v", service, actions)
		}
	}
}

// grantedActions returns the actions that policy.json allows, by service.
func grantedActions(t *testing.T) map[string][]string {
	t.Helper()
	text := check.Got(os.ReadFile("policy.json"))(t)
	var policy struct {
		Statement []struct {
			Effect           string
			Action, Resource []string
		}
	}
	check.OK(t, json.Unmarshal(text, &policy))
	var compact bytes.Buffer // white space does not count
	if err := json.Compact(&compact, text); err != nil || compact.Len() > 10_240 {
		t.Errorf("%v, %d bytes: an inline policy of a role has at most 10,240", err, compact.Len())
	}
	granted := map[string][]string{}
	for _, s := range policy.Statement {
		for _, action := range s.Action {
			service, name, _ := strings.Cut(action, ":")
			granted[service] = append(granted[service], name)
		}
	}
	return granted
}
