package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/throughline/throughline/infra/deployment"
)

// stackStatus returns the status of the stage's stack. It is empty where there is none, or no right to look.
func stackStatus(ctx context.Context, client *cloudformation.Client, s deployment.Stage) types.StackStatus {
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(s.Stack)})
	if err != nil || len(out.Stacks) == 0 {
		return ""
	}
	return out.Stacks[0].StackStatus
}

// stack says whether the stack is in a state that CloudFormation does not update, and how it gets out of it.
func stack(ctx context.Context, client *cloudformation.Client, s deployment.Stage) []string {
	status := stackStatus(ctx, client, s)
	is := fmt.Sprintf("the stack %s is %s", s.Stack, status)
	switch {
	case status == types.StackStatusRollbackComplete, status == types.StackStatusRollbackFailed,
		status == types.StackStatusCreateFailed, status == types.StackStatusDeleteFailed:
		return []string{fmt.Sprintf("%s: its first deployment or its deletion failed, and such a stack is not updated. "+
			"Delete it with \"make teardown ENV=%s STACK=%s\" and deploy again. Its table stays, empty or not: "+
			"docs/deploying.md says how to use or delete it", is, s.Name, s.Stack)}
	case status == types.StackStatusUpdateRollbackFailed:
		return []string{fmt.Sprintf("%s: see its events, mend the cause, and go on with "+
			"\"aws cloudformation continue-update-rollback --stack-name %s\"", is, s.Stack)}
	case strings.HasSuffix(string(status), "_IN_PROGRESS"):
		return []string{is + ": wait until that has ended"}
	}
	return nil
}

// teardown says what hinders the deletion of a stage: its stack has to be named once more.
func teardown(s deployment.Stage, named string) []string {
	if named == s.Stack {
		return nil
	}
	return []string{fmt.Sprintf("the stack of the stage is %s: repeat its name, "+
		"\"make teardown ENV=%s STACK=%s\"", s.Stack, s.Name, s.Stack)}
}
