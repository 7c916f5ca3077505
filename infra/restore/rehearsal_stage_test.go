package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
)

// rehearsal is a stage on the local engine. before is the stack with the old table, which goes on running, as instances
// do that do not know the new one. after is the one with the new table.
type rehearsal struct {
	*testing.T
	tables        *tableService
	program       string
	before, after *launch.Stack
	parameters    map[string]string
	at            time.Time
}

func newRehearsal(t *testing.T) *rehearsal {
	t.Helper()
	program, err := launch.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &rehearsal{T: t, tables: newTableService(t), program: program, parameters: map[string]string{}}
	x.before = x.start(oldTable, "PINECONE_MORE_INDEXES=b=local")
	return x
}

// start starts a stack on a table of the service.
func (x *rehearsal) start(table string, environment ...string) *launch.Stack {
	x.Helper()
	stack, err := launch.Start(x.Context(), x.program, os.Stderr, append([]string{
		"TABLE_NAME=" + table, "ERASURES_TABLE=" + ledgerTable, "AWS_ENDPOINT_URL_DYNAMODB=" + x.tables.url,
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + dynamodbtest.Endpoint(x), "AWS_ACCESS_KEY_ID=functions",
		"TRIGGERS=idle=1s,sweep=1s",
	}, environment...)...)
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			x.Errorf("stop: %v", err)
		}
	})
	return stack
}

// environment is that of a deployed function, with the operator's credentials.
func (x *rehearsal) environment() map[string]string {
	info := x.info(x.before)
	return map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_DYNAMODB": x.tables.url, "AWS_ACCESS_KEY_ID": "operator",
		"AWS_SECRET_ACCESS_KEY": "local", "PINECONE_INDEX_HOST": info.PineconeHost, "PINECONE_API_KEY": "local",
	}
}

type stackInfo struct{ PineconeHost, OpenAIBaseURL string }

func (x *rehearsal) info(stack *launch.Stack) stackInfo {
	x.Helper()
	var info stackInfo
	x.do(client.New(stack.Base), http.MethodGet, "/dev/info", nil, &info)
	return info
}

// furtherIndex returns the host of the index b, which the first stack serves.
func (x *rehearsal) furtherIndex() string {
	x.Helper()
	for _, line := range x.before.Output {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "pinecone" && f[1] == "b" {
			return f[2]
		}
	}
	x.Fatal("the stack prints no index b")
	return ""
}

// DescribeStacks answers as CloudFormation does.
func (x *rehearsal) DescribeStacks(context.Context, *cloudformation.DescribeStacksInput,
	...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	table := x.parameters["ExistingTableName"]
	if table == "" {
		table = oldTable
	}
	stack := cfntypes.Stack{
		StackStatus: cfntypes.StackStatusUpdateComplete,
		Outputs: []cfntypes.Output{
			{OutputKey: aws.String("TableName"), OutputValue: &table},
			{OutputKey: aws.String("ErasuresTableName"), OutputValue: aws.String(ledgerTable)},
		},
	}
	for _, name := range []string{
		"JwtIssuer", "ExistingTableName", "ExistingTableStreamArn", "ExistingTableKmsKeyArn", "GradualReleases", "Release",
	} {
		value := x.parameters[name]
		stack.Parameters = append(stack.Parameters, cfntypes.Parameter{ParameterKey: &name, ParameterValue: &value})
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []cfntypes.Stack{stack}}, nil
}

// UpdateStack starts the functions anew with the new table, as an update of the stack does.
func (x *rehearsal) UpdateStack(_ context.Context, in *cloudformation.UpdateStackInput,
	_ ...func(*cloudformation.Options),
) (*cloudformation.UpdateStackOutput, error) {
	for _, p := range in.Parameters {
		if !aws.ToBool(p.UsePreviousValue) {
			x.parameters[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
		}
	}
	info := x.info(x.before)
	x.after = x.start(x.parameters["ExistingTableName"], "PINECONE_INDEX_HOST="+info.PineconeHost,
		"PINECONE_MORE_INDEXES=b="+x.furtherIndex(), "PINECONE_NEW_USERS_INDEX=b")
	return &cloudformation.UpdateStackOutput{}, nil
}

func (x *rehearsal) settle(stack *launch.Stack) {
	x.Helper()
	var settled struct{ Settled bool }
	x.do(client.New(stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 60000}, &settled)
	if !settled.Settled {
		x.Fatal("the stack has not settled")
	}
}

// settleAnyway gives the background work of a read-only stack time to try.
func (x *rehearsal) settleAnyway(stack *launch.Stack) {
	x.Helper()
	x.do(client.New(stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 3000}, nil)
}
