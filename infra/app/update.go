package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// update returns the version that a stack has, and the request that changes it and nothing else.
func (s stage) update(of types.Stack, version string) (before string, request *cloudformation.UpdateStackInput) {
	request = &cloudformation.UpdateStackInput{
		StackName: &s.name, UsePreviousTemplate: aws.Bool(true), Capabilities: of.Capabilities,
		Tags: of.Tags, NotificationARNs: of.NotificationARNs, RoleARN: of.RoleARN,
	}
	for _, p := range of.Parameters {
		if aws.ToString(p.ParameterKey) == parameter {
			before = aws.ToString(p.ParameterValue)
			continue
		}
		request.Parameters = append(request.Parameters, types.Parameter{
			ParameterKey: p.ParameterKey, UsePreviousValue: aws.Bool(true),
		})
	}
	request.Parameters = append(request.Parameters, types.Parameter{
		ParameterKey: aws.String(parameter), ParameterValue: aws.String(version),
	})
	return before, request
}
