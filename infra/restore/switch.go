package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/deployment"
)

// switchStack has CloudFormation change the stack to the new table, and waits until all functions have it. The template
// and all other parameters stay.
func (r *restore) switchStack(ctx context.Context) (string, error) {
	table, err := r.describe(ctx, r.target)
	if err != nil {
		return "", err
	}
	found, err := deployment.Find(ctx, r.stacks, r.stack)
	if err != nil {
		return "", err
	}
	if !isOver(found.StackStatus) {
		if found, err = r.waitStack(ctx); err != nil {
			return "", err
		}
	}
	if deployment.Output(found, tableOutput) == r.target {
		return "the stack has " + r.target, nil
	}
	if err := deployment.Update(ctx, r.stacks, r.stack, found, r.target, r.parameters(found, table)); err != nil {
		return "", err
	}
	if found, err = r.waitStack(ctx); err != nil {
		return "", err
	}
	if found.StackStatus != types.StackStatusUpdateComplete || deployment.Output(found, tableOutput) != r.target {
		return "", fmt.Errorf("the update of %s ended in %s: its events say why", r.stack, found.StackStatus)
	}
	return "all functions and the stream's mappings use " + r.target, nil
}

// gradual is the parameter by which a release serves a part of the requests first, and goes back at an alarm. A closed
// stage has such alarms, so that the switch must not wait for them.
const gradual = "GradualReleases"

// parameters are the values that change the stack's table. A restored table keeps its key.
func (r *restore) parameters(of types.Stack, table *dynamodbtypes.TableDescription) map[string]string {
	const key = "ExistingTableKmsKeyArn"
	given := map[string]string{
		"ExistingTableName": r.target, "ExistingTableStreamArn": aws.ToString(table.LatestStreamArn), gradual: "false",
	}
	before, _ := deployment.Parameter(of, key)
	if s := table.SSEDescription; before != "" && s != nil && s.SSEType == dynamodbtypes.SSETypeKms {
		given[key] = aws.ToString(s.KMSMasterKeyArn)
	}
	return given
}

func (r *restore) waitStack(ctx context.Context) (found types.Stack, err error) {
	err = r.wait(ctx, "the stack "+r.stack, func() (bool, error) {
		found, err = deployment.Find(ctx, r.stacks, r.stack)
		return err == nil && isOver(found.StackStatus), err
	})
	return found, err
}

// isOver reports whether nothing is under way in a stack.
func isOver(status types.StackStatus) bool {
	switch status {
	case types.StackStatusUpdateInProgress, types.StackStatusUpdateCompleteCleanupInProgress,
		types.StackStatusUpdateRollbackInProgress, types.StackStatusUpdateRollbackCompleteCleanupInProgress,
		types.StackStatusCreateInProgress:
		return false
	}
	return true
}

// tableOutput is the output with the table that a stack uses.
const tableOutput = "TableName"
