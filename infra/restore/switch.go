package main

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
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
	found, err := r.readStack(ctx)
	if err != nil {
		return "", err
	}
	if !isOver(found.StackStatus) {
		if found, err = r.waitStack(ctx); err != nil {
			return "", err
		}
	}
	if tableOf(found) == r.target {
		return "the stack has " + r.target, nil
	}
	if _, err := r.stacks.UpdateStack(ctx, r.update(found, table)); err != nil {
		return "", fmt.Errorf("update the stack %s: %w", r.stack, err)
	}
	if found, err = r.waitStack(ctx); err != nil {
		return "", err
	}
	if found.StackStatus != types.StackStatusUpdateComplete || tableOf(found) != r.target {
		return "", fmt.Errorf("the update of %s ended in %s: its events say why", r.stack, found.StackStatus)
	}
	return "all functions and the stream's mappings use " + r.target, nil
}

// gradual is the parameter by which a release serves a part of the requests first, and goes back at an alarm. A closed
// stage has such alarms, so that the switch must not wait for them.
const gradual = "GradualReleases"

// update returns the request that changes the stack's table. It is a release of its own: without another one the
// functions' versions would go on with the table that they were published with.
func (r *restore) update(of types.Stack, table *dynamodbtypes.TableDescription) *cloudformation.UpdateStackInput {
	in := &cloudformation.UpdateStackInput{
		StackName: &r.stack, UsePreviousTemplate: aws.Bool(true), Capabilities: of.Capabilities, Tags: of.Tags,
		NotificationARNs: of.NotificationARNs, RoleARN: of.RoleARN,
	}
	given := map[string]string{
		"ExistingTableName": r.target, "ExistingTableStreamArn": aws.ToString(table.LatestStreamArn),
	}
	if s := table.SSEDescription; s != nil && s.SSEType == dynamodbtypes.SSETypeKms && hasOwnKey(of) {
		given["ExistingTableKmsKeyArn"] = aws.ToString(s.KMSMasterKeyArn)
	}
	given[gradual] = "false"
	for _, p := range of.Parameters {
		name := aws.ToString(p.ParameterKey)
		if name == deployment.Release {
			sum := sha256.Sum256([]byte(aws.ToString(p.ParameterValue) + " " + r.target))
			given[name] = deployment.ReleaseName(sum[:])
		}
		if value, ok := given[name]; ok {
			in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: p.ParameterKey, ParameterValue: &value})
			continue
		}
		in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: p.ParameterKey, UsePreviousValue: aws.Bool(true)})
	}
	return in
}

// hasOwnKey reports whether the stack's table has a key of the account. A restored table keeps its key.
func hasOwnKey(of types.Stack) bool {
	for _, p := range of.Parameters {
		if aws.ToString(p.ParameterKey) == "ExistingTableKmsKeyArn" {
			return aws.ToString(p.ParameterValue) != ""
		}
	}
	return false
}

func (r *restore) waitStack(ctx context.Context) (found types.Stack, err error) {
	err = r.wait(ctx, "the stack "+r.stack, func() (bool, error) {
		found, err = r.readStack(ctx)
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

// tableOf returns the table that a stack uses.
func tableOf(of types.Stack) string {
	for _, o := range of.Outputs {
		if aws.ToString(o.OutputKey) == "TableName" {
			return aws.ToString(o.OutputValue)
		}
	}
	return ""
}
