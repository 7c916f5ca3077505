package function_test

import (
	"io"
	"net/http"
	"net/http/httptest"
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

	query(t, server.URL)
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
	query(t, server.URL)
}

const oneItem = `{"Count":1,"ScannedCount":1,"Items":[{"pk":{"S":"user#ann"}}]}`

// query makes one query with the table's client, which has to return the one item.
func query(t *testing.T, endpoint string) {
	t.Helper()
	client := function.DynamoDB(config.Config{
		Region: "us-east-1", AccessKeyID: "local", SecretAccessKey: "local", DynamoDBEndpoint: endpoint,
	})
	out, err := client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String("t"), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: "user#ann"},
		},
	})
	if err != nil || len(out.Items) != 1 {
		t.Fatalf("query: %+v, %v", out, err)
	}
}
