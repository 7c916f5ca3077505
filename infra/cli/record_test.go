package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestRecordIsFound writes three records and asks for each by its sequence number.
func TestRecordIsFound(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": dynamodbtest.Endpoint(t), "AWS_ACCESS_KEY_ID": "local",
		"AWS_SECRET_ACCESS_KEY": "local", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	client, table := dynamodbtest.Client(t), dynamotest.Table(t)
	updated := check.Got(client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: &table, StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}))(t)
	stream := aws.ToString(updated.TableDescription.LatestStreamArn)
	for _, sk := range []string{"msg#1", "msg#2", "msg#3"} {
		check.Got(client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: &table, Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "user#ann"}, "sk": &types.AttributeValueMemberS{Value: sk},
			},
		}))(t)
	}
	for sk, sequence := range sequences(t, stream) {
		code, out, problems := play(t, "record", "-stream", stream, "-sequence", sequence)
		if want := "pk  user#ann\nsk  " + sk + "\nINSERT at "; code != done || !strings.HasPrefix(out, want) {
			t.Errorf("exits with %d, %q and %q, want %q", code, out, problems, want)
		}
	}
	for want, arguments := range map[string][]string{
		`-stream "x": must be the ARN of a stream`: {"-stream", "x", "-sequence", "1"},
		`-sequence "x": must be a number`:          {"-stream", stream, "-sequence", "x"},
		"the stream has no such record":            {"-stream", stream, "-sequence", "0"},
	} {
		code, _, problems := play(t, append([]string{"record"}, arguments...)...)
		if code != refused || !strings.Contains(problems, want) {
			t.Errorf("%v: exits with %d and %q, want %s", arguments, code, problems, want)
		}
	}
}

// sequences returns the sequence numbers of a stream's records, by their sort keys.
func sequences(t *testing.T, stream string) map[string]string {
	t.Helper()
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(dynamodbtest.Endpoint(t)),
		Credentials: dynamodbtest.Client(t).Options().Credentials,
	})
	described := check.Got(client.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &stream}))(t)
	out := map[string]string{}
	for _, shard := range described.StreamDescription.Shards {
		iterator := check.Got(client.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &stream, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		}))(t)
		got := check.Got(client.GetRecords(t.Context(),
			&dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator}))(t)
		for _, r := range got.Records {
			sk, _ := r.Dynamodb.Keys["sk"].(*streamtypes.AttributeValueMemberS)
			out[sk.Value] = aws.ToString(r.Dynamodb.SequenceNumber)
		}
	}
	if len(out) != 3 {
		t.Fatalf("the stream has %v", out)
	}
	return out
}
