package rie_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestRolesAllowToCountRequests counts a user's requests with the role of each function of the HTTP API. The roles of
// context and prompt allow that update alone.
func TestRolesAllowToCountRequests(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	for i, name := range []string{"messages", "context", "prompt", "coach", "mcp"} {
		client := dynamodb.New(dynamodbtest.Client(t).Options(), func(o *dynamodb.Options) {
			o.BaseEndpoint = aws.String(serve(t, newPermissionCheck(t, name)))
		})
		counter := dynamo.NewRequestCounter(dynamo.New(client, table))
		n, err := counter.CountRequests(t.Context(), "ann", time.Unix(0, 0), 1)
		if err != nil || n != i+1 {
			t.Errorf("%s counts %d, %v; want %d", name, n, err, i+1)
		}
	}
	for _, name := range []string{"context", "prompt"} {
		for _, p := range permissions(t, name) {
			if p.Action == "dynamodb:UpdateItem" && (p.Attributes == nil || p.ReturnValues == "") {
				t.Errorf("%s may update any attribute of the table", name)
			}
		}
	}
}
