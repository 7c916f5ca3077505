package deploymenttest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	alarms "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	functions "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// longestBody is the longest template that a call takes in itself.
const longestBody = 51_200

type changeSet struct {
	template    []byte
	given       map[string]string
	transformed bool
	isSeen      bool // it was described once, and is ready
}

func invalid(message string) error {
	return &smithy.GenericAPIError{Code: "ValidationError", Message: message}
}

// Answer answers a call of CloudFormation, Lambda, S3 or CloudWatch by its input.
func (s *Stack) Answer(in any) (out any, err error) {
	switch in := in.(type) {
	case *cloudformation.DescribeStacksInput:
		return s.describeStacks(in)
	case *cloudformation.GetTemplateInput:
		return s.getTemplate(in)
	case *cloudformation.ListStackResourcesInput:
		return s.listStackResources(in)
	case *cloudformation.CreateChangeSetInput:
		return s.createChangeSet(in)
	case *cloudformation.DescribeChangeSetInput:
		return s.describeChangeSet(in)
	case *cloudformation.ExecuteChangeSetInput:
		return s.executeChangeSet(in)
	case *cloudformation.DeleteChangeSetInput:
		return s.deleteChangeSet(in)
	case *s3.PutObjectInput:
		return s.putObject(in)
	case *lambda.GetFunctionConfigurationInput:
		return s.getFunctionConfiguration(in)
	case *lambda.GetFunctionConcurrencyInput:
		return s.getFunctionConcurrency(in)
	case *lambda.PutFunctionConcurrencyInput:
		return s.putFunctionConcurrency(in)
	case *lambda.DeleteFunctionConcurrencyInput:
		return s.deleteFunctionConcurrency(in)
	case *cloudwatch.DescribeAlarmsInput:
		return s.describeAlarms(in)
	}
	return nil, fmt.Errorf("the stage answers no %T", in)
}

// describeStacks describes the stack, or SAM's own one. What is under way takes its next step.
func (s *Stack) describeStacks(in *cloudformation.DescribeStacksInput) (*cloudformation.DescribeStacksOutput, error) {
	output := func(name, value string) types.Output { return types.Output{OutputKey: &name, OutputValue: &value} }
	arn := "arn:aws:cloudformation:us-east-1:000000000000:stack/" + aws.ToString(in.StackName) + "/1"
	stack := types.Stack{StackName: in.StackName, StackId: &arn}
	switch aws.ToString(in.StackName) {
	case "aws-sam-cli-managed-default":
		stack.StackStatus = types.StackStatusCreateComplete
		stack.Outputs = []types.Output{output("SourceBucket", Bucket)}
	case Name:
		s.advance()
		stack.StackStatus, stack.LastUpdatedTime = s.Status, aws.Time(s.updated)
		stack.Capabilities = []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityAutoExpand}
		stack.Outputs = []types.Output{output("TableName", s.TableName()), output("ErasuresTableName", Ledger)}
		for _, name := range slices.Sorted(maps.Keys(s.parameters(s.Template))) {
			value := s.value(s.Template, s.Given, name)
			stack.Parameters = append(stack.Parameters, types.Parameter{ParameterKey: &name, ParameterValue: &value})
		}
	default:
		return nil, invalid("Stack with id " + aws.ToString(in.StackName) + " does not exist")
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{stack}}, nil
}

// getTemplate returns the template as it was deployed, or what the transform made of it.
func (s *Stack) getTemplate(in *cloudformation.GetTemplateInput) (*cloudformation.GetTemplateOutput, error) {
	text := "Resources: {}"
	if in.TemplateStage == types.TemplateStageOriginal {
		text = string(s.Template)
	}
	return &cloudformation.GetTemplateOutput{TemplateBody: &text}, nil
}

// listStackResources lists the functions and one resource more, one a page.
func (s *Stack) listStackResources(in *cloudformation.ListStackResourcesInput,
) (*cloudformation.ListStackResourcesOutput, error) {
	list := []types.StackResourceSummary{
		{ResourceType: aws.String("AWS::DynamoDB::Table"), PhysicalResourceId: aws.String(Table)},
	}
	for _, name := range slices.Sorted(maps.Keys(s.Latest)) {
		list = append(list, types.StackResourceSummary{
			ResourceType: aws.String("AWS::Lambda::Function"), PhysicalResourceId: aws.String(Name + "-" + name),
		})
	}
	at := len(aws.ToString(in.NextToken))
	out := &cloudformation.ListStackResourcesOutput{StackResourceSummaries: list[at : at+1]}
	if at+1 < len(list) {
		out.NextToken = aws.String(strings.Repeat("n", at+1))
	}
	return out, nil
}

// createChangeSet checks what CloudFormation checks at once.
func (s *Stack) createChangeSet(in *cloudformation.CreateChangeSetInput,
) (*cloudformation.CreateChangeSetOutput, error) {
	c := &changeSet{template: s.Template, given: map[string]string{}, transformed: !aws.ToBool(in.UsePreviousTemplate)}
	switch {
	case s.isBusy():
		return nil, invalid("Stack:" + Name + " is in " + string(s.Status) + " state and can not be updated.")
	case len(aws.ToString(in.TemplateBody)) > longestBody:
		return nil, invalid("Member must have length less than or equal to 51200")
	case in.TemplateURL != nil:
		object, ok := strings.CutPrefix(*in.TemplateURL, "https://s3.us-east-1.amazonaws.com/"+Bucket+"/")
		if c.template = s.Objects[object]; !ok || c.template == nil {
			return nil, invalid("S3 error: Access Denied")
		}
	case in.TemplateBody != nil:
		c.template = []byte(*in.TemplateBody)
	}
	if !slices.Contains(in.Capabilities, types.CapabilityCapabilityIam) {
		return nil, &smithy.GenericAPIError{Code: "InsufficientCapabilitiesException", Message: "Requires CAPABILITY_IAM"}
	}
	known, before := s.parameters(c.template), s.parameters(s.Template)
	for _, p := range in.Parameters {
		name := aws.ToString(p.ParameterKey)
		if _, ok := known[name]; !ok {
			return nil, invalid("Parameters: [" + name + "] do not exist in the template")
		}
		if _, ok := before[name]; aws.ToBool(p.UsePreviousValue) && !ok {
			return nil, invalid("Cannot specify usePreviousValue as true for a parameter key not in the previous template")
		}
		c.given[name] = aws.ToString(p.ParameterValue)
		if aws.ToBool(p.UsePreviousValue) {
			c.given[name] = s.value(s.Template, s.Given, name)
		}
	}
	id := "arn:aws:cloudformation:us-east-1:000000000000:changeSet/" + aws.ToString(in.ChangeSetName) + "/1"
	s.changeSets[id] = c
	return &cloudformation.CreateChangeSetOutput{Id: &id}, nil
}

// hasChanges reports whether the template or a value differs from what the stack has.
func (s *Stack) hasChanges(c *changeSet) bool {
	if string(c.template) != string(s.Template) {
		return true
	}
	for name, value := range c.given {
		// Without the transform nothing refers to what only the transform reads.
		if s.value(s.Template, s.Given, name) != value && (c.transformed || name != "Release" && name != "GradualReleases") {
			return true
		}
	}
	return false
}

// describeChangeSet answers at first that the change set is being made.
func (s *Stack) describeChangeSet(in *cloudformation.DescribeChangeSetInput,
) (*cloudformation.DescribeChangeSetOutput, error) {
	c, ok := s.changeSets[aws.ToString(in.ChangeSetName)]
	switch {
	case !ok:
		return nil, &smithy.GenericAPIError{Code: "ChangeSetNotFound", Message: "it does not exist"}
	case !c.isSeen:
		c.isSeen = true
		return &cloudformation.DescribeChangeSetOutput{Status: types.ChangeSetStatusCreateInProgress}, nil
	case !s.hasChanges(c):
		return &cloudformation.DescribeChangeSetOutput{Status: types.ChangeSetStatusFailed, StatusReason: aws.String(
			"The submitted information didn't contain changes. Submit different information to create a change set.")}, nil
	}
	return &cloudformation.DescribeChangeSetOutput{
		Status: types.ChangeSetStatusCreateComplete, ExecutionStatus: types.ExecutionStatusAvailable,
	}, nil
}

// executeChangeSet begins the update.
func (s *Stack) executeChangeSet(in *cloudformation.ExecuteChangeSetInput,
) (*cloudformation.ExecuteChangeSetOutput, error) {
	c, ok := s.changeSets[aws.ToString(in.ChangeSetName)]
	if !ok || !c.isSeen || !s.hasChanges(c) || s.isBusy() {
		return nil, &smithy.GenericAPIError{Code: "InvalidChangeSetStatus", Message: "it cannot be executed"}
	}
	clear(s.changeSets)
	s.update(c.template, c.given, c.transformed)
	return &cloudformation.ExecuteChangeSetOutput{}, nil
}

// deleteChangeSet forgets a change set.
func (s *Stack) deleteChangeSet(in *cloudformation.DeleteChangeSetInput,
) (*cloudformation.DeleteChangeSetOutput, error) {
	delete(s.changeSets, aws.ToString(in.ChangeSetName))
	return &cloudformation.DeleteChangeSetOutput{}, nil
}

// PendingChangeSets counts the change sets that were neither executed nor deleted.
func (s *Stack) PendingChangeSets() int { return len(s.changeSets) }

// putObject stores an object.
func (s *Stack) putObject(in *s3.PutObjectInput) (*s3.PutObjectOutput, error) {
	if aws.ToString(in.Bucket) != Bucket {
		return nil, &smithy.GenericAPIError{Code: "NoSuchBucket", Message: aws.ToString(in.Bucket)}
	}
	text, err := io.ReadAll(in.Body)
	s.Objects[aws.ToString(in.Key)] = text
	return &s3.PutObjectOutput{}, err
}

// function finds a function by its name, with or without a qualifier behind it.
func (s *Stack) function(name *string) (string, error) {
	short := strings.TrimPrefix(aws.ToString(name), Name+"-")
	if _, ok := s.Latest[short]; !ok || short == aws.ToString(name) {
		return "", &functions.ResourceNotFoundException{Message: aws.String("Function not found: " + aws.ToString(name))}
	}
	return short, nil
}

// getFunctionConfiguration returns the variables of $LATEST, or of the version that an alias has.
func (s *Stack) getFunctionConfiguration(in *lambda.GetFunctionConfigurationInput,
) (*lambda.GetFunctionConfigurationOutput, error) {
	name, err := s.function(in.FunctionName)
	if err != nil {
		return nil, err
	}
	environment := s.Latest[name]
	if aws.ToString(in.Qualifier) == "live" {
		environment = s.Live[name]
	}
	return &lambda.GetFunctionConfigurationOutput{
		Environment: &functions.EnvironmentResponse{Variables: maps.Clone(environment)},
	}, nil
}

// getFunctionConcurrency returns a function's reservation.
func (s *Stack) getFunctionConcurrency(in *lambda.GetFunctionConcurrencyInput,
) (*lambda.GetFunctionConcurrencyOutput, error) {
	name, err := s.function(in.FunctionName)
	out := &lambda.GetFunctionConcurrencyOutput{}
	if n, ok := s.Concurrency[name]; ok {
		out.ReservedConcurrentExecutions = aws.Int32(int32(n))
	}
	return out, err
}

// putFunctionConcurrency sets a function's reservation.
func (s *Stack) putFunctionConcurrency(in *lambda.PutFunctionConcurrencyInput,
) (*lambda.PutFunctionConcurrencyOutput, error) {
	name, err := s.function(in.FunctionName)
	if err == nil {
		s.Concurrency[name] = int(aws.ToInt32(in.ReservedConcurrentExecutions))
	}
	return &lambda.PutFunctionConcurrencyOutput{}, err
}

// deleteFunctionConcurrency removes a function's reservation.
func (s *Stack) deleteFunctionConcurrency(in *lambda.DeleteFunctionConcurrencyInput,
) (*lambda.DeleteFunctionConcurrencyOutput, error) {
	name, err := s.function(in.FunctionName)
	delete(s.Concurrency, name)
	return &lambda.DeleteFunctionConcurrencyOutput{}, err
}

// describeAlarms returns the alarms that fire, of those with a prefix.
func (s *Stack) describeAlarms(in *cloudwatch.DescribeAlarmsInput) (*cloudwatch.DescribeAlarmsOutput, error) {
	out := &cloudwatch.DescribeAlarmsOutput{}
	for _, name := range s.Firing {
		if strings.HasPrefix(name, aws.ToString(in.AlarmNamePrefix)) {
			out.MetricAlarms = append(out.MetricAlarms, alarms.MetricAlarm{AlarmName: &name, StateValue: alarms.StateValueAlarm})
		}
	}
	return out, nil
}
