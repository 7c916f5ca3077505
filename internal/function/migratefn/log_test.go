package migratefn_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/migratefn"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestLogHasHashes checks that the log names sessions that do not migrate by hashes, and never by their ids. The hashes
// are those that docs/migrating.md says how to make.
func TestLogHasHashes(t *testing.T) {
	t.Parallel()
	log, table, client := &check.Log{}, dynamotest.Table(t), dynamodbtest.Client(t)
	handle := check.Got(migratefn.New(t.Context(), config.Config{
		TableName: table, Region: "us-east-1", AccessKeyID: "local", SecretAccessKey: "local",
		DynamoDBEndpoint: dynamodbtest.Endpoint(t), InitialStage: config.MigrationStage(migration.Dual),
	}, function.Runtime{Log: slog.New(slog.NewJSONHandler(log, nil)), Metrics: io.Discard}))(t)
	for _, sk := range []string{"conversation#my-odd", "conversation#my bad"} {
		record := check.Got(attributevalue.MarshalMap(map[string]any{
			"pk": "user#ann-77", "sk": sk, "attributes": map[string]any{"messages": []any{"no map"}},
		}))(t)
		check.Got(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: record}))(t)
	}
	check.Got(handle(t.Context(), json.RawMessage(`{"action":"backfill"}`)))(t)
	got := log.String()
	for _, id := range []string{"ann-77", "my-odd", "my bad"} {
		hash := check.Got(exec.CommandContext(t.Context(), "sh", "-c",
			"printf '%s' '"+id+"' | sha256sum | cut -c1-32").Output())(t)
		if strings.Contains(got, id) || !strings.Contains(got, strings.TrimSpace(string(hash))) {
			t.Errorf("%s is in the log, or its hash %s is not:\n%s", id, hash, got)
		}
	}
}
