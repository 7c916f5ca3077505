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
	if output(found, tableOutput) == r.target {
		return "the stack has " + r.target, nil
	}
	if _, err := r.stacks.UpdateStack(ctx, r.update(found, table)); err != nil {
		return "", fmt.Errorf("update the stack %s: %w", r.stack, err)
	}
	if found, err = r.waitStack(ctx); err != nil {
		return "", err
	}
	if found.StackStatus != types.StackStatusUpdateComplete || output(found, tableOutput) != r.target {
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
		"ExistingTableName": r.target, "ExistingTableStreamArn": aws.ToString(table.LatestStreamArn), gradual: "false",
	}
	for _, p := range of.Parameters {
		name, before := aws.ToString(p.ParameterKey), aws.ToString(p.ParameterValue)
		switch s := table.SSEDescription; {
		case name == deployment.Release:
			sum := sha256.Sum256([]byte(before + " " + r.target))
			given[name] = deployment.ReleaseName(sum[:])
		case name == "ExistingTableKmsKeyArn" && before != "" && s != nil && s.SSEType == dynamodbtypes.SSETypeKms:
			given[name] = aws.ToString(s.KMSMasterKeyArn) // a restored table keeps its key
		}
		of := types.Parameter{ParameterKey: p.ParameterKey, UsePreviousValue: aws.Bool(true)}
		if value, ok := given[name]; ok {
			of = types.Parameter{ParameterKey: p.ParameterKey, ParameterValue: &value}
		}
		in.Parameters = append(in.Parameters, of)
	}
	return in
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

// tableOutput is the output with the table that a stack uses.
const tableOutput = "TableName"

// output returns an output of a stack, "" for none.
func output(of types.Stack, name string) string {
	for _, o := range of.Outputs {
		if aws.ToString(o.OutputKey) == name {
			return aws.ToString(o.OutputValue)
		}
	}
	return ""
}
