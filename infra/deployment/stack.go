package deployment

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

// Find reads a stack.
func Find(ctx context.Context, stacks *cloudformation.Client, name string) (types.Stack, error) {
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

// Resources returns the names of a stack's resources of a type. DescribeStackResources would leave out what a stack has
// beyond 100.
func Resources(ctx context.Context, stacks *cloudformation.Client, name, kind string) ([]string, error) {
	var out []string
	in := &cloudformation.ListStackResourcesInput{StackName: &name}
	pages := cloudformation.NewListStackResourcesPaginator(stacks, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the resources of %s: %w", name, err)
		}
		for _, r := range page.StackResourceSummaries {
			if aws.ToString(r.ResourceType) == kind && aws.ToString(r.PhysicalResourceId) != "" {
				out = append(out, *r.PhysicalResourceId)
			}
		}
	}
	return out, nil
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
