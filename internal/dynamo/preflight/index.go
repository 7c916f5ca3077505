package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo"
)

// maxIndexes is the default quota of global secondary indexes for a table (Amazon DynamoDB Developer Guide, "Service,
// account, and table quotas").
const maxIndexes = 20

// indexes compares the table's indexes with the ones that Throughline needs.
func (c *check) indexes() {
	have := map[string]types.GlobalSecondaryIndexDescription{}
	for _, i := range c.table.GlobalSecondaryIndexes {
		have[aws.ToString(i.IndexName)] = i
	}
	var missing []types.GlobalSecondaryIndex
	for _, want := range c.want.GlobalSecondaryIndexes {
		if existing, ok := have[aws.ToString(want.IndexName)]; ok {
			c.existing(want, existing)
			continue
		}
		missing = append(missing, want)
	}
	if len(missing) == 0 {
		return
	}
	if n := len(have) + len(missing); n > maxIndexes {
		c.add(Error, "index room",
			fmt.Sprintf("the table has %d indexes, and %d more are needed", len(have), len(missing)),
			fmt.Sprintf("a table may have %d", maxIndexes),
			"ask for more in Service Quotas (Global Secondary Indexes per table), or give up an index")
	}
	free := missing[:0:0]
	for _, m := range missing {
		if !c.typeConflict(m) {
			free = append(free, m)
		}
	}
	if len(free) > 0 {
		c.missing(free)
	}
}

// existing checks an index of a name that Throughline uses.
func (c *check) existing(want types.GlobalSecondaryIndex, have types.GlobalSecondaryIndexDescription) {
	name := "index " + aws.ToString(want.IndexName)
	wantKeys := keyText(want.KeySchema, c.want.AttributeDefinitions)
	haveKeys := keyText(have.KeySchema, c.table.AttributeDefinitions)
	wide, wanted := projection(have.Projection), want.Projection.ProjectionType
	switch {
	case haveKeys != wantKeys:
		c.add(Error, name, "an index of that name has the key "+haveKeys, "Throughline queries it by "+wantKeys,
			"give the app's index another name: create it again under that name, move the app's queries there, delete "+
				"the old one, and check again")
	case wide != wanted && wanted == types.ProjectionTypeAll:
		c.add(Error, name, "it projects "+string(wide)+" only", "messages read from it would have no contents",
			"create it again with all attributes", c.cli.deleteIndex(have), c.createIndex(want))
	case wide != wanted:
		c.add(Warning, name, "it projects "+string(wide)+", and keys would do",
			"nothing, but every change of a session's counters is written to it, too",
			"create it again with keys only", c.cli.deleteIndex(have), c.createIndex(want))
	case have.IndexStatus != types.IndexStatusActive:
		c.add(Error, name, "it is "+string(have.IndexStatus), "queries of it fail or miss records",
			"wait until it is ACTIVE, then check again")
	default:
		c.ok(name, haveKeys)
	}
}

func projection(p *types.Projection) types.ProjectionType {
	if p == nil {
		return ""
	}
	return p.ProjectionType
}

// typeConflict reports whether a key of a missing index is already a key of another index, with another type.
func (c *check) typeConflict(want types.GlobalSecondaryIndex) bool {
	conflict := false
	for _, e := range want.KeySchema {
		name := aws.ToString(e.AttributeName)
		wanted, have := typeOf(name, c.want.AttributeDefinitions), typeOf(name, c.table.AttributeDefinitions)
		if have == "" || have == wanted {
			continue
		}
		conflict = true
		c.add(Error, "index "+aws.ToString(want.IndexName),
			fmt.Sprintf("an index of the app's has %s as a key of type %s", name, have),
			fmt.Sprintf("a table knows one type of a key attribute, and Throughline writes %s as %s", name, wanted),
			"let the app keep its value under another name, with an index on that, and delete the old index")
	}
	return conflict
}

func (c *check) missing(indexes []types.GlobalSecondaryIndex) {
	var names, commands []string
	for _, i := range indexes {
		names = append(names, aws.ToString(i.IndexName))
		commands = append(commands, c.createIndex(i), c.cli.waitForIndex(aws.ToString(i.IndexName)))
	}
	c.add(Error, "indexes", "missing: "+strings.Join(names, ", "), "the functions query them",
		"create them, one at a time: DynamoDB creates one for each call, and each wait ends when it is filled. Do it "+
			"after the records that this report names are mended", commands...)
}

// createIndex returns the command that creates an index. In a table with provisioned capacity it gets as much as that.
func (c *check) createIndex(i types.GlobalSecondaryIndex) string {
	var capacity *throughput
	if p := c.table.ProvisionedThroughput; c.isProvisioned() && p != nil {
		capacity = &throughput{aws.ToInt64(p.ReadCapacityUnits), aws.ToInt64(p.WriteCapacityUnits)}
	}
	return c.cli.createIndex(capacity, c.want.AttributeDefinitions, i)
}

// appIndexes looks for indexes of the app's that Throughline's own records would enter, or be refused by.
func (c *check) appIndexes() {
	ours := map[string]bool{}
	for _, i := range c.want.GlobalSecondaryIndexes {
		ours[aws.ToString(i.IndexName)] = true
	}
	for _, i := range c.table.GlobalSecondaryIndexes {
		if !ours[aws.ToString(i.IndexName)] {
			c.appIndex(aws.ToString(i.IndexName), i.KeySchema)
		}
	}
	for _, i := range c.table.LocalSecondaryIndexes {
		c.appIndex(aws.ToString(i.IndexName), i.KeySchema)
	}
}

func (c *check) appIndex(name string, schema []types.KeySchemaElement) {
	enters := true
	for _, e := range schema {
		attribute := aws.ToString(e.AttributeName)
		have, written := typeOf(attribute, c.table.AttributeDefinitions), dynamo.WrittenType(attribute)
		if written != "" && written != have {
			c.add(Error, "app's index "+name, fmt.Sprintf("its key %s is of type %s", attribute, have),
				fmt.Sprintf("Throughline writes %s as %s, and DynamoDB refuses every such record", attribute, written),
				"let the app keep its value under another name, with an index on that, and delete this index")
		}
		enters = enters && written == have
	}
	if enters {
		c.add(Warning, "app's index "+name,
			"records of Throughline's have its keys "+keyText(schema, c.table.AttributeDefinitions),
			"they are in the index, cost a write there, and come up in the app's queries of it",
			"let the app's queries pass over records that have a generation attribute, or index another attribute")
	}
}

func (c *check) isProvisioned() bool {
	s := c.table.BillingModeSummary
	return s == nil || s.BillingMode == types.BillingModeProvisioned
}

// capacity checks how the table is paid for.
func (c *check) capacity() {
	const name = "capacity"
	switch limits := c.table.OnDemandThroughput; {
	case c.isProvisioned():
		c.add(Warning, name, "the table has provisioned capacity",
			"what Throughline reads and writes comes out of the app's capacity, and bursts are throttled on both sides",
			"change to on-demand, or let auto scaling add what docs/scale.md forecasts",
			c.cli.command("update-table", "--billing-mode PAY_PER_REQUEST"))
	case limits != nil && (aws.ToInt64(limits.MaxReadRequestUnits) > 0 || aws.ToInt64(limits.MaxWriteRequestUnits) > 0):
		c.add(Warning, name,
			fmt.Sprintf("on-demand, with at most %d read and %d write units a second",
				aws.ToInt64(limits.MaxReadRequestUnits), aws.ToInt64(limits.MaxWriteRequestUnits)),
			"Throughline and the app share them, and both are throttled at the limit",
			"raise them by what docs/scale.md forecasts")
	default:
		c.ok(name, "on-demand")
	}
	if s := c.table.TableClassSummary; s != nil && s.TableClass == types.TableClassStandardInfrequentAccess {
		c.add(Warning, name, "the table class is "+string(s.TableClass),
			"reads and writes cost a quarter more than in the standard class", "change the class",
			c.cli.command("update-table", "--table-class STANDARD"))
	}
}

// indexKeys lists the attributes that are keys of Throughline's indexes only, with their types.
func (c *check) indexKeys() []types.AttributeDefinition {
	return slices.DeleteFunc(slices.Clone(c.want.AttributeDefinitions), func(d types.AttributeDefinition) bool {
		return slices.ContainsFunc(c.want.KeySchema, func(e types.KeySchemaElement) bool {
			return aws.ToString(e.AttributeName) == aws.ToString(d.AttributeName)
		})
	})
}
