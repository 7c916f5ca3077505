package preflight

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// cli writes commands of the AWS CLI about one table.
type cli struct{ region, table string }

// command returns a command of "aws dynamodb".
func (c cli) command(subcommand, arguments string) string {
	command := "aws dynamodb " + subcommand
	if c.region != "" {
		command += " --region " + c.region
	}
	return strings.TrimSpace(command + " --table-name " + c.table + " " + arguments)
}

type throughput struct{ ReadCapacityUnits, WriteCapacityUnits int64 }

// createIndex returns the command that creates an index, with capacity unless that is nil.
func (c cli) createIndex(
	capacity *throughput, definitions []types.AttributeDefinition, i types.GlobalSecondaryIndex,
) string {
	type element struct{ AttributeName, KeyType string }
	var create struct {
		IndexName             string
		KeySchema             []element
		Projection            struct{ ProjectionType string }
		ProvisionedThroughput *throughput `json:",omitempty"`
	}
	create.IndexName, create.Projection.ProjectionType = aws.ToString(i.IndexName), string(i.Projection.ProjectionType)
	create.ProvisionedThroughput = capacity
	var attributes []string
	for _, e := range i.KeySchema {
		name := aws.ToString(e.AttributeName)
		create.KeySchema = append(create.KeySchema, element{name, string(e.KeyType)})
		attributes = append(attributes, fmt.Sprintf("AttributeName=%s,AttributeType=%s", name, typeOf(name, definitions)))
	}
	updates, _ := json.Marshal([]any{map[string]any{"Create": create}}) // texts and numbers only
	return c.command("update-table", fmt.Sprintf("--attribute-definitions %s --global-secondary-index-updates '%s'",
		strings.Join(attributes, " "), updates))
}

func (c cli) deleteIndex(i types.GlobalSecondaryIndexDescription) string {
	return c.command("update-table",
		fmt.Sprintf(`--global-secondary-index-updates '[{"Delete":{"IndexName":%q}}]'`, aws.ToString(i.IndexName)))
}

// waitForIndex returns the command that waits until an index is filled. The CLI's own waiter knows tables only.
func (c cli) waitForIndex(name string) string {
	query := fmt.Sprintf(`--query "Table.GlobalSecondaryIndexes[?IndexName=='%s'].IndexStatus" --output text`, name)
	return `until [ "$(` + c.command("describe-table", query) + `)" = ACTIVE ]; do sleep 10; done`
}
