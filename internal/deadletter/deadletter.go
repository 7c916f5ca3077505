// Package deadletter counts the records of the table's stream that Lambda has set aside, in the queues of Amazon SQS
// that are the on-failure destinations of the stream's mappings.
package deadletter

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Client is the part of the SQS API that is used.
type Client interface {
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options),
	) (*sqs.GetQueueAttributesOutput, error)
}

// Queues counts dead letters. It is safe for concurrent use.
type Queues struct {
	client Client
	urls   map[string]string
}

// New returns the dead-letter queues with those URLs, by the names of their functions.
func New(client Client, urls map[string]string) *Queues {
	return &Queues{client, urls}
}

var errNone = errors.New("no dead-letter queues are configured: set DEAD_LETTER_QUEUES")

// Count returns the number of messages in each queue, by the name of its function: those that can be received and
// those that somebody has received and not yet deleted. SQS counts approximately, and is exact a minute after the last
// change (Amazon SQS API Reference, "GetQueueAttributes").
func (q *Queues) Count(ctx context.Context) (map[string]int, error) {
	if len(q.urls) == 0 {
		return nil, errNone
	}
	counted := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	out := map[string]int{}
	for name, url := range q.urls {
		got, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: aws.String(url), AttributeNames: counted,
		})
		if err != nil {
			return nil, fmt.Errorf("count dead letters of %s: %w", name, err)
		}
		for _, attribute := range counted {
			n, err := strconv.Atoi(got.Attributes[string(attribute)])
			if err != nil {
				return nil, fmt.Errorf("count dead letters of %s: %s: %w", name, attribute, err)
			}
			out[name] += n
		}
	}
	return out, nil
}
