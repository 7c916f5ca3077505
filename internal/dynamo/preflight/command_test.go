package preflight_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestCommandsMendTheTable runs the commands of a report, as the owner would, until the table is ready.
func TestCommandsMendTheTable(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) {
		drop(in, table.BySource, table.Recent, table.CoachRecent, table.DueIndex)
		in.StreamSpecification = nil
	})
	r := a.run(t)
	if r.Ready {
		t.Fatal("a bare table is ready")
	}
	for _, f := range r.Findings {
		for _, command := range f.Commands {
			a.execute(t, command)
		}
	}
	if r = a.run(t); !r.Ready {
		t.Errorf("after its own commands the report says:\n%s", r.Text())
	}
}

var quoted = regexp.MustCompile(`'[^']*'|\S+`)

// execute runs a command of the AWS CLI.
func (a *appTable) execute(t *testing.T, command string) {
	t.Helper()
	arguments := quoted.FindAllString(command, -1)
	if arguments[0] == "until" {
		a.awaitIndexes(t)
		return
	}
	in := &dynamodb.UpdateTableInput{TableName: aws.String(a.name)}
	for i, argument := range arguments {
		switch argument {
		case "--attribute-definitions":
			for _, d := range arguments[i+1 : i+3] {
				name, kind, _ := strings.Cut(strings.TrimPrefix(d, "AttributeName="), ",AttributeType=")
				in.AttributeDefinitions = append(in.AttributeDefinitions, definition(name, types.ScalarAttributeType(kind)))
			}
		case "--global-secondary-index-updates":
			check.OK(t, json.Unmarshal([]byte(strings.Trim(arguments[i+1], "'")), &in.GlobalSecondaryIndexUpdates))
		case "--stream-specification":
			in.StreamSpecification = &types.StreamSpecification{
				StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
			}
		case "--time-to-live-specification":
			a.expireBy(t, strings.TrimPrefix(arguments[i+1], "Enabled=true,AttributeName="))
			return
		}
	}
	if _, err := a.client.UpdateTable(t.Context(), in); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

func (a *appTable) awaitIndexes(t *testing.T) {
	t.Helper()
	for t.Context().Err() == nil {
		out := check.Got(a.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(a.name)}))(t)
		active := true
		for _, i := range out.Table.GlobalSecondaryIndexes {
			active = active && i.IndexStatus == types.IndexStatusActive
		}
		if active {
			return
		}
	}
}
