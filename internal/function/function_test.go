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
	const answer = `{"Count":1,"ScannedCount":1,"Items":[{"pk":{"S":"user#ann"}}]}`
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if calls.Add(1) > 1 {
			_, _ = io.WriteString(w, answer)
			return
		}
		_, _ = io.WriteString(w, answer[:len(answer)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()

	client := function.DynamoDB(config.Config{
		Region: "us-east-1", AccessKeyID: "local", SecretAccessKey: "local", DynamoDBEndpoint: server.URL,
	})
	out, err := client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String("t"), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: "user#ann"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Items) != 1 || calls.Load() != 2 {
		t.Errorf("%d items after %d calls, want 1 after 2", len(out.Items), calls.Load())
	}
}
