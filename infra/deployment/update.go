package deployment

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/throughline/throughline/internal/delay"
)

// poll is the time between two looks at something that CloudFormation works on.
const poll = 15 * time.Second

// Live is the alias of a function that all callers invoke.
const Live = "live"

// Updater changes the parameters of a stage's stack, whose code stays.
type Updater struct {
	Stage     Stage
	Stacks    *cloudformation.Client
	Functions *lambda.Client
	Objects   *s3.Client
	// Out gets a line for each look at what is waited for.
	Out  io.Writer
	Poll time.Duration
}

// NewUpdater returns the updater of a stage with the operator's credentials.
func NewUpdater(cfg aws.Config, of Stage, out io.Writer) *Updater {
	return &Updater{
		Stage: of, Stacks: cloudformation.NewFromConfig(cfg), Functions: lambda.NewFromConfig(cfg),
		Objects: s3.NewFromConfig(cfg), Out: out, Poll: poll,
	}
}

// Update changes values of the stack's parameters, and returns when that is done. With variables it is a release, and
// all functions serve with the values of these variables then. It changes nothing where they do already, and where the
// stack has the values. An update that is under way is waited for first.
//
// SAM's transform reads the template again: Release and GradualReleases are read by the transform alone, and without it
// no function gets a version. The template that a stack has already is the one that the transform has made.
func (u *Updater) Update(ctx context.Context, given, variables map[string]string) (changed bool, err error) {
	found, err := u.Settled(ctx)
	if err != nil {
		return false, err
	}
	if err := u.Check(ctx, variables); err == nil && has(found, given) {
		return false, nil
	}
	given = maps.Clone(given)
	if len(variables) > 0 {
		if given == nil {
			given = map[string]string{}
		}
		given[Release] = nextRelease(found, given)
	}
	id, err := u.change(ctx, found, given)
	if err != nil {
		return false, err
	}
	if id == "" {
		return false, u.Check(ctx, variables)
	}
	if _, err := u.Stacks.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: &id}); err != nil {
		return false, fmt.Errorf("update the stack %s: %w", u.Stage.Stack, err)
	}
	// The first looks may find the stack as it was before.
	before := aws.ToTime(found.LastUpdatedTime)
	found, err = u.await(ctx, func(of types.Stack) bool {
		return isOver(of.StackStatus) && (has(of, given) || !aws.ToTime(of.LastUpdatedTime).Equal(before))
	})
	if err != nil {
		return false, err
	}
	if found.StackStatus != types.StackStatusUpdateComplete || !has(found, given) {
		return false, fmt.Errorf("the update of %s ended in %s: its events say why", u.Stage.Stack, found.StackStatus)
	}
	return true, u.Check(ctx, variables)
}

// Settled returns the stack when nothing is under way in it.
func (u *Updater) Settled(ctx context.Context) (types.Stack, error) {
	return u.await(ctx, func(of types.Stack) bool { return isOver(of.StackStatus) })
}

// has reports whether a stack has values of parameters.
func has(of types.Stack, given map[string]string) bool {
	for name, value := range given {
		if v, ok := Parameter(of, name); !ok || v != value {
			return false
		}
	}
	return true
}

// Check returns an error that names a function whose alias live, which all callers invoke, has not the values of
// variables.
func (u *Updater) Check(ctx context.Context, variables map[string]string) error {
	if len(variables) == 0 {
		return nil
	}
	names, err := Resources(ctx, u.Stacks, u.Stage.Stack, "AWS::Lambda::Function")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("the stack %s has no functions", u.Stage.Stack)
	}
	for _, name := range names {
		environment, err := Environment(ctx, u.Functions, name)
		if err != nil {
			return err
		}
		for variable, want := range variables {
			if got := environment[variable]; got != want {
				return fmt.Errorf("the alias %s of %s serves with %s=%q, and not %q", Live, name, variable, got, want)
			}
		}
	}
	return nil
}

// Environment returns the variables with which a function serves: those of its alias live. $LATEST may have others.
func Environment(ctx context.Context, functions *lambda.Client, name string) (map[string]string, error) {
	out, err := functions.GetFunctionConfiguration(ctx,
		&lambda.GetFunctionConfigurationInput{FunctionName: &name, Qualifier: aws.String(Live)})
	if err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", name, err)
	}
	if out.Environment == nil {
		return nil, fmt.Errorf("%s has no configuration", name)
	}
	return out.Environment.Variables, nil
}

// change makes a change set of the template as it was deployed, and waits until it can be executed. It returns "" where
// there is nothing to change.
func (u *Updater) change(ctx context.Context, of types.Stack, given map[string]string) (string, error) {
	url, err := u.putTemplate(ctx, of)
	if err != nil {
		return "", err
	}
	for name := range given {
		if _, ok := Parameter(of, name); !ok {
			return "", fmt.Errorf("the stack has no parameter %s: deploy this version of the template first", name)
		}
	}
	in := &cloudformation.CreateChangeSetInput{
		StackName: &u.Stage.Stack, ChangeSetName: aws.String(fmt.Sprintf("throughline-%d", time.Now().UnixMilli())),
		ChangeSetType: types.ChangeSetTypeUpdate, TemplateURL: &url, Capabilities: of.Capabilities, Tags: of.Tags,
		NotificationARNs: of.NotificationARNs, RoleARN: of.RoleARN,
	}
	for _, p := range of.Parameters {
		value, ok := given[aws.ToString(p.ParameterKey)]
		if !ok {
			value = aws.ToString(p.ParameterValue)
		}
		in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: p.ParameterKey, ParameterValue: &value})
	}
	out, err := u.Stacks.CreateChangeSet(ctx, in)
	if err != nil {
		return "", fmt.Errorf("make a change set of %s: %w", u.Stage.Stack, err)
	}
	return u.awaitChangeSet(ctx, aws.ToString(out.Id))
}

// nextRelease names a release by the one before, what changes, and when the stack was updated last: the same change
// after a failure is another release, because Lambda publishes no version that is equal to the last one.
func nextRelease(of types.Stack, given map[string]string) string {
	before, _ := Parameter(of, Release)
	sum := sha256.New()
	fmt.Fprintln(sum, before, aws.ToTime(of.LastUpdatedTime).UnixMilli())
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fmt.Fprintf(sum, "%q %q\n", name, given[name])
	}
	return ReleaseName(sum.Sum(nil))
}

// putTemplate stores the template as it was deployed where SAM keeps what it deploys, and returns its address.
// CloudFormation takes no template of more than 51,200 bytes in a call.
func (u *Updater) putTemplate(ctx context.Context, of types.Stack) (string, error) {
	out, err := u.Stacks.GetTemplate(ctx, &cloudformation.GetTemplateInput{
		StackName: &u.Stage.Stack, TemplateStage: types.TemplateStageOriginal,
	})
	if err != nil {
		return "", fmt.Errorf("read the template of %s: %w", u.Stage.Stack, err)
	}
	bucket := u.Stage.bucket
	if bucket == "" {
		const managed = "aws-sam-cli-managed-default" // SAM makes it where the configuration has resolve_s3
		own, err := Find(ctx, u.Stacks, managed)
		if err != nil {
			return "", err
		}
		if bucket = Output(own, "SourceBucket"); bucket == "" {
			return "", fmt.Errorf("the stack %s names no bucket: give the stage s3_bucket in its deploy.parameters", managed)
		}
	}
	text := aws.ToString(out.TemplateBody)
	key := path.Join(u.Stage.prefix, fmt.Sprintf("%x.template", sha256.Sum256([]byte(text))))
	_, err = u.Objects.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(text)})
	if err != nil {
		return "", fmt.Errorf("store the template in the bucket %s: %w", bucket, err)
	}
	suffix := "amazonaws.com"
	if strings.HasPrefix(aws.ToString(of.StackId), "arn:aws-cn:") {
		suffix += ".cn"
	}
	return fmt.Sprintf("https://s3.%s.%s/%s/%s", u.Stage.Region, suffix, bucket, key), nil
}

// awaitChangeSet waits until a change set is ready. One without changes is deleted, and "" is returned.
func (u *Updater) awaitChangeSet(ctx context.Context, id string) (string, error) {
	var out *cloudformation.DescribeChangeSetOutput
	err := Wait(ctx, u.Out, u.Poll, "the change set", func() (done bool, err error) {
		out, err = u.Stacks.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: &id})
		return err == nil && out.Status != types.ChangeSetStatusCreatePending &&
			out.Status != types.ChangeSetStatusCreateInProgress, err
	})
	if err != nil || out.Status == types.ChangeSetStatusCreateComplete {
		return id, err
	}
	reason := aws.ToString(out.StatusReason)
	if _, err := u.Stacks.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{ChangeSetName: &id}); err != nil {
		return "", fmt.Errorf("delete the change set: %w", err)
	}
	if strings.Contains(reason, "didn't contain changes") || strings.Contains(reason, "No updates are to be performed") {
		return "", nil
	}
	return "", errors.New("CloudFormation makes no change set: " + reason)
}

// await waits until the stack is as wanted.
func (u *Updater) await(ctx context.Context, isDone func(types.Stack) bool) (found types.Stack, err error) {
	err = Wait(ctx, u.Out, u.Poll, "the stack "+u.Stage.Stack, func() (bool, error) {
		found, err = Find(ctx, u.Stacks, u.Stage.Stack)
		return err == nil && isDone(found), err
	})
	return found, err
}

// isOver reports whether nothing is under way in a stack.
func isOver(status types.StackStatus) bool {
	return !strings.HasSuffix(string(status), "_IN_PROGRESS") || status == types.StackStatusReviewInProgress
}

// Wait asks until something has come about, and prints a line between two looks.
func Wait(ctx context.Context, out io.Writer, poll time.Duration, what string, isDone func() (bool, error)) error {
	for began := time.Now(); ; {
		done, err := isDone()
		if err != nil || done {
			return err
		}
		fmt.Fprintf(out, "   … %s: waiting for %s\n", what, time.Since(began).Round(time.Second))
		if err := delay.Sleep(ctx, poll); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
	}
}
