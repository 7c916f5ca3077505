package main

import (
	"crypto/sha256"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/throughline/throughline/infra/deployment"
)

// update returns the version that a stack has, and the request that changes it and nothing else. It is a release of its
// own: without another one the functions' versions would go on with the registry that they were published with.
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
		if aws.ToString(p.ParameterKey) == deployment.Release {
			sum := sha256.Sum256([]byte(aws.ToString(p.ParameterValue) + " " + version))
			request.Parameters = append(request.Parameters, types.Parameter{
				ParameterKey: p.ParameterKey, ParameterValue: aws.String(deployment.ReleaseName(sum[:])),
			})
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
