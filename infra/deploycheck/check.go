// Package deploycheck tries on AWS what no test of this repository can: it deploys a stage that nobody uses, changes it
// by every command that changes a deployed stage, looks at what its functions then do, and deletes it.
package deploycheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/infra/deployment"
)

// Run tries the commands on a stage. command runs one of them for it: a target of make, or a subcommand.
func Run(ctx context.Context, cfg aws.Config, of deployment.Stage, out io.Writer,
	command func(ctx context.Context, arguments ...string) error,
) error {
	c := &check{
		stage: of, updater: deployment.NewUpdater(cfg, of, out), out: out, command: command,
		lambdas: lambda.NewFromConfig(cfg), alarms: cloudwatch.NewFromConfig(cfg), tables: dynamodb.NewFromConfig(cfg),
	}
	return c.run(ctx)
}

// Confirm refuses a stage that somebody may use, and one on which a step would prove nothing.
func Confirm(of deployment.Stage, named string) error {
	switch {
	case of.Stack != named || named == "":
		return fmt.Errorf("the stack of the stage is %s: repeat its name, -stack %s", of.Stack, of.Stack)
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

// check tries the commands on one stage.
type check struct {
	stage   deployment.Stage
	updater *deployment.Updater
	lambdas *lambda.Client
	alarms  *cloudwatch.Client
	tables  *dynamodb.Client
	// command runs a target of the Makefile, or a subcommand, for the stage.
	command func(ctx context.Context, arguments ...string) error
	out     io.Writer

	kept []string // the tables that the stage leaves
}

// app is the registry that the stage gets.
const app = "examples/tutor/app.yaml"

// run plays all steps, and deletes the stage whatever becomes of them.
func (c *check) run(ctx context.Context) (err error) {
	if _, err := deployment.Find(ctx, c.updater.Stacks, c.stage.Stack); err == nil {
		return fmt.Errorf("there is a stack %s already: this command makes the stage that it deletes", c.stage.Stack)
	}
	steps := []struct {
		name, proves string
		do           func(context.Context) error
	}{
		{"deploy", "the deployer's rights suffice, and a turn of the chat has a whole answer", c.deploy},
		{"app", "throughline app changes what serves, by a gradual release", c.giveApp},
		{"brakes", "a brake stops the chat in seconds, and ends", c.brake},
		{"alarm", "an alarm reaches the topic", c.alarm},
		{"urgent", "a release alarm refuses a gradual release and lets an urgent one through", c.urgent},
		{"restore", "reads go on while a stage moves to a restored table, which has what was there then", c.restore},
		{"restore again", "a stage with a restored table is restored, too", c.restore},
		{"not back", "make deploy refuses to take a restored stage to another table", c.refusesOldTable},
	}
	defer func() { err = errors.Join(err, c.cleanUp(context.WithoutCancel(ctx))) }()
	for i, s := range steps {
		fmt.Fprintf(c.out, "%d of %d  %s: %s\n", i+1, len(steps)+1, s.name, s.proves)
		began := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s is not proved: %w", s.name, err)
		}
		fmt.Fprintf(c.out, "%d of %d  %s: proved, %s\n", i+1, len(steps)+1, s.name, time.Since(began).Round(time.Second))
	}
	return nil
}

func (c *check) deploy(ctx context.Context) error {
	if err := c.command(ctx, "make", "deploy"); err != nil {
		return err
	}
	return c.turn(ctx)
}

func (c *check) giveApp(ctx context.Context) error {
	if err := c.command(ctx, "app", app, "-fresh"); err != nil {
		return err
	}
	found, err := c.find(ctx)
	if err != nil {
		return err
	}
	version, _ := deployment.Parameter(found, "AppVersion")
	if version == "" {
		return errors.New("the stack names no version of the app")
	}
	if err := c.updater.Check(ctx, map[string]string{"APP_VERSION": version}); err != nil {
		return err
	}
	return c.turn(ctx)
}

// seconds is how long a brake may take.
const seconds = 30 * time.Second

func (c *check) brake(ctx context.Context) error {
	if err := c.command(ctx, "brake", "chat"); err != nil {
		return err
	}
	if err := c.within(ctx, seconds, "the chat to stop", func() (bool, error) { return c.isStopped(ctx) }); err != nil {
		return err
	}
	if err := c.command(ctx, "brake", "chat", "-off"); err != nil {
		return err
	}
	return c.within(ctx, seconds, "the chat to go on", func() (bool, error) {
		stopped, err := c.isStopped(ctx)
		return !stopped, err
	})
}

// arrival is how long an alarm may take to its topic.
const arrival = 2 * time.Minute

func (c *check) alarm(ctx context.Context) error {
	began := time.Now()
	name := c.stage.Stack + "-answers-burn-fast"
	if err := c.fire(ctx, name); err != nil {
		return err
	}
	return c.within(ctx, arrival, "the topic to have the alarm", func() (bool, error) {
		return c.isSent(ctx, name, began)
	})
}

func (c *check) urgent(ctx context.Context) error {
	name := c.stage.Stack + "-release-answers"
	if err := c.fire(ctx, name); err != nil {
		return err
	}
	if err := c.command(ctx, "make", "deploy"); err == nil {
		return errors.New("make deploy went on during a release alarm")
	}
	if err := c.fire(ctx, name); err != nil {
		return err
	}
	if err := c.command(ctx, "make", "deploy", "URGENT=1"); err != nil {
		return err
	}
	return c.turn(ctx)
}

// restore restores the stage to a time between two records, while something reads all the time.
func (c *check) restore(ctx context.Context) error {
	found, err := c.find(ctx)
	if err != nil {
		return err
	}
	before := deployment.Output(found, "TableName")
	c.keep(before, deployment.Output(found, "ErasuresTableName"))
	if err := c.mark(ctx, before, "before"); err != nil {
		return err
	}
	// A time of point-in-time recovery has a second's resolution.
	at := time.Now().UTC().Truncate(time.Second).Add(2 * time.Second)
	if err := c.within(ctx, time.Minute, "the time to pass", func() (bool, error) {
		return time.Now().After(at.Add(2 * time.Second)), nil
	}); err != nil {
		return err
	}
	if err := c.mark(ctx, before, "after"); err != nil {
		return err
	}
	failed, reads, err := c.readMeanwhile(ctx, func() error {
		return c.command(ctx, "restore", at.Format(time.RFC3339))
	})
	if err != nil {
		return err
	}
	if found, err = c.find(ctx); err != nil {
		return err
	}
	table := deployment.Output(found, "TableName")
	c.keep(table)
	if failed != nil || reads == 0 {
		return fmt.Errorf("reads fail while the stage moves (after %d that did not): %w", reads, failed)
	}
	if err := c.updater.Check(ctx, map[string]string{"TABLE_NAME": table}); err != nil {
		return err
	}
	return errors.Join(c.hasMarks(ctx, table), c.turn(ctx))
}

func (c *check) refusesOldTable(ctx context.Context) error {
	if err := c.command(ctx, "make", "deploy"); err == nil {
		return errors.New("make deploy took the stage to another table")
	}
	return nil
}

func (c *check) find(ctx context.Context) (types.Stack, error) {
	return deployment.Find(ctx, c.updater.Stacks, c.stage.Stack)
}

// within waits for something that has to come about in a time.
func (c *check) within(ctx context.Context, limit time.Duration, what string, isDone func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return deployment.Wait(ctx, c.out, pause, what, isDone)
}

// cleanUp deletes the stage and the tables that it leaves. The secrets and the index were there before.
func (c *check) cleanUp(ctx context.Context) error {
	if found, err := c.find(ctx); err == nil {
		c.keep(deployment.Output(found, "TableName"), deployment.Output(found, "ErasuresTableName"))
		if names, err := deployment.Resources(ctx, c.updater.Stacks, c.stage.Stack, "AWS::DynamoDB::Table"); err == nil {
			c.keep(names...)
		}
	}
	fmt.Fprintln(c.out, "last  teardown: a stage is deleted but for its tables, and then these are")
	problem := c.command(ctx, "make", "teardown", "STACK="+c.stage.Stack)
	if _, err := c.find(ctx); err == nil {
		problem = errors.Join(problem, fmt.Errorf("the stack %s is still there", c.stage.Stack))
	}
	for _, table := range c.kept {
		problem = errors.Join(problem, c.deleteTable(ctx, table))
	}
	if problem != nil {
		return fmt.Errorf("delete by hand what is left of the stack %s, and the tables %s: %w", c.stage.Stack,
			strings.Join(c.kept, ", "), problem)
	}
	fmt.Fprintf(c.out, "nothing is left but the secrets and the index; deleted are the stack %s and the tables %s\n",
		c.stage.Stack, strings.Join(c.kept, ", "))
	return nil
}
