package preflight_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// appTable is an app's table on DynamoDB Local, with the parts of its description that the local engine does not have.
type appTable struct {
	preflight.TableAPI
	client *dynamodb.Client
	name   string
	// describe changes the description. The engine has no encryption, protection or backups.
	describe func(*types.TableDescription)
	backups  types.PointInTimeRecoveryStatus
	manager  string
	readers  []string
	denied   string // an action that is not allowed
}

// newAppTable makes a table. change makes it differ from the one that Throughline would make.
func newAppTable(t *testing.T, change func(*dynamodb.CreateTableInput)) *appTable {
	t.Helper()
	in := table.CreateTableInput("")
	if change != nil {
		change(in)
	}
	a := &appTable{
		client: dynamodbtest.Client(t), name: dynamodbtest.Table(t, in),
		backups: types.PointInTimeRecoveryStatusEnabled, manager: "AWS",
	}
	a.TableAPI = a.client
	return a
}

// clone returns the same table, to be described in another way.
func (a *appTable) clone() *appTable {
	clone := *a
	return &clone
}

// expireBy lets records expire by an attribute.
func (a *appTable) expireBy(t *testing.T, attribute string) {
	t.Helper()
	check.Got(a.client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(a.name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(attribute), Enabled: aws.Bool(true),
		},
	}))(t)
}

func (a *appTable) put(t *testing.T, record map[string]types.AttributeValue) error {
	t.Helper()
	_, err := a.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(a.name), Item: record})
	return err
}

func (a *appTable) mustPut(t *testing.T, record map[string]types.AttributeValue) {
	t.Helper()
	check.OK(t, a.put(t, record))
}

func denied(action string) error {
	return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized to perform " + action}
}

func (a *appTable) DescribeTable(
	ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	out, err := a.client.DescribeTable(ctx, in, o...)
	if err != nil {
		return nil, err
	}
	out.Table.DeletionProtectionEnabled = aws.Bool(true)
	if a.describe != nil {
		a.describe(out.Table)
	}
	return out, nil
}

func (a *appTable) DescribeContinuousBackups(
	context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options),
) (*dynamodb.DescribeContinuousBackupsOutput, error) {
	if a.denied == "dynamodb:DescribeContinuousBackups" {
		return nil, denied(a.denied)
	}
	return &dynamodb.DescribeContinuousBackupsOutput{ContinuousBackupsDescription: &types.ContinuousBackupsDescription{
		PointInTimeRecoveryDescription: &types.PointInTimeRecoveryDescription{PointInTimeRecoveryStatus: a.backups},
	}}, nil
}

func (a *appTable) Scan(
	ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options),
) (*dynamodb.ScanOutput, error) {
	if a.denied == "dynamodb:Scan" {
		return nil, denied(a.denied)
	}
	return a.client.Scan(ctx, in, o...)
}

func (a *appTable) run(t *testing.T, change ...func(*preflight.Options)) preflight.Report {
	t.Helper()
	options := preflight.Options{Table: a.name, SampleItems: 2000, SampleUnits: 500}
	for _, f := range change {
		f(&options)
	}
	report := check.Got(preflight.Run(t.Context(), preflight.Services{
		Table: a,
		KeyManager: func(context.Context, string) (string, error) {
			if a.denied == "kms:DescribeKey" {
				return "", denied(a.denied)
			}
			return a.manager, nil
		},
		Consumers: func(context.Context, string) ([]string, error) {
			if a.denied == "lambda:ListEventSourceMappings" {
				return nil, denied(a.denied)
			}
			return a.readers, nil
		},
	}, options))(t)
	if strings.Contains(report.Text(), "READY. ") != report.Ready {
		t.Errorf("the text and Ready=%t differ:\n%s", report.Ready, report.Text())
	}
	return report
}

// want returns the only finding that is not OK. It has to say what breaks and what to do.
func want(t *testing.T, r preflight.Report, check string, level preflight.Level) preflight.Finding {
	t.Helper()
	var found []preflight.Finding
	for _, f := range r.Findings {
		if f.Level != preflight.OK {
			found = append(found, f)
		}
	}
	if len(found) != 1 || found[0].Check != check || found[0].Level != level {
		t.Fatalf("found %+v, want one %s of %q", found, level, check)
	}
	f := found[0]
	if f.Found == "" || f.Breaks == "" || f.Mend == "" {
		t.Errorf("%q does not say what was found, what breaks and what to do: %+v", check, f)
	}
	if r.Ready != (level != preflight.Error) {
		t.Errorf("Ready = %t beside an %s", r.Ready, level)
	}
	if text := r.Text(); !strings.Contains(text, string(level)+" ") || !strings.Contains(text, f.Mend) {
		t.Errorf("the text lacks the finding:\n%s", text)
	}
	return f
}
