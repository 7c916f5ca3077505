package deadletter_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/sqslocal"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/deadletter"
	"github.com/throughline/throughline/internal/function"
)

// queues returns the dead-letter queues of a server, whose summarize queue has two messages.
func queues(t *testing.T, urls func(server string) map[string]string) *deadletter.Queues {
	t.Helper()
	server := httptest.NewServer(sqslocal.Handler(func() map[string]int {
		return map[string]int{"summarize-dead-letters": 2, "remember-dead-letters": 0}
	}))
	t.Cleanup(server.Close)
	client := sqs.NewFromConfig(function.AWS(config.Config{
		Region: "us-east-1", AccessKeyID: "local", SecretAccessKey: "local",
	}, server.URL))
	return deadletter.New(client, urls(server.URL))
}

func TestCount(t *testing.T) {
	t.Parallel()
	q := queues(t, func(server string) map[string]string {
		return map[string]string{
			"summarize": sqslocal.URL(server, "summarize-dead-letters"),
			"remember":  sqslocal.URL(server, "remember-dead-letters"),
		}
	})
	got, err := q.Count(t.Context())
	if diff := cmp.Diff(map[string]int{"summarize": 2, "remember": 0}, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}

func TestCountFails(t *testing.T) {
	t.Parallel()
	for want, urls := range map[string]func(server string) map[string]string{
		"set DEAD_LETTER_QUEUES": func(string) map[string]string { return nil },
		"queue does not exist": func(server string) map[string]string {
			return map[string]string{"summarize": sqslocal.URL(server, "gone")}
		},
	} {
		if got, err := queues(t, urls).Count(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", got, err, want)
		}
	}
}

// received is a queue of which somebody has received messages and not deleted them.
type received map[string]string

func (r received) GetQueueAttributes(_ context.Context, in *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options),
) (*sqs.GetQueueAttributesOutput, error) {
	out := &sqs.GetQueueAttributesOutput{Attributes: map[string]string{}}
	for _, name := range in.AttributeNames {
		out.Attributes[string(name)] = r[string(name)]
	}
	return out, nil
}

func TestCountHasMessagesInFlight(t *testing.T) {
	t.Parallel()
	client := received{"ApproximateNumberOfMessages": "1", "ApproximateNumberOfMessagesNotVisible": "4"}
	got, err := deadletter.New(client, map[string]string{"summarize": "url"}).Count(t.Context())
	if err != nil || got["summarize"] != 5 {
		t.Errorf("%v, %v, want 5", got, err)
	}
}
