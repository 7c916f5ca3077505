package function_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
)

// TestTruncatedResponsesAreRetried has the first response of DynamoDB end in the middle of its body.
func TestTruncatedResponsesAreRetried(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if calls.Add(1) > 1 {
			_, _ = io.WriteString(w, oneItem)
			return
		}
		_, _ = io.WriteString(w, oneItem[:len(oneItem)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()

	query(t, t.Context(), tableAt(server.URL))
	if calls.Load() != 2 {
		t.Errorf("%d calls, want 2", calls.Load())
	}
}

// TestAnAttemptWithoutAnswerEnds has the first request never answered, as on a connection that died while its instance
// was frozen.
func TestAnAttemptWithoutAnswerEnds(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil || calls.Add(1) == 1 {
			<-r.Context().Done() // the client gives up
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, oneItem)
	}))
	defer server.Close()
	query(t, t.Context(), tableAt(server.URL))
}

const oneItem = `{"Count":1,"ScannedCount":1,"Items":[{"pk":{"S":"user#ann"}}]}`

// TestRetriesCostLittle has a table that fails all requests. The 500 tokens of a client pay 100 retries, whatever the
// SDK's own price of a retry is.
func TestRetriesCostLittle(t *testing.T) {
	t.Parallel()
	const reads = 30
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	client := tableAt(server.URL)
	var group sync.WaitGroup
	for range reads {
		group.Go(func() {
			if _, err := ask(t.Context(), client); err == nil {
				t.Error("a read of a table that fails succeeded")
			}
		})
	}
	group.Wait()
	if n := requests.Load(); n != reads+100 {
		t.Errorf("%d requests for %d reads, want 100 more", n, reads)
	}
}

// tableAt returns the table's client.
func tableAt(endpoint string) *dynamodb.Client {
	return function.DynamoDB(config.Config{
		Region: "us-east-1", AccessKeyID: "local", SecretAccessKey: "local", DynamoDBEndpoint: endpoint,
	})
}

func ask(ctx context.Context, client *dynamodb.Client) (*dynamodb.QueryOutput, error) {
	return client.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String("t"), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: "user#ann"},
		},
	})
}

// query makes one query, which has to return the one item.
func query(t *testing.T, ctx context.Context, client *dynamodb.Client) {
	t.Helper()
	if out, err := ask(ctx, client); err != nil || len(out.Items) != 1 {
		t.Errorf("query: %+v, %v", out, err)
	}
}
