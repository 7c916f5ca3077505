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
		c.add(Finding{
			Check: "index room", Level: Error,
			Found:  fmt.Sprintf("the table has %d indexes, and %d more are needed", len(have), len(missing)),
			Breaks: fmt.Sprintf("a table may have %d", maxIndexes),
			Mend:   "ask for more in Service Quotas (Global Secondary Indexes per table), or give up an index",
		})
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
		c.add(Finding{
			Check: name, Level: Error, Found: "an index of that name has the key " + haveKeys,
			Breaks: "Throughline queries it by " + wantKeys,
			Mend: "give the app's index another name: create it again under that name, move the app's queries there, delete " +
				"the old one, and check again",
		})
	case wide != wanted && wanted == types.ProjectionTypeAll:
		c.add(Finding{
			Check: name, Level: Error, Found: "it projects " + string(wide) + " only",
			Breaks: "messages read from it would have no contents", Mend: "create it again with all attributes",
			Commands: []string{c.cli.deleteIndex(have), c.createIndex(want)},
		})
	case wide != wanted:
		c.add(Finding{
			Check: name, Level: Warning, Found: "it projects " + string(wide) + ", and keys would do",
			Breaks:   "nothing, but every change of a session's counters is written to it, too",
			Mend:     "create it again with keys only",
			Commands: []string{c.cli.deleteIndex(have), c.createIndex(want)},
		})
	case have.IndexStatus != types.IndexStatusActive:
		c.add(Finding{
			Check: name, Level: Error, Found: "it is " + string(have.IndexStatus), Breaks: "queries of it fail or miss records",
			Mend: "wait until it is ACTIVE, then check again",
		})
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
		c.add(Finding{
			Check: "index " + aws.ToString(want.IndexName), Level: Error,
			Found:  fmt.Sprintf("an index of the app's has %s as a key of type %s", name, have),
			Breaks: fmt.Sprintf("a table knows one type of a key attribute, and Throughline writes %s as %s", name, wanted),
			Mend:   "let the app keep its value under another name, with an index on that, and delete the old index",
		})
	}
	return conflict
}

func (c *check) missing(indexes []types.GlobalSecondaryIndex) {
	f := Finding{
		Check: "indexes", Level: Error, Breaks: "the functions query them",
		Mend: "create them, one at a time: DynamoDB creates one for each call, and each wait ends when it is filled. Do it " +
			"after the records that this report names are mended",
	}
	var names []string
	for _, i := range indexes {
		names = append(names, aws.ToString(i.IndexName))
		f.Commands = append(f.Commands, c.createIndex(i), c.cli.waitForIndex(aws.ToString(i.IndexName)))
	}
	f.Found = "missing: " + strings.Join(names, ", ")
	c.add(f)
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
			c.add(Finding{
				Check: "app's index " + name, Level: Error, Found: fmt.Sprintf("its key %s is of type %s", attribute, have),
				Breaks: fmt.Sprintf("Throughline writes %s as %s, and DynamoDB refuses every such record", attribute, written),
				Mend:   "let the app keep its value under another name, with an index on that, and delete this index",
			})
		}
		enters = enters && written == have
	}
	if enters {
		c.add(Finding{
			Check: "app's index " + name, Level: Warning,
			Found:  "records of Throughline's have its keys " + keyText(schema, c.table.AttributeDefinitions),
			Breaks: "they are in the index, cost a write there, and come up in the app's queries of it",
			Mend:   "let the app's queries pass over records that have a generation attribute, or index another attribute",
		})
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
		c.add(Finding{
			Check: name, Level: Warning, Found: "the table has provisioned capacity",
			Breaks: "what Throughline reads and writes comes out of the app's capacity, and bursts are throttled on both sides",
			Mend:   "change to on-demand, or let auto scaling add what docs/scale.md forecasts",
			Commands: []string{
				c.cli.command("update-table", "--billing-mode PAY_PER_REQUEST"),
			},
		})
	case limits != nil && (aws.ToInt64(limits.MaxReadRequestUnits) > 0 || aws.ToInt64(limits.MaxWriteRequestUnits) > 0):
		c.add(Finding{
			Check: name, Level: Warning,
			Found: fmt.Sprintf("on-demand, with at most %d read and %d write units a second",
				aws.ToInt64(limits.MaxReadRequestUnits), aws.ToInt64(limits.MaxWriteRequestUnits)),
			Breaks: "Throughline and the app share them, and both are throttled at the limit",
			Mend:   "raise them by what docs/scale.md forecasts",
		})
	default:
		c.ok(name, "on-demand")
	}
	if s := c.table.TableClassSummary; s != nil && s.TableClass == types.TableClassStandardInfrequentAccess {
		c.add(Finding{
			Check: name, Level: Warning, Found: "the table class is " + string(s.TableClass),
			Breaks: "reads and writes cost a quarter more than in the standard class",
			Mend:   "change the class", Commands: []string{c.cli.command("update-table", "--table-class STANDARD")},
		})
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
