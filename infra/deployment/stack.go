package deployment

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

// Stacks are the calls of CloudFormation that change a stage without SAM.
type Stacks interface {
	DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options),
	) (*cloudformation.DescribeStacksOutput, error)
	UpdateStack(context.Context, *cloudformation.UpdateStackInput, ...func(*cloudformation.Options),
	) (*cloudformation.UpdateStackOutput, error)
}

// Find reads a stack.
func Find(ctx context.Context, stacks Stacks, name string) (types.Stack, error) {
	out, err := stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		return types.Stack{}, fmt.Errorf("read the stack %s: %w", name, err)
	}
	if len(out.Stacks) == 0 {
		return types.Stack{}, fmt.Errorf("there is no stack %s", name)
	}
	return out.Stacks[0], nil
}

// Output returns an output of a stack, "" for none.
func Output(of types.Stack, name string) string {
	for _, o := range of.Outputs {
		if aws.ToString(o.OutputKey) == name {
			return aws.ToString(o.OutputValue)
		}
	}
	return ""
}

// Parameter returns the value of a stack's parameter, and false where the stack's template has none of that name.
func Parameter(of types.Stack, name string) (value string, ok bool) {
	for _, p := range of.Parameters {
		if aws.ToString(p.ParameterKey) == name {
			return aws.ToString(p.ParameterValue), true
		}
	}
	return "", false
}

// Update changes the values of a stack's parameters, and neither its template nor anything else. The update is a
// release of its own, named by the one before and what changes: without another one the functions' versions would go on
// with the values that they were published with.
func Update(ctx context.Context, stacks Stacks, name string, of types.Stack, what string, given map[string]string,
) error {
	in := &cloudformation.UpdateStackInput{
		StackName: &name, UsePreviousTemplate: aws.Bool(true), Capabilities: of.Capabilities, Tags: of.Tags,
		NotificationARNs: of.NotificationARNs, RoleARN: of.RoleARN,
	}
	for _, p := range of.Parameters {
		value, ok := given[aws.ToString(p.ParameterKey)]
		if aws.ToString(p.ParameterKey) == Release {
			sum := sha256.Sum256([]byte(aws.ToString(p.ParameterValue) + " " + what))
			value, ok = ReleaseName(sum[:]), true
		}
		changed := types.Parameter{ParameterKey: p.ParameterKey, UsePreviousValue: aws.Bool(true)}
		if ok {
			changed = types.Parameter{ParameterKey: p.ParameterKey, ParameterValue: &value}
		}
		in.Parameters = append(in.Parameters, changed)
	}
	if _, err := stacks.UpdateStack(ctx, in); err != nil {
		return fmt.Errorf("update the stack %s: %w", name, err)
	}
	return nil
}

// KeyManager returns who manages a key: AWS, or the customer.
func KeyManager(keys *kms.Client) func(ctx context.Context, arn string) (string, error) {
	return func(ctx context.Context, arn string) (string, error) {
		out, err := keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &arn})
		if err != nil {
			return "", err
		}
		return string(out.KeyMetadata.KeyManager), nil
	}
}
