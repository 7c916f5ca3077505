package deploy

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/infra/deployment"
)

// brakes are the functions that each brake stops.
var brakes = map[string][]string{
	"chat": {"coach"}, "background": {"remember", "summarize"}, "all": {"coach", "remember", "summarize"},
}

// Brake stops functions of a stack at once, by a concurrency of 0, or gives them that of the stack's parameters again.
// It says what it changes. CloudFormation changes nothing of it: it looks at its templates and not at the functions.
func Brake(ctx context.Context, cfg aws.Config, stack, what string, isOff bool, out io.Writer) error {
	names, ok := brakes[what]
	if !ok {
		return fmt.Errorf("there is no brake %q, but %s", what, strings.Join(slices.Sorted(maps.Keys(brakes)), ", "))
	}
	found, err := deployment.Find(ctx, cloudformation.NewFromConfig(cfg), stack)
	if err != nil {
		return err
	}
	for _, name := range names {
		want := aws.Int32(0)
		if isOff {
			value, _ := deployment.Parameter(found, deployment.Concurrency[name])
			if n, err := strconv.ParseInt(value, 10, 32); err == nil && n >= 0 {
				want = aws.Int32(int32(n))
			} else {
				want = nil
			}
		}
		if err := reserve(ctx, lambda.NewFromConfig(cfg), stack+"-"+name, want, out); err != nil {
			return err
		}
	}
	return nil
}

// reserve gives a function a reservation, or takes it from it.
func reserve(ctx context.Context, lambdas *lambda.Client, name string, want *int32, out io.Writer) error {
	held, err := lambdas.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &name})
	if err != nil {
		return fmt.Errorf("read the concurrency of %s: %w", name, err)
	}
	has, says := held.ReservedConcurrentExecutions, "has no bound"
	switch {
	case (has == nil) == (want == nil) && aws.ToInt32(has) == aws.ToInt32(want):
		return nil
	case want == nil:
		_, err = lambdas.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: &name})
	default:
		if says = fmt.Sprintf("works, %d at once", *want); *want == 0 {
			says = "is stopped"
		}
		_, err = lambdas.PutFunctionConcurrency(ctx,
			&lambda.PutFunctionConcurrencyInput{FunctionName: &name, ReservedConcurrentExecutions: want})
	}
	if err != nil {
		return fmt.Errorf("change the concurrency of %s: %w", name, err)
	}
	fmt.Fprintln(out, name, says)
	return nil
}
