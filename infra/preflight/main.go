// Command preflight checks whether a stack can adopt an app's existing table, before anything is deployed or written:
//
//	go run ./infra/preflight -table NAME [-region us-east-1] [-sample 2000] [-units 500] [-json]
//
// It needs rights to read only; docs/adopting.md has the policy. It exits with 0 if the table can be adopted, with 1 if
// something would break, and with 2 if the table could not be checked.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/dynamo/preflight"
)

// The exit codes.
const (
	ready     = 0
	notReady  = 1
	unchecked = 2
)

const timeout = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, arguments []string, out, errors io.Writer) int {
	flags := flag.NewFlagSet("preflight", flag.ContinueOnError)
	flags.SetOutput(errors)
	table := flags.String("table", "", "name of the table")
	region := flags.String("region", "", "region of the table; the default is that of the environment")
	sample := flags.Int("sample", 2000, "most records to look at; 0 looks at none")
	units := flags.Float64("units", 500, "most read units that they may cost")
	asJSON := flags.Bool("json", false, "print the report as JSON")
	if flags.Parse(arguments) != nil {
		return unchecked
	}
	if *table == "" {
		fmt.Fprintln(errors, "preflight: name the table with -table")
		return unchecked
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(*region))
	if err != nil {
		fmt.Fprintln(errors, "preflight: read the AWS configuration:", err)
		return unchecked
	}
	report, err := preflight.Run(ctx, services(cfg), preflight.Options{
		Table: *table, Region: cfg.Region, SampleItems: *sample, SampleUnits: *units,
	})
	if err != nil {
		fmt.Fprintln(errors, "preflight:", err)
		return unchecked
	}
	text := report.Text()
	if *asJSON {
		raw, _ := json.MarshalIndent(report, "", "  ") // texts and numbers only
		text = string(raw) + "\n"
	}
	fmt.Fprint(out, text)
	if !report.Ready {
		return notReady
	}
	return ready
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
