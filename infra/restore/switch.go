package restore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/deployment"
)

// previous is the parameter with a table that the functions may read beside the stage's own.
const previous = "PreviousTableName"

// allowTarget lets the functions read the new table beside the old one, in an update of its own: a right counts some
// seconds after CloudFormation has given it, and the functions move as soon as it is given.
func (r *Restore) allowTarget(ctx context.Context) (string, error) {
	if !r.isSwitched {
		if _, err := r.updater.Update(ctx, map[string]string{previous: r.target}, nil); err != nil {
			return "", err
		}
	}
	return "the functions may read both tables", nil
}

// switchStack takes the stack to the new table, and returns when all functions serve with it. They may read the old one
// until the next deployment. The template and all other parameters stay.
func (r *Restore) switchStack(ctx context.Context) (string, error) {
	var given map[string]string
	if !r.isSwitched {
		table, err := r.describe(ctx, r.target)
		if err != nil {
			return "", err
		}
		found, err := deployment.Find(ctx, r.updater.Stacks, r.updater.Stage.Stack)
		if err != nil {
			return "", err
		}
		given = r.parameters(found, table)
	}
	if _, err := r.updater.Update(ctx, given, map[string]string{"TABLE_NAME": r.target}); err != nil {
		return "", err
	}
	return "all functions and the stream's mappings use " + r.target, nil
}

// parameters are the values that change the stack's table. A restored table keeps its key. A closed stage has alarms at
// which a gradual release goes back.
func (r *Restore) parameters(of types.Stack, table *dynamodbtypes.TableDescription) map[string]string {
	const key = "ExistingTableKmsKeyArn"
	given := map[string]string{
		"ExistingTableName": r.target, "ExistingTableStreamArn": aws.ToString(table.LatestStreamArn),
		deployment.Gradual: "false", previous: r.source,
	}
	before, _ := deployment.Parameter(of, key)
	if s := table.SSEDescription; before != "" && s != nil && s.SSEType == dynamodbtypes.SSETypeKms {
		given[key] = aws.ToString(s.KMSMasterKeyArn)
	}
	return given
}

// tableOutput is the output with the table that a stack uses.
const tableOutput = "TableName"
