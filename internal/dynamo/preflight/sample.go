package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
)

const (
	// segments is in how many parts of the table the sample is taken. Each part has its own range of hash values, so the
	// sample is of as many partitions.
	segments = 16
	pageSize = 100
	examples = 5 // of records, for each finding
	// maxHashKey and maxSortKey are the most bytes of a key (Amazon DynamoDB Developer Guide, "Service, account, and
	// table quotas").
	maxHashKey = 2048
	maxSortKey = 1024
)

// Sample says how much of the table was looked at.
type Sample struct {
	Items int `json:"items"`
	// ReadUnits is what reading them cost.
	ReadUnits float64 `json:"readUnits"`
	// Complete reports whether these are all of the table's records. Otherwise counts are of the sample, and what it does
	// not show may still be there.
	Complete bool `json:"complete"`
}

// records reads a sample of the table's records, and adds what they show.
func (c *check) records(ctx context.Context) error {
	if c.options.SampleItems <= 0 {
		c.add(Warning, "records", "not looked at", "records that would break it are not known",
			"check again with a sample")
		return nil
	}
	tallies := c.newTallies()
	c.report.Sample.Complete = true
	for segment := range segments {
		if err := c.readSegment(ctx, segment, tallies); err != nil {
			denied, ok := errors.AsType[smithy.APIError](err)
			if ok && denied.ErrorCode() == "AccessDeniedException" {
				c.unread("records", "dynamodb:Scan", err)
				return nil
			}
			return fmt.Errorf("read sample: %w", err)
		}
	}
	if !slices.ContainsFunc(tallies.list, func(t *tally) bool { return t.Count > 0 }) {
		c.ok("records", "none of those looked at is in the way")
	}
	for _, t := range tallies.list {
		if t.Count > 0 {
			c.report.Findings = append(c.report.Findings, t.Finding)
		}
	}
	return nil
}

// readSegment reads the segment's share of the sample, the first records of its range.
func (c *check) readSegment(ctx context.Context, segment int, tallies *tallies) error {
	left := (c.options.SampleItems + segments - 1) / segments
	in := &dynamodb.ScanInput{
		TableName: aws.String(c.options.Table), Segment: aws.Int32(int32(segment)), TotalSegments: aws.Int32(segments),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for left > 0 && c.report.Sample.ReadUnits < c.options.SampleUnits {
		in.Limit = aws.Int32(int32(min(left, pageSize)))
		out, err := c.services.Table.Scan(ctx, in)
		if err != nil {
			return err
		}
		for _, record := range out.Items {
			tallies.look(record)
		}
		left -= len(out.Items)
		c.report.Sample.Items += len(out.Items)
		if used := out.ConsumedCapacity; used != nil {
			c.report.Sample.ReadUnits += aws.ToFloat64(used.CapacityUnits)
		}
		if out.LastEvaluatedKey == nil {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	c.report.Sample.Complete = false
	return nil
}

// tally counts the records that one finding is about.
type tally struct{ Finding }

func (t *tally) count(record map[string]types.AttributeValue, detail string) {
	if t.Count++; len(t.Examples) < examples {
		example := text(record["pk"]) + " / " + text(record["sk"])
		if detail != "" {
			example += " (" + detail + ")"
		}
		t.Examples = append(t.Examples, example)
	}
}

// tallies are the findings that a sample can make.
type tallies struct {
	list []*tally
	// types has a tally for each key attribute of Throughline's indexes, enters one for each index.
	types                               map[string]*tally
	enters                              map[string]*tally
	clash, session, partition, expiring *tally
	check                               *check
}

func (c *check) newTallies() *tallies {
	ts := &tallies{check: c, types: map[string]*tally{}, enters: map[string]*tally{}}
	add := func(level Level, name, found, breaks, mend string) *tally {
		t := &tally{newFinding(level, name, found, breaks, mend)}
		ts.list = append(ts.list, t)
		return t
	}
	for _, d := range c.indexKeys() {
		name := aws.ToString(d.AttributeName)
		ts.types[name] = add(Error, "attribute "+name,
			fmt.Sprintf("records of the app's have %s, and not as an index key of type %s", name, d.AttributeType),
			"once the index is there, DynamoDB refuses every write that puts or changes such a record, also the "+
				"app's own",
			"let the app keep the value under another name, move it in the records that have it, then create the index")
	}
	for _, i := range c.want.GlobalSecondaryIndexes {
		name, level := aws.ToString(i.IndexName), Warning
		breaks := "they cost a write there, and Throughline's reads of the index pass over them"
		if name == table.DueIndex {
			level, breaks = Error, "the sweep would find them again and again, and can do nothing with them"
		}
		ts.enters[name] = add(level, "index "+name, "records of the app's have its keys and will be in it", breaks,
			"let the app keep the values under other names")
	}
	ts.clash = add(Error, "keys of records", "records of the app's have sort keys that are Throughline's",
		"reads take them for records of their own, and show or pass over them; an erasure of the user leaves them",
		"move them to sort keys that do not begin with one of Throughline's prefixes (docs/adopting.md lists them)")
	ts.session = add(Warning, "sessions", "records of the app's have sort keys of sessions",
		"nothing, where they are its conversations: they stay as they are until they are moved. A new session "+
			"cannot have the id of one, and erasing a user deletes them. Anything else there would go with them",
		"none for conversations; move anything else to another sort key")
	ts.partition = add(Warning, "partitions",
		"records with sort keys of sessions are in partitions that are not called "+
			dynamo.UserPartition("<userId>"),
		"Throughline does not find them: all of a user's records have that partition key, with the token's sub",
		"write these conversations to the user's partition, or import them through the API")
	ts.expiring = add(Error, "ttl of records",
		"records of the app's have a number in "+table.TTLAttribute+", which does not expire them today",
		"once records expire by it, DynamoDB deletes them: the number counts as epoch seconds, and one of the last "+
			"5 years has passed",
		"let the app keep that value under another name before the attribute is turned on")
	return ts
}

// look looks at one record.
func (ts *tallies) look(record map[string]types.AttributeValue) {
	kind, owner := dynamo.Classify(record)
	if owner == dynamo.Own {
		return
	}
	wrong := ts.attributes(record)
	for _, i := range ts.check.want.GlobalSecondaryIndexes {
		if !wrong && hasKeys(record, i.KeySchema) {
			ts.enters[aws.ToString(i.IndexName)].count(record, "")
		}
	}
	switch {
	case owner == dynamo.Clash:
		ts.clash.count(record, "taken for: "+kind)
	case owner == dynamo.AppSession:
		ts.session.count(record, "")
	case dynamo.IsSessionKey(text(record["sk"])):
		ts.partition.count(record, "")
	}
	if n, ok := record[table.TTLAttribute].(*types.AttributeValueMemberN); ok && ts.check.expires != table.TTLAttribute {
		ts.expiring.count(record, n.Value)
	}
}

// attributes counts the record's attributes that an index of Throughline's would refuse, and reports whether there are
// any.
func (ts *tallies) attributes(record map[string]types.AttributeValue) bool {
	wrong := false
	for _, d := range ts.check.indexKeys() {
		name := aws.ToString(d.AttributeName)
		if problem := keyProblem(record[name], d, ts.check.isHash(name)); problem != "" {
			ts.types[name].count(record, problem)
			wrong = true
		}
	}
	return wrong
}

// keyProblem says why a value cannot be a key of an index. It is empty for one that can, and for one that is not there.
func keyProblem(v types.AttributeValue, d types.AttributeDefinition, isHash bool) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *types.AttributeValueMemberS:
		limit := maxSortKey
		if isHash {
			limit = maxHashKey
		}
		switch {
		case d.AttributeType != types.ScalarAttributeTypeS:
			return "a text"
		case v.Value == "":
			return "empty"
		case len(v.Value) > limit:
			return strconv.Itoa(len(v.Value)) + " bytes"
		}
		return ""
	case *types.AttributeValueMemberN:
		if d.AttributeType != types.ScalarAttributeTypeN {
			return "a number"
		}
		return ""
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}

func (c *check) isHash(name string) bool {
	return slices.ContainsFunc(c.want.GlobalSecondaryIndexes, func(i types.GlobalSecondaryIndex) bool {
		return slices.ContainsFunc(i.KeySchema, func(e types.KeySchemaElement) bool {
			return e.KeyType == types.KeyTypeHash && aws.ToString(e.AttributeName) == name
		})
	})
}

func hasKeys(record map[string]types.AttributeValue, schema []types.KeySchemaElement) bool {
	for _, e := range schema {
		if record[aws.ToString(e.AttributeName)] == nil {
			return false
		}
	}
	return true
}

func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return "?"
}
