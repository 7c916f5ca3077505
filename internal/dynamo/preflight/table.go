package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/table"
)

// streamReaders is how many processes may read a shard of a table's stream at once (Amazon DynamoDB Developer Guide,
// "Service, account, and table quotas"). Throughline needs both places: summarize and remember.
const streamReaders = 2

// keys checks the primary key. It cannot be changed in a table that exists.
func (c *check) keys() {
	have := keyText(c.table.KeySchema, c.table.AttributeDefinitions)
	want := keyText(c.want.KeySchema, c.want.AttributeDefinitions)
	if have == want {
		c.ok("keys", have)
		return
	}
	c.add(Error, "keys", "the primary key is "+have, "every read and write of Throughline names "+want,
		"a table's key cannot be changed: let the stack make a table of its own (leave ExistingTableName empty), "+
			"and import the conversations through the API")
}

// keyText describes a key as "pk (S, hash), sk (S, range)".
func keyText(schema []types.KeySchemaElement, definitions []types.AttributeDefinition) string {
	var parts []string
	for _, e := range schema {
		name := aws.ToString(e.AttributeName)
		part := fmt.Sprintf("%s (%s, %s)", name, typeOf(name, definitions), strings.ToLower(string(e.KeyType)))
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func typeOf(name string, definitions []types.AttributeDefinition) types.ScalarAttributeType {
	for _, d := range definitions {
		if aws.ToString(d.AttributeName) == name {
			return d.AttributeType
		}
	}
	return ""
}

func (c *check) status() {
	if c.table.TableStatus != types.TableStatusActive {
		c.add(Error, "status", "the table is "+string(c.table.TableStatus),
			"it cannot be changed or relied on in this state", "wait until it is ACTIVE, then check again")
	}
	if len(c.table.LocalSecondaryIndexes) > 0 {
		c.add(Warning, "status",
			fmt.Sprintf("the table has %d local secondary indexes", len(c.table.LocalSecondaryIndexes)),
			"the records of one partition key may then have 10 GB together, so all that a user ever says has "+
				"that limit",
			"none for this table: they can only be removed with it")
	}
}

// stream checks the stream and its readers.
func (c *check) stream(ctx context.Context) {
	const name, enable = "stream", "--stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"
	spec := c.table.StreamSpecification
	switch {
	case spec == nil || !aws.ToBool(spec.StreamEnabled):
		c.add(Error, name, "the table has no stream",
			"nothing is summarised, indexed or remembered: all of it follows from the stream",
			"turn the stream on", c.cli.command("update-table", enable))
		return
	case spec.StreamViewType != types.StreamViewTypeNewAndOldImages:
		c.add(Error, name, "the stream's view is "+string(spec.StreamViewType),
			"records without their new and their old image tell the functions nothing",
			"turn the stream off and on with both images. It gets a new ARN, and whatever reads it now has to be "+
				"pointed at that",
			c.cli.command("update-table", "--stream-specification StreamEnabled=false"), c.cli.command("wait table-exists", ""),
			c.cli.command("update-table", enable))
	default:
		c.ok(name, "enabled, with new and old images")
		c.report.Parameters["ExistingTableStreamArn"] = aws.ToString(c.table.LatestStreamArn)
	}
	c.streamReaders(ctx, aws.ToString(c.table.LatestStreamArn))
}

// streamReaders counts who reads the stream already.
func (c *check) streamReaders(ctx context.Context, streamARN string) {
	const name = "stream readers"
	readers, err := c.services.Consumers(ctx, streamARN)
	if err != nil {
		c.unread(name, "lambda:ListEventSourceMappings", err)
		return
	}
	if n := len(c.table.Replicas); n > 0 {
		readers = append(readers, fmt.Sprintf("a global table's replication (%d replicas)", n))
	}
	if len(readers) == 0 {
		c.ok(name, "none is known; Throughline takes both places of each shard")
		return
	}
	level, breaks := Warning, "with Throughline's two readers a shard has more than two, and all of them are throttled"
	if len(readers) >= streamReaders {
		level = Error
	}
	c.add(level, name, "the stream is read by "+strings.Join(readers, ", "), breaks,
		"feed them from one place: Kinesis Data Streams for DynamoDB beside the stream, or one function that "+
			"passes records on")
}

// timeToLive checks the attribute by which records expire. A table can have one.
func (c *check) timeToLive(ctx context.Context) {
	const name = "ttl"
	input := &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(c.options.Table)}
	out, err := c.services.Table.DescribeTimeToLive(ctx, input)
	if err != nil {
		c.unread(name, "dynamodb:DescribeTimeToLive", err)
		return
	}
	enable := func(attribute string, on bool) string {
		return c.cli.command("update-time-to-live",
			fmt.Sprintf("--time-to-live-specification Enabled=%t,AttributeName=%s", on, attribute))
	}
	d := out.TimeToLiveDescription
	isOn := d != nil && slices.Contains([]types.TimeToLiveStatus{
		types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling,
	}, d.TimeToLiveStatus)
	if isOn {
		c.expires = aws.ToString(d.AttributeName)
	}
	switch {
	case c.expires == table.TTLAttribute:
		c.ok(name, "on "+table.TTLAttribute)
	case c.expires != "":
		c.add(Error, name, "records expire by the attribute "+c.expires,
			"a table has one such attribute. Throughline's prompts, idempotency records and tombstones are never "+
				"deleted, and the table grows by them. If it is changed, the app's own records no longer expire",
			"let the app write "+table.TTLAttribute+" (epoch seconds) beside "+c.expires+" and fill it in "+
				"where it is missing; then turn the old attribute off and, an hour later, the new one on",
			enable(c.expires, false), enable(table.TTLAttribute, true))
	default:
		c.add(Error, name, "no attribute lets records expire",
			"prompts, idempotency records and tombstones are never deleted, and the table grows by them",
			"turn it on", enable(table.TTLAttribute, true))
	}
}

// encryption finds out whether the functions need rights to a key of the owner's.
func (c *check) encryption(ctx context.Context) {
	const name, parameter = "encryption", "ExistingTableKmsKeyArn"
	sse := c.table.SSEDescription
	if sse == nil || aws.ToString(sse.KMSMasterKeyArn) == "" {
		c.ok(name, "by a key that AWS owns")
		return
	}
	key := aws.ToString(sse.KMSMasterKeyArn)
	if sse.InaccessibleEncryptionDateTime != nil {
		c.add(Error, name, "the table's key "+key+" cannot be used",
			"no read and no write works, and DynamoDB archives the table after 7 days",
			"enable the key again, or give DynamoDB its grants back")
	}
	manager, err := c.services.KeyManager(ctx, key)
	switch {
	case err != nil:
		c.unread(name, "kms:DescribeKey", err)
	case manager == "AWS":
		c.ok(name, "by the account's key aws/dynamodb, which every role of the account may use through DynamoDB")
		return
	}
	c.report.Parameters[parameter] = key
	c.add(Warning, name, "by the customer managed key "+key,
		"without rights to the key every read and write of the functions is refused",
		"deploy with "+parameter+"="+key+", which gives the functions' roles the rights. The key's policy "+
			"has to leave them to IAM, or name the roles")
}

// protection checks what keeps the table's data from being lost.
func (c *check) protection(ctx context.Context) {
	if aws.ToBool(c.table.DeletionProtectionEnabled) {
		c.ok("deletion protection", "on")
	} else {
		c.add(Warning, "deletion protection", "off", "one call deletes every conversation", "turn it on",
			c.cli.command("update-table", "--deletion-protection-enabled"))
	}
	const name = "point-in-time recovery"
	input := &dynamodb.DescribeContinuousBackupsInput{TableName: aws.String(c.options.Table)}
	out, err := c.services.Table.DescribeContinuousBackups(ctx, input)
	if err != nil {
		c.unread(name, "dynamodb:DescribeContinuousBackups", err)
		return
	}
	d := out.ContinuousBackupsDescription
	if d != nil && d.PointInTimeRecoveryDescription != nil &&
		d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled {
		c.ok(name, "on")
		return
	}
	c.add(Warning, name, "off",
		"what a mistake deletes cannot be brought back; the receipts of erasures name backups of 35 days",
		"turn it on",
		c.cli.command("update-continuous-backups",
			"--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"))
}
