package deploy

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/throughline/throughline/infra/deployment"
)

// adopted says whether the stack uses another table than the configuration names, as after a restore. A deployment
// would take the stage to the other one, or to a new and empty one.
func adopted(of types.Stack, s deployment.Stage) []string {
	const parameter = "ExistingTableName"
	has, _ := deployment.Parameter(of, parameter)
	if has == "" || has == s.Value(parameter) {
		return nil
	}
	return []string{fmt.Sprintf("the stack %s uses the table %s, and the configuration has %s=%q: put the stack's "+
		"table and its stream (ExistingTableStreamArn) into parameter_overrides, or the stage loses its data",
		s.Stack, has, parameter, s.Value(parameter))}
}

// stack says whether the stack is in a state that CloudFormation does not update, and how it gets out of it. It also
// says whether it uses another table than the configuration.
func stack(ctx context.Context, client *cloudformation.Client, s deployment.Stage) []string {
	found, err := deployment.Find(ctx, client, s.Stack)
	if err != nil {
		return nil
	}
	if problems := adopted(found, s); len(problems) > 0 {
		return problems
	}
	status := found.StackStatus
	is := fmt.Sprintf("the stack %s is %s", s.Stack, status)
	switch {
	case status == types.StackStatusReviewInProgress: // a first change set that was not confirmed: SAM makes another
		return nil
	case status == types.StackStatusRollbackComplete, status == types.StackStatusRollbackFailed,
		status == types.StackStatusCreateFailed, status == types.StackStatusDeleteFailed:
		return []string{fmt.Sprintf("%s: its first deployment or its deletion failed, and such a stack is not updated. "+
			"Delete it with \"make teardown ENV=%s STACK=%s\" and deploy again. %s", is, s.Name, s.Stack, kept(ctx, client, s))}
	case status == types.StackStatusUpdateRollbackFailed:
		return []string{fmt.Sprintf("%s: see its events, mend the cause, and go on with "+
			"\"aws cloudformation continue-update-rollback --stack-name %s\"", is, s.Stack)}
	case strings.HasSuffix(string(status), "_IN_PROGRESS"):
		return []string{is + ": wait until that has ended"}
	}
	return nil
}

// kept says which table the stack leaves, and what to do with it.
func kept(ctx context.Context, client *cloudformation.Client, s deployment.Stage) string {
	table := "Its table"
	if tables, err := deployment.Resources(ctx, client, s.Stack, "AWS::DynamoDB::Table"); err == nil {
		table = strings.Join(append([]string{table}, tables...), " ")
	}
	return table + " stays, and the next deployment makes another: docs/deploying.md says how to delete it, or, where " +
		"it has records already, to use it with ExistingTableName"
}

// teardown says what hinders the deletion of a stage: its stack has to be named once more.
func teardown(s deployment.Stage, named string) []string {
	if named == s.Stack {
		return nil
	}
	return []string{fmt.Sprintf("the stack of the stage is %s: repeat its name, "+
		"\"make teardown ENV=%s STACK=%s\"", s.Stack, s.Name, s.Stack)}
}
