package deploycheck

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	alarmtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/delay"
)

// invoke invokes a function as its callers do, by its alias, and returns the end of its log.
func (c *check) invoke(ctx context.Context, function, payload string) (string, error) {
	out, err := c.lambdas.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: aws.String(c.stage.Stack + "-" + function), Qualifier: aws.String(deployment.Live),
		Payload: []byte(payload), LogType: lambdatypes.LogTypeTail,
	})
	if err != nil {
		return "", err
	}
	log, err := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult))
	if err == nil && out.FunctionError != nil {
		err = fmt.Errorf("%s fails: %s", function, out.Payload)
	}
	return string(log), err
}

// turn has a turn of the chat as the canary has it, because nobody has a token of a user here.
func (c *check) turn(ctx context.Context) error {
	log, err := c.invoke(ctx, "coach", `{"schedule":"canary"}`)
	if err == nil && !strings.Contains(log, `"CanaryDone":1`) {
		err = errors.New("a turn of the chat had no whole answer: see the log of coach, operation canary")
	}
	return err
}

// isStopped reports whether Lambda refuses a turn of the chat.
func (c *check) isStopped(ctx context.Context) (bool, error) {
	err := c.turn(ctx)
	if _, refused := errors.AsType[*lambdatypes.TooManyRequestsException](err); refused {
		return true, nil
	}
	return false, err
}

// fire makes an alarm fire until CloudWatch looks at its metrics again, within a minute.
func (c *check) fire(ctx context.Context, name string) error {
	_, err := c.alarms.SetAlarmState(ctx, &cloudwatch.SetAlarmStateInput{
		AlarmName: &name, StateValue: alarmtypes.StateValueAlarm, StateReason: aws.String("throughline deploy-check"),
	})
	if err != nil {
		return fmt.Errorf("make the alarm %s fire: %w", name, err)
	}
	return nil
}

// isSent reports whether an alarm has been sent to its topic since a time. CloudWatch notes also that it could not.
func (c *check) isSent(ctx context.Context, name string, since time.Time) (bool, error) {
	out, err := c.alarms.DescribeAlarmHistory(ctx, &cloudwatch.DescribeAlarmHistoryInput{
		AlarmName: &name, HistoryItemType: alarmtypes.HistoryItemTypeAction, StartDate: &since,
	})
	if err != nil || len(out.AlarmHistoryItems) == 0 {
		return false, err
	}
	if did := aws.ToString(out.AlarmHistoryItems[0].HistorySummary); !strings.HasPrefix(did, "Successfully") {
		return false, errors.New("the topic does not take the alarm: " + did)
	}
	return true, nil
}

// readMeanwhile reads the stage all the time while something is done. It returns the first error of a read, and how
// many reads succeeded.
func (c *check) readMeanwhile(ctx context.Context, do func() error) (failed error, reads int, err error) {
	const recall = `{"operation":"recall","userId":"throughline:check","query":"What did I say?","limit":5}`
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error {
		for ctx.Err() == nil {
			_, err := c.invoke(ctx, "context", recall)
			switch {
			case ctx.Err() != nil: // what was done has ended
			case err != nil && failed == nil:
				failed = err
			case err == nil:
				reads++
			}
			_ = delay.Sleep(ctx, pause) // the loop looks at the context
		}
		return nil
	})
	err = do()
	cancel()
	_ = group.Wait() // it returns no error
	return failed, reads, err
}

// pause is the time between two calls that something waits for.
const pause = time.Second

// key is the key of a record that only this command knows.
func key(name string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "throughline:check"}, "sk": &types.AttributeValueMemberS{Value: name},
	}
}

// mark writes a record into a table.
func (c *check) mark(ctx context.Context, table, name string) error {
	if _, err := c.tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: key(name)}); err != nil {
		return fmt.Errorf("write into %s: %w", table, err)
	}
	return nil
}

// hasMarks checks that a restored table has the record of before and not that of after.
func (c *check) hasMarks(ctx context.Context, table string) error {
	for name, want := range map[string]bool{"before": true, "after": false} {
		out, err := c.tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key(name)})
		if err != nil {
			return fmt.Errorf("read %s: %w", table, err)
		}
		if (out.Item != nil) != want {
			return fmt.Errorf("the restored table %s has the record of %s: %t, want %t", table, name, out.Item != nil, want)
		}
	}
	return nil
}

// keep notes tables that the stage leaves.
func (c *check) keep(tables ...string) {
	for _, table := range tables {
		if table != "" && !slices.Contains(c.kept, table) {
			c.kept = append(c.kept, table)
		}
	}
}

// deletion is how long the deletion of a table may take.
const deletion = 10 * time.Minute

// deleteTable deletes a table that is protected from it.
func (c *check) deleteTable(ctx context.Context, table string) error {
	gone := func() (bool, error) {
		out, err := c.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if _, none := errors.AsType[*types.ResourceNotFoundException](err); none {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		switch {
		case out.Table.TableStatus != types.TableStatusActive: // it is busy, or being deleted
		case aws.ToBool(out.Table.DeletionProtectionEnabled):
			_, err = c.tables.UpdateTable(ctx,
				&dynamodb.UpdateTableInput{TableName: &table, DeletionProtectionEnabled: aws.Bool(false)})
		default:
			_, err = c.tables.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		}
		return false, err
	}
	if err := c.within(ctx, deletion, "the deletion of "+table, gone); err != nil {
		return fmt.Errorf("delete %s: %w", table, err)
	}
	return nil
}
