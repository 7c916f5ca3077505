package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// services is AWS as the command sees it: DynamoDB Local, and the few calls to KMS and Lambda. It notes the actions.
type awsServices struct {
	mu     sync.Mutex
	called map[string]bool
}

func (a *awsServices) note(action string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.called[action] = true
}

// startServices points the environment at the services.
func startServices(t *testing.T) *awsServices {
	t.Helper()
	a := &awsServices{called: map[string]bool{}}
	engine, err := url.Parse(dynamodbtest.Endpoint(t))
	check.OK(t, err)
	proxy := httputil.NewSingleHostReverseProxy(engine)
	const key = "arn:aws:kms:us-east-1:111122223333:key/1"
	proxy.ModifyResponse = func(r *http.Response) error { // the engine has no encryption
		if r.Request.Header.Get("X-Amz-Target") != "DynamoDB_20120810.DescribeTable" {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		body = bytes.Replace(body, []byte(`{"Table":{`), []byte(`{"Table":{"SSEDescription":{"Status":"ENABLED",`+
			`"KMSMasterKeyArn":"`+key+`"},`), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Del("Content-Length")
		r.Header.Del("X-Amz-Crc32")
		return err
	}
	serve := func(variable string, h http.HandlerFunc) {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		t.Setenv(variable, server.URL)
	}
	serve("AWS_ENDPOINT_URL_DYNAMODB", func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		a.note("dynamodb:" + operation)
		if operation == "DescribeContinuousBackups" { // the engine does not have it
			fmt.Fprint(w, `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED",`+
				`"PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"ENABLED"}}}`)
			return
		}
		proxy.ServeHTTP(w, r)
	})
	serve("AWS_ENDPOINT_URL_KMS", func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		a.note("kms:" + operation)
		fmt.Fprint(w, `{"KeyMetadata":{"KeyId":"1","KeyManager":"CUSTOMER"}}`)
	})
	serve("AWS_ENDPOINT_URL_LAMBDA", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/2015-03-31/event-source-mappings") {
			a.note("lambda:ListEventSourceMappings")
		}
		fmt.Fprint(w, `{"EventSourceMappings":[{"FunctionArn":"arn:aws:lambda:us-east-1:1:function:app-search"}]}`)
	})
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_REGION": "us-east-1",
	} {
		t.Setenv(name, value)
	}
	return a
}

// TestPreflightNeedsThePolicyOfItsDocument checks a table and compares the calls with the policy in docs/adopting.md.
func TestPreflightNeedsThePolicyOfItsDocument(t *testing.T) {
	services := startServices(t)
	name := dynamodbtest.Table(t, table.CreateTableInput(""))
	code, out, _ := play(t, "preflight", name)
	if code != found || !strings.Contains(out, "NOT READY") || !strings.Contains(out, "update-time-to-live") {
		t.Errorf("without a TTL the command exits with %d:\n%s", code, out)
	}
	check.Got(dynamodbtest.Client(t).UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(name), TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(table.TTLAttribute), Enabled: aws.Bool(true),
		},
	}))(t)
	code, out, _ = play(t, "preflight", name, "-json")
	var report preflight.Report
	check.OK(t, json.Unmarshal([]byte(out), &report))
	if code != done || !report.Ready || report.Parameters["ExistingTableKmsKeyArn"] == "" ||
		!strings.Contains(out, "app-search") {
		t.Errorf("the command exits with %d:\n%s", code, out)
	}
	check.Same(t, policyActions(t), slices.Sorted(maps.Keys(services.called)),
		"the policy of docs/adopting.md (-) and the calls (+)")
}

var policy = regexp.MustCompile("(?s)```json\n(.*?)```")

// policyActions lists the actions of the policy in the document.
func policyActions(t *testing.T) []string {
	t.Helper()
	text := check.Got(os.ReadFile("../../docs/adopting.md"))(t)
	match := policy.FindSubmatch(text)
	if match == nil {
		t.Fatal("docs/adopting.md has no policy")
	}
	var p struct{ Statement []struct{ Action []string } }
	check.OK(t, json.Unmarshal(match[1], &p))
	var actions []string
	for _, s := range p.Statement {
		actions = append(actions, s.Action...)
	}
	slices.Sort(actions)
	return actions
}

func TestPreflightThatCannotCheck(t *testing.T) {
	startServices(t)
	for _, c := range []struct {
		arguments []string
		says      string
	}{
		{nil, "throughline preflight table"},
		{[]string{"x", "-json=y"}, "invalid boolean"},
		{[]string{"no-such-table"}, "describe table no-such-table"},
	} {
		code, out, problems := play(t, append([]string{"preflight"}, c.arguments...)...)
		if code != refused || out != "" || !strings.Contains(problems, c.says) {
			t.Errorf("%v: exits with %d and says %q, want %q", c.arguments, code, problems, c.says)
		}
	}
}
