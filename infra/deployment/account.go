package deployment

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Connect returns the configuration of clients with the operator's credentials, and the operator's ARN. Credentials of
// another account than the stage's are refused.
func (s Stage) Connect(ctx context.Context) (cfg aws.Config, operator string, err error) {
	cfg, err = awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(s.Region))
	if err != nil {
		return cfg, "", err
	}
	operator, err = s.Operator(ctx, sts.NewFromConfig(cfg))
	return cfg, operator, err
}

// Operator returns the ARN of whose the credentials are, and refuses those of another account than the stage's.
func (s Stage) Operator(ctx context.Context, client *sts.Client) (string, error) {
	caller, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", fmt.Errorf("the account of the AWS credentials is not known: %w", err)
	}
	if got := aws.ToString(caller.Account); got != s.Account {
		return "", fmt.Errorf("the AWS credentials are of the account %s, and the stage is in %s: choose others with "+
			"AWS_PROFILE, or change account in [%s.throughline.parameters]", got, s.Account, s.Name)
	}
	return aws.ToString(caller.Arn), nil
}

// OperatorEnvironment returns the variables with which a function serves, with the operator's credentials. Without a
// name they are the credentials alone.
func OperatorEnvironment(ctx context.Context, cfg aws.Config, name string) (map[string]string, error) {
	out := map[string]string{}
	if name != "" {
		var err error
		if out, err = Environment(ctx, lambda.NewFromConfig(cfg), name); err != nil {
			return nil, err
		}
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the AWS credentials: %w", err)
	}
	out["AWS_REGION"], out["AWS_ACCESS_KEY_ID"] = cfg.Region, keys.AccessKeyID
	out["AWS_SECRET_ACCESS_KEY"], out["AWS_SESSION_TOKEN"] = keys.SecretAccessKey, keys.SessionToken
	return out, nil
}
