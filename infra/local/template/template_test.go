package template_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/eventpattern"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
)

const small = `
Parameters:
  Idle: { Type: String, Default: 15m }
  Origins: { Type: CommaDelimitedList, Default: "a, b" }
  Existing: { Type: String, Default: "" }
  Keep: { Type: Number, Default: 7 }
Conditions:
  Create: !Equals [!Ref Existing, ""]
  Adopt: !Not [!Equals [!Ref Existing, ""]]
Globals:
  Function:
    AutoPublishAlias: live
    Timeout: 10
    Environment: { Variables: { IDLE: !Ref Idle, SHARED: global, ON: true } }
Resources:
  Table: { Type: AWS::DynamoDB::Table, DeletionPolicy: Retain, Properties: { BillingMode: PAY_PER_REQUEST } }
  Second:
    Type: AWS::Serverless::Function
    Metadata: { BuildMethod: go1.x }
    Properties:
      FunctionName: !Sub ${AWS::StackName}-second
      CodeUri: functions/second/
      Environment:
        Variables:
          SHARED: own
          FIRST: !Ref First
          FIRST_LIVE: !Ref First.Alias
          ORIGINS: !Join [",", !Ref Origins]
          TABLE: !If [Create, !Ref Table, !Ref Existing]
          ADOPTED: !If [Adopt, "yes", !Ref AWS::NoValue]
          ARN: !GetAtt Table.Arn
          PATH: !Sub "/${Keep}"
  Url: { Type: AWS::Lambda::Url, Properties: { TargetFunctionArn: !Ref Second.Alias, AuthType: NONE } }
  First:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub "${AWS::StackName}-first"
      CodeUri: functions/first
      Timeout: 29
      MemorySize: 512
      Events:
        All: { Type: HttpApi, Properties: { ApiId: !Ref Api, Path: "/v1/{proxy+}", Method: post } }
        Docs: { Type: HttpApi, Properties: { Path: /docs, Method: GET, Auth: { Authorizer: NONE } } }
        Bare: { Type: DynamoDB, Properties: { Stream: !GetAtt Table.StreamArn, StartingPosition: LATEST } }
        Full:
          Type: DynamoDB
          Properties:
            StartingPosition: TRIM_HORIZON
            BatchSize: !Ref Keep
            MaximumBatchingWindowInSeconds: 1
            MaximumRetryAttempts: 0
            MaximumRecordAgeInSeconds: 60
            BisectBatchOnFunctionError: true
            ParallelizationFactor: 10
            FunctionResponseTypes: [ReportBatchItemFailures]
            DestinationConfig: { OnFailure: { Type: SQS, Destination: !GetAtt Queue.Arn } }
            FilterCriteria: { Filters: [{ Pattern: '{"eventName":["INSERT"]}' }] }
        Sweep: { Type: ScheduleV2, Properties: { ScheduleExpression: rate(1 minute), Input: '{"a":1}' } }
        Daily: { Type: ScheduleV2, Properties: { ScheduleExpression: rate(2 days), State: DISABLED } }
`

func TestParse(t *testing.T) {
	t.Parallel()
	got := check.Got(template.Parse([]byte(small), map[string]string{"Idle": "1m"}))(t)
	want := &template.Template{Functions: []template.Function{
		{
			Name: "first", PhysicalName: "throughline-first", Timeout: 29 * time.Second, MemoryMB: 512,
			Environment: map[string]string{"IDLE": "1m", "SHARED": "global", "ON": "true"},
			Routes: []template.Route{
				{Method: "POST", Path: "/v1/{proxy+}", Authorized: true},
				{Method: "GET", Path: "/docs"},
			},
			Streams: []template.Stream{
				{Name: "Bare", BatchSize: 100, MaxRetries: -1, MaxAge: -1, Parallel: 1},
				{
					Name: "Full", BatchSize: 7, BatchWindow: time.Second, Filters: []string{`{"eventName":["INSERT"]}`},
					MaxAge: time.Minute, Bisect: true, ReportsItems: true, Parallel: 10, DeadLetters: true, TrimHorizon: true,
				},
			},
			Schedules: []template.Schedule{
				{Name: "Daily", Every: 48 * time.Hour, Off: true},
				{Name: "Sweep", Every: time.Minute, Input: `{"a":1}`},
			},
		},
		{
			Name: "second", PhysicalName: "throughline-second", Timeout: 10 * time.Second, MemoryMB: 128, URL: true,
			Environment: map[string]string{
				"IDLE": "1m", "SHARED": "own", "ON": "true", "FIRST": "throughline-first",
				"FIRST_LIVE": "throughline-first:live", "ORIGINS": "a,b",
				"TABLE": "Table", "ARN": "Table.Arn", "PATH": "/7",
			},
		},
	}}
	table, second := got.Resources["Table"], got.Resources["Second"]
	if table.Type != "AWS::DynamoDB::Table" || table.DeletionPolicy != "Retain" ||
		string(table.Properties) != `{"BillingMode":"PAY_PER_REQUEST"}` || second.Metadata.BuildMethod != "go1.x" {
		t.Errorf("resources: table %+v, second %+v", table, second)
	}
	got.Resources = nil
	check.Same(t, want, got, "template")
}

func TestParseCORS(t *testing.T) {
	t.Parallel()
	const api = `
Parameters: { Origins: { Type: CommaDelimitedList, Default: "" } }
Conditions: { HasCors: !Not [!Equals [!Join ["", !Ref Origins], ""]] }
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration: !If
        - HasCors
        - { AllowOrigins: !Ref Origins, AllowMethods: [GET, PUT], AllowHeaders: [a], ExposeHeaders: [b], MaxAge: 60 }
        - !Ref AWS::NoValue
`
	for origins, want := range map[string]*template.CORS{
		"": nil,
		"http://a, http://b:1": {
			AllowOrigins: []string{"http://a", "http://b:1"}, AllowMethods: []string{"GET", "PUT"},
			AllowHeaders: []string{"a"}, ExposeHeaders: []string{"b"}, MaxAge: 60,
		},
	} {
		got := check.Got(template.Parse([]byte(api), map[string]string{"Origins": origins}))(t)
		check.Same(t, want, got.CORS, "origins %q", origins)
	}
}

// TestDeployedTemplate checks what the local stack relies on in template.yaml.
func TestDeployedTemplate(t *testing.T) {
	t.Parallel()
	got := check.Got(template.Parse(throughline.Template, nil))(t)
	var routed, streamed, scheduled, reachable []string
	for _, f := range got.Functions {
		if f.PhysicalName != "throughline-"+f.Name {
			t.Errorf("%s is named %q", f.Name, f.PhysicalName)
		}
		for _, s := range f.Streams {
			streamed = append(streamed, f.Name)
			for _, pattern := range s.Filters {
				if _, err := eventpattern.Parse(pattern); err != nil {
					t.Errorf("%s: %v", f.Name, err)
				}
			}
			if len(s.Filters) == 0 || !s.ReportsItems || !s.Bisect || !s.DeadLetters || s.MaxRetries < 0 {
				t.Errorf("%s: a mapping lacks a filter, partial answers, bisection, a retry limit or dead letters: %+v", f.Name, s)
			}
		}
		if len(f.Routes) > 0 {
			routed = append(routed, f.Name)
		}
		if len(f.Schedules) > 0 {
			scheduled = append(scheduled, f.Name)
		}
		if f.URL {
			reachable = append(reachable, f.Name)
		}
	}
	lists := map[string][]string{"routes": routed, "streams": streamed, "schedules": scheduled, "url": reachable}
	want := map[string][]string{
		"routes": {"context", "mcp", "messages", "prompt"}, "streams": {"remember", "summarize"},
		"schedules": {"coach", "summarize"}, "url": {"coach"},
	}
	check.Same(t, want, lists, "functions by trigger")
	coach, _ := got.Function("coach")
	if coach.Environment["STACK_NAME"] != "throughline" {
		t.Errorf("coach invokes functions of %q", coach.Environment["STACK_NAME"])
	}
}
