package deploycheck

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	alarmtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/testing/deploymenttest"
)

// account is an account of AWS with one stage. Its commands change the stage as the real ones do, by the same
// updates.
type account struct {
	*deploymenttest.Stack
	exists bool
	made   []string
	topic  string // what the history says of an alarm's action
	// records are the names of the records of each table that is there.
	mu      sync.Mutex
	records map[string]map[string]time.Time
	// These are what AWS may do otherwise.
	isSilent, ignoresApp, ignoresBrakes, ignoresAlarms, isOneTable, restoresAll bool
	refuses                                                                     string
}

func newAccount(t *testing.T) *account {
	t.Helper()
	return &account{
		Stack: deploymenttest.New(t, nil), topic: "Successfully executed action arn:aws:sns:topic",
		records: map[string]map[string]time.Time{},
	}
}

// command runs a target of make, or a subcommand.
func (a *account) command(ctx context.Context, arguments ...string) error {
	said := strings.Join(arguments, " ")
	if arguments[0] == "make" {
		arguments = arguments[1:]
	}
	target := arguments[0]
	if target == "restore" {
		said = target // its time is another each time
	}
	a.made = append(a.made, said)
	if target == a.refuses {
		return context.Canceled
	}
	switch target {
	case "deploy":
		return a.deploy(len(arguments) > 1)
	case "app":
		if a.ignoresApp {
			return nil
		}
		_, err := a.updater().Update(ctx, map[string]string{"AppVersion": "000000000000"},
			map[string]string{"APP_VERSION": "000000000000"})
		return err
	case "brake":
		if !a.ignoresBrakes {
			a.setConcurrency(len(arguments) == 2)
		}
	case "restore":
		return a.restore(ctx, arguments[1])
	case "teardown":
		a.exists = false
	}
	return nil
}

// updater updates the stage as the commands do.
func (a *account) updater() *deployment.Updater {
	return deployment.NewUpdater(deploymenttest.Config(a.answer), deploymenttest.Stage, io.Discard)
}

func (a *account) deploy(isUrgent bool) error {
	if len(a.Firing) > 1 && !isUrgent && !a.ignoresAlarms || a.TableName() != deploymenttest.Table {
		return errors.New("the stage is not ready")
	}
	if !a.exists {
		a.exists = true
		a.records[deploymenttest.Table], a.records[deploymenttest.Ledger] = map[string]time.Time{}, map[string]time.Time{}
	}
	return nil
}

func (a *account) setConcurrency(isStopped bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Concurrency["coach"] = map[bool]int{true: 0, false: 50}[isStopped]
}

// restore restores the records that were there at a time into another table, and moves the stage.
func (a *account) restore(ctx context.Context, text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return err
	}
	source := a.TableName()
	target := source + at.Format("-150405")
	a.mu.Lock()
	a.records[target] = maps.Clone(a.records[source])
	maps.DeleteFunc(a.records[target], func(_ string, written time.Time) bool {
		return written.After(at) && !a.restoresAll
	})
	a.mu.Unlock()
	given := map[string]string{"ExistingTableName": target, "ExistingTableStreamArn": "arn", "PreviousTableName": source}
	updater := a.updater()
	if _, err := updater.Update(ctx, map[string]string{"PreviousTableName": target}, nil); err != nil {
		return err
	}
	if a.isOneTable {
		given["PreviousTableName"] = ""
	}
	given["GradualReleases"] = "false"
	_, err = updater.Update(ctx, given, map[string]string{"TABLE_NAME": target})
	return err
}

// answer answers a call of the account by its input.
func (a *account) answer(in any) (any, error) {
	switch in := in.(type) {
	case *cloudformation.DescribeStacksInput:
		return a.describeStacks(in)
	case *lambda.InvokeInput:
		return a.invoke(in)
	case *cloudwatch.SetAlarmStateInput:
		return a.setAlarmState(in)
	case *cloudwatch.DescribeAlarmHistoryInput:
		return a.describeAlarmHistory()
	case *dynamodb.PutItemInput:
		return a.putItem(in)
	case *dynamodb.GetItemInput:
		return a.getItem(in)
	case *dynamodb.DescribeTableInput:
		return a.describeTable(in)
	case *dynamodb.UpdateTableInput:
		return a.updateTable(in)
	case *dynamodb.DeleteTableInput:
		return a.deleteTable(in)
	}
	return a.Answer(in)
}

// describeStacks knows the stage's stack while it exists.
func (a *account) describeStacks(in *cloudformation.DescribeStacksInput) (any, error) {
	if !a.exists {
		return nil, errors.New("it does not exist")
	}
	a.mu.Lock() // an update takes its next step
	defer a.mu.Unlock()
	return a.Answer(in)
}

// invoke has a turn of the chat, or reads the table that the functions serve with.
func (a *account) invoke(in *lambda.InvokeInput) (*lambda.InvokeOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, isBound := a.Concurrency[strings.TrimPrefix(aws.ToString(in.FunctionName), deploymenttest.Name+"-")]
	if isBound && n == 0 {
		return nil, &lambdatypes.TooManyRequestsException{}
	}
	out := &lambda.InvokeOutput{}
	if strings.HasSuffix(*in.FunctionName, "-context") && !a.Allows("dynamodb:Query", a.Live["context"]["TABLE_NAME"]) {
		out.FunctionError, out.Payload = aws.String("Unhandled"), []byte("AccessDenied")
	}
	if !a.isSilent {
		out.LogResult = aws.String(base64.StdEncoding.EncodeToString([]byte(`{"_aws":{},"CanaryDone":1}`)))
	}
	return out, nil
}

// setAlarmState makes an alarm fire.
func (a *account) setAlarmState(in *cloudwatch.SetAlarmStateInput) (*cloudwatch.SetAlarmStateOutput, error) {
	a.Firing = append(a.Firing, aws.ToString(in.AlarmName))
	return &cloudwatch.SetAlarmStateOutput{}, nil
}

// describeAlarmHistory says what became of an alarm's action.
func (a *account) describeAlarmHistory() (*cloudwatch.DescribeAlarmHistoryOutput, error) {
	return &cloudwatch.DescribeAlarmHistoryOutput{
		AlarmHistoryItems: []alarmtypes.AlarmHistoryItem{{HistorySummary: &a.topic}},
	}, nil
}

// putItem notes a record with its time.
func (a *account) putItem(in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records[*in.TableName][in.Item["sk"].(*types.AttributeValueMemberS).Value] = time.Now()
	return &dynamodb.PutItemOutput{}, nil
}

// getItem returns a record that is there.
func (a *account) getItem(in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := &dynamodb.GetItemOutput{}
	if _, ok := a.records[*in.TableName][in.Key["sk"].(*types.AttributeValueMemberS).Value]; ok {
		out.Item = in.Key
	}
	return out, nil
}

// describeTable describes a table that is there. It is protected until that is switched off.
func (a *account) describeTable(in *dynamodb.DescribeTableInput) (*dynamodb.DescribeTableOutput, error) {
	records, ok := a.records[*in.TableName]
	if !ok {
		return nil, &types.ResourceNotFoundException{}
	}
	_, unprotected := records["unprotected"]
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{
		TableStatus: types.TableStatusActive, DeletionProtectionEnabled: aws.Bool(!unprotected),
	}}, nil
}

// updateTable switches the protection off.
func (a *account) updateTable(in *dynamodb.UpdateTableInput) (*dynamodb.UpdateTableOutput, error) {
	a.records[*in.TableName]["unprotected"] = time.Now()
	return &dynamodb.UpdateTableOutput{}, nil
}

// deleteTable deletes a table that is not protected.
func (a *account) deleteTable(in *dynamodb.DeleteTableInput) (*dynamodb.DeleteTableOutput, error) {
	if _, ok := a.records[*in.TableName]["unprotected"]; !ok {
		return nil, errors.New("it is protected")
	}
	delete(a.records, *in.TableName)
	return &dynamodb.DeleteTableOutput{}, nil
}
