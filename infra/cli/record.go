package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
)

// recordFlags finds the key of a record of a table's stream, for a log line "record set aside", which has the stream
// and the sequence number and not the user. It needs the rights dynamodb:DescribeStream, GetShardIterator and
// GetRecords.
func recordFlags(f *flags) func(context.Context) error {
	stream := f.String("stream", "", "the stream, as the log line has it")
	sequence := f.String("sequence", "", "the sequence number, as the log line has it")
	return func(ctx context.Context) error {
		of, err := arn.Parse(*stream)
		if err != nil {
			return fmt.Errorf("-stream %q: must be the ARN of a stream, as the log line has it", *stream)
		}
		cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(of.Region))
		if err != nil {
			return err
		}
		record, err := find(ctx, dynamodbstreams.NewFromConfig(cfg), *stream, *sequence)
		if err != nil {
			return err
		}
		for _, name := range []string{"pk", "sk"} {
			key, _ := record.Dynamodb.Keys[name].(*types.AttributeValueMemberS)
			if key == nil {
				return fmt.Errorf("the record has no text %s: its keys are %v", name, record.Dynamodb.Keys)
			}
			fmt.Fprintf(f.out, "%s  %s\n", name, key.Value)
		}
		at := record.Dynamodb.ApproximateCreationDateTime.UTC()
		fmt.Fprintf(f.out, "%s at %s\n", record.EventName, at.Format(time.RFC3339))
		return nil
	}
}

// find returns the record with a sequence number. Of the shards that may have it, one has.
func find(ctx context.Context, client *dynamodbstreams.Client, stream, sequence string) (types.Record, error) {
	number, ok := new(big.Int).SetString(sequence, 10)
	if !ok {
		return types.Record{}, fmt.Errorf("-sequence %q: must be a number, as the log line has it", sequence)
	}
	input := &dynamodbstreams.DescribeStreamInput{StreamArn: &stream}
	for {
		out, err := client.DescribeStream(ctx, input)
		if err != nil {
			return types.Record{}, fmt.Errorf("read the shards: %w", err)
		}
		for _, shard := range out.StreamDescription.Shards {
			if !mayHave(shard, number) {
				continue
			}
			found, err := at(ctx, client, stream, aws.ToString(shard.ShardId), sequence)
			if err != nil || found.Dynamodb != nil {
				return found, err
			}
		}
		if input.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; input.ExclusiveStartShardId == nil {
			return types.Record{}, errors.New("the stream has no such record: it keeps records for 24 hours")
		}
	}
}

// mayHave reports whether the range of a shard has a sequence number. Shards that are read side by side share ranges.
func mayHave(shard types.Shard, number *big.Int) bool {
	limits := shard.SequenceNumberRange
	if limits == nil {
		return true
	}
	first, hasFirst := new(big.Int).SetString(aws.ToString(limits.StartingSequenceNumber), 10)
	last, hasLast := new(big.Int).SetString(aws.ToString(limits.EndingSequenceNumber), 10)
	return (!hasFirst || number.Cmp(first) >= 0) && (!hasLast || number.Cmp(last) <= 0)
}

// at returns the record of a shard with a sequence number, or the zero value.
func at(ctx context.Context, client *dynamodbstreams.Client, stream, shard, sequence string) (types.Record, error) {
	iterator, err := client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &stream, ShardId: &shard, SequenceNumber: &sequence,
		ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber,
	})
	if isElsewhere(err) {
		return types.Record{}, nil
	}
	if err != nil {
		return types.Record{}, fmt.Errorf("find the record in %s: %w", shard, err)
	}
	out, err := client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
		ShardIterator: iterator.ShardIterator, Limit: aws.Int32(1),
	})
	if err != nil {
		return types.Record{}, fmt.Errorf("read the record: %w", err)
	}
	for _, r := range out.Records {
		if aws.ToString(r.Dynamodb.SequenceNumber) == sequence {
			return r, nil
		}
	}
	return types.Record{}, nil
}

// isElsewhere reports whether an error says that a shard does not have, or no longer has, a sequence number.
func isElsewhere(err error) bool {
	_, trimmed := errors.AsType[*types.TrimmedDataAccessException](err)
	api, ok := errors.AsType[smithy.APIError](err)
	return trimmed || (ok && api.ErrorCode() == "ValidationException")
}
