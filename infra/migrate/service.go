package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/migration"
)

// callTimeout is longer than a call of the function can take.
const callTimeout = 16 * time.Minute

// service is the migration of one table.
type service struct {
	functions *lambda.Client
	function  string
	// machines is nil on the local stack, which has no state machine.
	machines *sfn.Client
	machine  string
}

// open connects to what the options name.
func open(ctx context.Context, o Options) (*service, error) {
	if o.Base != "" {
		return openLocal(ctx, o.Base)
	}
	stage, err := deployment.Open(o.Config, o.Env)
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(stage.Region), longCalls)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	s := &service{
		functions: lambda.NewFromConfig(cfg), function: stage.Stack + "-migrate", machines: sfn.NewFromConfig(cfg),
	}
	known, err := s.functions.GetFunctionConfiguration(ctx,
		&lambda.GetFunctionConfigurationInput{FunctionName: &s.function})
	if err != nil {
		return nil, fmt.Errorf("find %s in %s (is the stage deployed?): %w", s.function, stage.Region, err)
	}
	s.machine = machineARN(aws.ToString(known.FunctionArn))
	return s, nil
}

// machineARN returns the ARN of the state machine of a function, which is in the same account and region.
func machineARN(function string) string {
	arn := strings.Replace(function, ":lambda:", ":states:", 1)
	return strings.Replace(arn, ":function:", ":stateMachine:", 1) + "-segments"
}

// longCalls makes the client wait for a call as long as the function may take, and leaves repeats to this command.
func longCalls(o *config.LoadOptions) error {
	o.HTTPClient = &http.Client{Timeout: callTimeout}
	o.RetryMaxAttempts = 1
	return nil
}

func openLocal(ctx context.Context, base string) (*service, error) {
	var info struct {
		LambdaEndpoint string
		Functions      map[string]string
	}
	if err := client.New(base).Do(ctx, http.MethodGet, "/dev/info", nil, &info); err != nil {
		return nil, fmt.Errorf("reach the local stack at %s (start it with make run): %w", base, err)
	}
	return &service{
		functions: lambda.New(lambda.Options{
			Region: "us-east-1", BaseEndpoint: &info.LambdaEndpoint, RetryMaxAttempts: 1,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
			HTTPClient:  &http.Client{Timeout: callTimeout},
		}),
		function: info.Functions["migrate"],
	}, nil
}

// call calls the function until the action is done, and hands over each answer.
func (s *service) call(ctx context.Context, in migration.Request, each func(answer)) (answer, error) {
	for {
		out, err := s.invoke(ctx, in)
		if err != nil {
			return out, err
		}
		if each(out); out.Done || out.Checkpoint == "" {
			return out, nil
		}
		in.Checkpoint = out.Checkpoint
	}
}

func (s *service) invoke(ctx context.Context, in migration.Request) (out answer, err error) {
	payload, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	result, err := s.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: &s.function, Payload: payload})
	if err != nil {
		return out, fmt.Errorf("call %s: %w", s.function, err)
	}
	if result.FunctionError != nil {
		var failed struct{ ErrorType, ErrorMessage string }
		if err := json.Unmarshal(result.Payload, &failed); err != nil {
			return out, fmt.Errorf("read the error of %s: %w", s.function, err)
		}
		return out, errors.New(strings.TrimPrefix(failed.ErrorType+": ", "conflict: ") + failed.ErrorMessage)
	}
	return out, json.Unmarshal(result.Payload, &out)
}

// pause is the time between two looks at the status.
const pause = 5 * time.Second

// run runs an action over all segments to its end, and hands over the status from time to time.
func (s *service) run(ctx context.Context, in migration.Request, each func(answer)) (last answer, err error) {
	gathered := &segmentAnswers{mismatches: []migration.Mismatch{}}
	group, running := errgroup.WithContext(ctx)
	running, end := context.WithCancel(running)
	defer end()
	group.Go(func() error {
		defer end()
		// A dry run takes no time that a machine would have to bear, and its forecasts are added up here.
		if s.machines != nil && !in.DryRun {
			return s.execute(running, in, gathered)
		}
		return s.callSegments(running, in, gathered)
	})
	group.Go(func() error {
		if !in.DryRun {
			s.watch(running, each)
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return last, err
	}
	last, err = s.invoke(ctx, migration.Request{Action: "status"})
	last.Mismatches, last.Forecast = gathered.mismatches, gathered.forecast
	return last, err
}

// watch hands over the status until ctx ends.
func (s *service) watch(ctx context.Context, each func(answer)) {
	for delay.Sleep(ctx, pause) == nil {
		if out, err := s.invoke(ctx, migration.Request{Action: "status"}); err == nil {
			each(out)
		}
	}
}

// callSegments calls the function for every segment at once.
func (s *service) callSegments(ctx context.Context, in migration.Request, gathered *segmentAnswers) error {
	group, ctx := errgroup.WithContext(ctx)
	for n := range in.TotalSegments {
		group.Go(func() error {
			of := in
			of.Segment = n
			if _, err := s.call(ctx, of, gathered.add); err != nil {
				return fmt.Errorf("segment %d of %d: %w", n, in.TotalSegments, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// execute runs the state machine to its end. An execution goes on when the command is stopped.
func (s *service) execute(ctx context.Context, in migration.Request, gathered *segmentAnswers) error {
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	started, err := s.machines.StartExecution(ctx,
		&sfn.StartExecutionInput{StateMachineArn: &s.machine, Input: aws.String(string(input))})
	if err != nil {
		return fmt.Errorf("start %s: %w", s.machine, err)
	}
	for {
		out, err := s.machines.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: started.ExecutionArn})
		if err != nil {
			return fmt.Errorf("look at %s: %w", *started.ExecutionArn, err)
		}
		switch out.Status {
		case types.ExecutionStatusRunning, types.ExecutionStatusPendingRedrive:
		case types.ExecutionStatusSucceeded:
			return gathered.addOutput(aws.ToString(out.Output))
		default:
			return fmt.Errorf("%s ended as %s: %s: %s", *started.ExecutionArn, out.Status, aws.ToString(out.Error),
				aws.ToString(out.Cause))
		}
		if delay.Sleep(ctx, pause) != nil {
			return fmt.Errorf("stopped; %s goes on by itself", *started.ExecutionArn)
		}
	}
}
