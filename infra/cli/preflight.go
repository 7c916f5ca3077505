package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/dynamo/preflight"
)

// preflightFlags needs rights to read only; docs/adopting.md has the policy.
func preflightFlags(f *flags) func(context.Context) error {
	sample := f.Int("sample", 2000, "most records to look at; 0 looks at none")
	units := f.Float64("units", 500, "most read units that they may cost")
	asJSON := f.Bool("json", false, "print the report as JSON")
	return func(ctx context.Context) error {
		cfg, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return fmt.Errorf("read the AWS configuration: %w", err)
		}
		report, err := preflight.Run(ctx, services(cfg), preflight.Options{
			Table: f.argument, Region: cfg.Region, SampleItems: *sample, SampleUnits: *units,
		})
		if err != nil {
			return err
		}
		text := report.Text()
		if *asJSON {
			raw, _ := json.MarshalIndent(report, "", "  ") // texts and numbers only
			text = string(raw) + "\n"
		}
		fmt.Fprint(f.out, text)
		if !report.Ready {
			return errFound
		}
		return nil
	}
}

func services(cfg aws.Config) preflight.Services {
	functions := lambda.NewFromConfig(cfg)
	return preflight.Services{
		Table: dynamodb.NewFromConfig(cfg), KeyManager: deployment.KeyManager(kms.NewFromConfig(cfg)),
		Consumers: func(ctx context.Context, streamARN string) ([]string, error) {
			var names []string
			pages := lambda.NewListEventSourceMappingsPaginator(functions,
				&lambda.ListEventSourceMappingsInput{EventSourceArn: aws.String(streamARN)})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return nil, err
				}
				for _, m := range page.EventSourceMappings {
					arn := aws.ToString(m.FunctionArn)
					names = append(names, arn[strings.LastIndexByte(arn, ':')+1:])
				}
			}
			return names, nil
		},
	}
}
