package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/throughline/throughline/infra/deployment"
)

// account says what the AWS account lacks. Where the caller has no right to look, it says nothing: CloudFormation will.
// For a deletion the account has to be the stage's, and no more.
func account(ctx context.Context, s deployment.Stage, isDeletion bool) []string {
	cfg, missing := credentials(ctx, s)
	if len(missing) > 0 {
		return missing
	}
	if _, err := s.Operator(ctx, sts.NewFromConfig(cfg)); err != nil {
		return []string{err.Error()}
	}
	if isDeletion {
		return nil
	}
	return slices.Concat(secrets(ctx, secretsmanager.NewFromConfig(cfg), s),
		concurrency(ctx, lambda.NewFromConfig(cfg), s), stack(ctx, cloudformation.NewFromConfig(cfg), s),
		firing(ctx, cloudwatch.NewFromConfig(cfg), s))
}

// credentials returns the client's configuration, and says whether there are no credentials.
func credentials(ctx context.Context, s deployment.Stage) (aws.Config, []string) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(s.Region))
	if err == nil {
		_, err = cfg.Credentials.Retrieve(ctx)
	}
	if err != nil {
		return cfg, []string{"there are no AWS credentials: run \"aws configure\" or \"aws sso login\", or set AWS_PROFILE"}
	}
	return cfg, nil
}

// secrets says which secrets are missing. One that is being deleted is described for some days, and cannot be read.
func secrets(ctx context.Context, client *secretsmanager.Client, s deployment.Stage) []string {
	var out []string
	for _, secret := range s.Secrets() {
		name := s.SecretName(secret)
		found, err := client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &name})
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
			out = append(out, fmt.Sprintf("the secret %s does not exist in %s: "+
				"\"throughline bootstrap -apply -env %s\" makes it", name, s.Region, s.Name))
		} else if err == nil && found.DeletedDate != nil {
			out = append(out, fmt.Sprintf("the secret %s is being deleted, and no function can read it: "+
				"\"aws secretsmanager restore-secret --region %s --secret-id %s\" keeps it", name, s.Region, name))
		}
	}
	return out
}

// unreserved is how many concurrent executions of an account cannot be reserved (AWS Lambda Developer Guide,
// "Configuring reserved concurrency for a function").
const unreserved = 100

// concurrency says whether the account has fewer concurrent executions than the stage's functions reserve. What they
// have reserved already counts as free.
func concurrency(ctx context.Context, client *lambda.Client, s deployment.Stage) []string {
	account, err := client.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil || account.AccountLimit == nil {
		return nil
	}
	free, reserved := int(aws.ToInt32(account.AccountLimit.UnreservedConcurrentExecutions)), 0
	var given []string
	for _, r := range s.Reservations() {
		// A function that is not there yet has reserved nothing.
		held, err := client.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &r.Function})
		if err == nil {
			free += int(aws.ToInt32(held.ReservedConcurrentExecutions))
		}
		reserved += max(r.Executions, 0)
		given = append(given, fmt.Sprintf("%s=%d", r.Parameter, r.Executions))
	}
	if reserved == 0 || reserved+unreserved <= free {
		return nil
	}
	return []string{fmt.Sprintf("the functions reserve %d concurrent executions (%s), and Lambda keeps %d unreserved, "+
		"but the account has %d free in %s: ask for more in Service Quotas (Lambda, Concurrent executions), or set the "+
		"parameters to less; -1 reserves nothing", reserved, strings.Join(given, ", "), unreserved, free, s.Region)}
}
