package stack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/throughline/throughline/internal/dynamo"
)

const tableTimeout = 30 * time.Second

// connect makes the stack's own clients, which do not pass the fault door.
func (s *Stack) connect() {
	keys := credentials.NewStaticCredentialsProvider(s.cfg.AccessKeyID, s.cfg.SecretAccessKey, s.cfg.SessionToken)
	s.tables = dynamodb.New(dynamodb.Options{
		Region: s.cfg.Region, Credentials: keys, BaseEndpoint: aws.String(s.dynamodb.direct),
	})
	options := dynamodbstreams.Options{Region: s.cfg.Region, Credentials: keys}
	switch {
	case s.cfg.StreamsEndpoint != "":
		options.BaseEndpoint = aws.String(s.cfg.StreamsEndpoint)
	case !isAWS(s.dynamodb.direct):
		options.BaseEndpoint = aws.String(s.dynamodb.direct)
	}
	s.streams = dynamodbstreams.New(options)
}

// openTable makes the table unless it is there, and finds its stream.
func (s *Stack) openTable(ctx context.Context) error {
	_, err := s.tables.CreateTable(ctx, dynamo.CreateTableInput(s.cfg.TableName))
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("create table %s: %w", s.cfg.TableName, err)
	}
	input := &dynamodb.DescribeTableInput{TableName: &s.cfg.TableName}
	if err := dynamodb.NewTableExistsWaiter(s.tables).Wait(ctx, input, tableTimeout); err != nil {
		return fmt.Errorf("wait for table %s: %w", s.cfg.TableName, err)
	}
	out, err := s.tables.DescribeTable(ctx, input)
	if err != nil {
		return fmt.Errorf("describe table %s: %w", s.cfg.TableName, err)
	}
	if s.streamARN = aws.ToString(out.Table.LatestStreamArn); s.streamARN == "" {
		return fmt.Errorf("table %s has no stream: enable one with new and old images", s.cfg.TableName)
	}
	s.store = dynamo.New(s.tables, s.cfg.TableName)
	return nil
}
