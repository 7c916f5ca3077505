// Command deploycheck tries on AWS what no test of this repository can: it deploys a stage that nobody uses, changes it
// by every command that changes a deployed stage, looks at what its functions then do, and deletes it. `make
// deploy-check` runs it. The stage's name has to be repeated, and its stack must not be there before.
//
//	go run ./infra/deploycheck -env check -config samconfig.local.toml -stack throughline-check
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/infra/deployment"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deploycheck:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("deploycheck", flag.ContinueOnError)
	env := flags.String("env", "", "stage of the configuration, which nobody uses")
	config := flags.String("config", "samconfig.local.toml", "the configuration")
	named := flags.String("stack", "", "the stage's stack, repeated")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	of, err := deployment.Open(*config, *env)
	if err != nil {
		return err
	}
	if err := confirm(of, *named); err != nil {
		return err
	}
	cfg, _, err := of.Connect(ctx)
	if err != nil {
		return err
	}
	updater := deployment.NewUpdater(cfg, of, out)
	c := &check{
		stage: of, updater: updater, poll: updater.Poll, out: out, now: time.Now,
		lambdas: lambda.NewFromConfig(cfg), alarms: cloudwatch.NewFromConfig(cfg), tables: dynamodb.NewFromConfig(cfg),
		make: func(ctx context.Context, arguments ...string) error {
			arguments = append([]string{"--no-print-directory", "ENV=" + *env, "CONFIG=" + *config}, arguments...)
			//nolint:gosec // the Makefile's targets, with this command's own arguments
			command := exec.CommandContext(ctx, "make", arguments...)
			command.Stdin, command.Stdout, command.Stderr = os.Stdin, out, os.Stderr
			return command.Run()
		},
	}
	return c.run(ctx)
}

// confirm refuses a stage that somebody may use, and one on which a step would prove nothing.
func confirm(of deployment.Stage, named string) error {
	switch {
	case of.Stack != named || named == "":
		return fmt.Errorf("the stack of the stage is %s: repeat its name, \"make deploy-check ENV=%s STACK=%s\"", of.Stack,
			of.Name, of.Stack)
	case of.Name == "prod":
		return errors.New("the stage prod is no stage to throw away")
	case of.Value(deployment.Topic) == "" || of.Value(deployment.Topic) == deployment.NoTopic:
		return fmt.Errorf("give the stage %s: an alarm is sent to it", deployment.Topic)
	case of.Value(deployment.Gradual) != "true":
		return fmt.Errorf("give the stage %s=true: releases go by CodeDeploy then, as those of production",
			deployment.Gradual)
	}
	return nil
}
