package preflight_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/preflight"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// appTable is an app's table on DynamoDB Local, with the parts of its description that the local engine does not have.
type appTable struct {
	preflight.TableAPI
	client *dynamodb.Client
	name   string
	// describe changes the description. The engine has no encryption, protection or backups.
	describe func(*types.TableDescription)
	backups  types.PointInTimeRecoveryStatus
	manager  string
	readers  []string
	denied   string // an action that is not allowed
}

// newAppTable makes a table. change makes it differ from the one that Throughline would make.
func newAppTable(t *testing.T, change func(*dynamodb.CreateTableInput)) *appTable {
	t.Helper()
	in := dynamo.CreateTableInput("")
	if change != nil {
		change(in)
	}
	a := &appTable{
		client: dynamodbtest.Client(t), name: dynamodbtest.Table(t, in),
		backups: types.PointInTimeRecoveryStatusEnabled, manager: "AWS",
	}
	a.TableAPI = a.client
	return a
}

// clone returns the same table, to be described in another way.
func (a *appTable) clone() *appTable {
	clone := *a
	return &clone
}

// expireBy lets records expire by an attribute.
func (a *appTable) expireBy(t *testing.T, attribute string) {
	t.Helper()
	_, err := a.client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(a.name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(attribute), Enabled: aws.Bool(true),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (a *appTable) put(t *testing.T, record map[string]types.AttributeValue) error {
	t.Helper()
	_, err := a.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(a.name), Item: record})
	return err
}

func (a *appTable) mustPut(t *testing.T, record map[string]types.AttributeValue) {
	t.Helper()
	if err := a.put(t, record); err != nil {
		t.Fatal(err)
	}
}

func denied(action string) error {
	return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized to perform " + action}
}

func (a *appTable) DescribeTable(
	ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	out, err := a.client.DescribeTable(ctx, in, o...)
	if err != nil {
		return nil, err
	}
	out.Table.DeletionProtectionEnabled = aws.Bool(true)
	if a.describe != nil {
		a.describe(out.Table)
	}
	return out, nil
}

func (a *appTable) DescribeContinuousBackups(
	context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options),
) (*dynamodb.DescribeContinuousBackupsOutput, error) {
	if a.denied == "dynamodb:DescribeContinuousBackups" {
		return nil, denied(a.denied)
	}
	return &dynamodb.DescribeContinuousBackupsOutput{ContinuousBackupsDescription: &types.ContinuousBackupsDescription{
		PointInTimeRecoveryDescription: &types.PointInTimeRecoveryDescription{PointInTimeRecoveryStatus: a.backups},
	}}, nil
}

func (a *appTable) Scan(
	ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options),
) (*dynamodb.ScanOutput, error) {
	if a.denied == "dynamodb:Scan" {
		return nil, denied(a.denied)
	}
	return a.client.Scan(ctx, in, o...)
}

func (a *appTable) run(t *testing.T, change ...func(*preflight.Options)) preflight.Report {
	t.Helper()
	options := preflight.Options{Table: a.name, SampleItems: 2000, SampleUnits: 500}
	for _, f := range change {
		f(&options)
	}
	report, err := preflight.Run(t.Context(), preflight.Services{
		Table: a,
		KeyManager: func(context.Context, string) (string, error) {
			if a.denied == "kms:DescribeKey" {
				return "", denied(a.denied)
			}
			return a.manager, nil
		},
		Consumers: func(context.Context, string) ([]string, error) {
			if a.denied == "lambda:ListEventSourceMappings" {
				return nil, denied(a.denied)
			}
			return a.readers, nil
		},
	}, options)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(report.Text(), "READY. ") != report.Ready {
		t.Errorf("the text and Ready=%t differ:\n%s", report.Ready, report.Text())
	}
	return report
}

// want returns the only finding that is not OK. It has to say what breaks and what to do.
func want(t *testing.T, r preflight.Report, check string, level preflight.Level) preflight.Finding {
	t.Helper()
	var found []preflight.Finding
	for _, f := range r.Findings {
		if f.Level != preflight.OK {
			found = append(found, f)
		}
	}
	if len(found) != 1 || found[0].Check != check || found[0].Level != level {
		t.Fatalf("found %+v, want one %s of %q", found, level, check)
	}
	f := found[0]
	if f.Found == "" || f.Breaks == "" || f.Mend == "" {
		t.Errorf("%q does not say what was found, what breaks and what to do: %+v", check, f)
	}
	if r.Ready != (level != preflight.Error) {
		t.Errorf("Ready = %t beside an %s", r.Ready, level)
	}
	if text := r.Text(); !strings.Contains(text, string(level)+" ") || !strings.Contains(text, f.Mend) {
		t.Errorf("the text lacks the finding:\n%s", text)
	}
	return f
}

func TestTableOfThroughlineIsReady(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, nil)
	a.expireBy(t, dynamo.TTLAttribute)
	r := a.run(t)
	for _, f := range r.Findings {
		if f.Level != preflight.OK {
			t.Errorf("found %+v", f)
		}
	}
	if !r.Ready || r.Parameters["ExistingTableName"] != a.name || r.Parameters["ExistingTableStreamArn"] == "" {
		t.Errorf("got ready %t and parameters %v", r.Ready, r.Parameters)
	}
}

func TestMissingTableIsAnError(t *testing.T) {
	t.Parallel()
	services := preflight.Services{Table: dynamodbtest.Client(t)}
	_, err := preflight.Run(t.Context(), services, preflight.Options{Table: "none"})
	if err == nil || !strings.Contains(err.Error(), "describe table none") {
		t.Errorf("got %v", err)
	}
}

// TestFaultsOfTables makes one table for each fault that a table can have.
func TestFaultsOfTables(t *testing.T) {
	t.Parallel()
	shared := newAppTable(t, nil)
	shared.expireBy(t, dynamo.TTLAttribute)
	const customerKey = "arn:aws:kms:us-east-1:111122223333:key/11111111-2222-3333-4444-555555555555"
	encrypted := func(d *types.TableDescription) {
		d.SSEDescription = &types.SSEDescription{
			Status: types.SSEStatusEnabled, SSEType: types.SSETypeKms, KMSMasterKeyArn: aws.String(customerKey),
		}
	}
	for _, c := range []struct {
		name   string
		create func(*dynamodb.CreateTableInput)
		change func(*appTable)
		ttl    string
		check  string
		level  preflight.Level
		// words stand in what was found, what breaks, the mend or the commands.
		words []string
	}{
		{
			name: "key names", check: "keys", level: preflight.Error, words: []string{"PK (S, hash)", "pk (S, hash)"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) { rename(d, "pk", "PK") }
			},
		},
		{
			name: "key type", check: "keys", level: preflight.Error, words: []string{"sk (N, range)"},
			change: func(a *appTable) { a.describe = func(d *types.TableDescription) { retype(d, "sk", "N") } },
		},
		{
			name: "status", check: "status", level: preflight.Error, words: []string{"UPDATING", "wait"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) { d.TableStatus = types.TableStatusUpdating }
			},
		},
		{
			name: "local index", check: "status", level: preflight.Warning, words: []string{"10 GB"},
			create: func(in *dynamodb.CreateTableInput) {
				in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{
					IndexName: aws.String("app"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
					KeySchema: keys("pk", "appAt"),
				}}
				in.AttributeDefinitions = append(in.AttributeDefinitions, definition("appAt", "S"))
			},
		},
		{
			name: "no stream", check: "stream", level: preflight.Error,
			words:  []string{"update-table", "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"},
			create: func(in *dynamodb.CreateTableInput) { in.StreamSpecification = nil },
		},
		{
			name: "stream of keys", check: "stream", level: preflight.Error, words: []string{"KEYS_ONLY", "StreamEnabled=false"},
			create: func(in *dynamodb.CreateTableInput) {
				in.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly
			},
		},
		{
			name: "one reader", check: "stream readers", level: preflight.Warning, words: []string{"app-search"},
			change: func(a *appTable) { a.readers = []string{"app-search"} },
		},
		{
			name: "two readers", check: "stream readers", level: preflight.Error, words: []string{"app-search, app-audit"},
			change: func(a *appTable) { a.readers = []string{"app-search", "app-audit"} },
		},
		{
			name: "global table", check: "stream readers", level: preflight.Warning, words: []string{"replication"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) { d.Replicas = []types.ReplicaDescription{{}} }
			},
		},
		{
			name: "no ttl", ttl: "-", check: "ttl", level: preflight.Error,
			words: []string{"update-time-to-live", "Enabled=true,AttributeName=expiresAt"},
		},
		{
			name: "another ttl", ttl: "ttl", check: "ttl", level: preflight.Error,
			words: []string{"attribute ttl", "Enabled=false,AttributeName=ttl", "Enabled=true,AttributeName=expiresAt"},
		},
		{
			name: "customer key", check: "encryption", level: preflight.Warning,
			words:  []string{"ExistingTableKmsKeyArn=" + customerKey},
			change: func(a *appTable) { a.describe, a.manager = encrypted, "CUSTOMER" },
		},
		{
			name: "lost key", check: "encryption", level: preflight.Error, words: []string{"cannot be used"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) {
					encrypted(d)
					d.SSEDescription.InaccessibleEncryptionDateTime = aws.Time(time.Now())
				}
			},
		},
		{
			name: "no deletion protection", check: "deletion protection", level: preflight.Warning,
			words: []string{"--deletion-protection-enabled"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) { d.DeletionProtectionEnabled = nil }
			},
		},
		{
			name: "no backups", check: "point-in-time recovery", level: preflight.Warning,
			words:  []string{"update-continuous-backups"},
			change: func(a *appTable) { a.backups = types.PointInTimeRecoveryStatusDisabled },
		},
		{
			name: "missing index", check: "indexes", level: preflight.Error,
			words:  []string{"missing: due", "AttributeName=dueShard"},
			create: func(in *dynamodb.CreateTableInput) { drop(in, dynamo.DueIndex) },
		},
		{
			name: "index with another key", check: "index recent", level: preflight.Error,
			words: []string{"lastSeen (S, range)", "activeAt (S, range)"},
			create: func(in *dynamodb.CreateTableInput) {
				indexNamed(in, dynamo.Recent).KeySchema = keys("pk", "lastSeen")
				in.AttributeDefinitions = append(in.AttributeDefinitions, definition("lastSeen", "S"))
			},
		},
		{
			name: "index without contents", check: "index sourceId-timestamp", level: preflight.Error,
			words: []string{"KEYS_ONLY", `"Delete"`, `"Create"`},
			create: func(in *dynamodb.CreateTableInput) {
				indexNamed(in, dynamo.BySource).Projection.ProjectionType = types.ProjectionTypeKeysOnly
			},
		},
		{
			name: "wide index", check: "index recent", level: preflight.Warning, words: []string{"projects ALL"},
			create: func(in *dynamodb.CreateTableInput) {
				indexNamed(in, dynamo.Recent).Projection.ProjectionType = types.ProjectionTypeAll
			},
		},
		{
			name: "index that is filling", check: "index due", level: preflight.Error, words: []string{"CREATING"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) {
					for i := range d.GlobalSecondaryIndexes {
						if *d.GlobalSecondaryIndexes[i].IndexName == dynamo.DueIndex {
							d.GlobalSecondaryIndexes[i].IndexStatus = types.IndexStatusCreating
						}
					}
				}
			},
		},
		{
			name: "app's index of a type that ours is not", check: "app's index visits", level: preflight.Error,
			words:  []string{"version", "refuses"},
			create: func(in *dynamodb.CreateTableInput) { addIndex(in, "visits", "visitor", "version", "S") },
		},
		{
			name: "app's index that our records enter", check: "app's index by-coach", level: preflight.Warning,
			words: []string{"coachId (S, hash)"},
			create: func(in *dynamodb.CreateTableInput) {
				addIndex(in, "by-coach", "coachId", "createdAt", "S")
			},
		},
		{
			name: "provisioned", check: "capacity", level: preflight.Warning, words: []string{"PAY_PER_REQUEST"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) { d.BillingModeSummary = nil }
			},
		},
		{
			name: "limited", check: "capacity", level: preflight.Warning, words: []string{"7 write units"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) {
					d.OnDemandThroughput = &types.OnDemandThroughput{MaxWriteRequestUnits: aws.Int64(7)}
				}
			},
		},
		{
			name: "infrequent access", check: "capacity", level: preflight.Warning, words: []string{"--table-class STANDARD"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) {
					d.TableClassSummary = &types.TableClassSummary{TableClass: types.TableClassStandardInfrequentAccess}
				}
			},
		},
		{
			name: "no right to the backups", check: "point-in-time recovery", level: preflight.Warning,
			words:  []string{"AccessDeniedException", "dynamodb:DescribeContinuousBackups"},
			change: func(a *appTable) { a.denied = "dynamodb:DescribeContinuousBackups" },
		},
		{
			name: "no right to the mappings", check: "stream readers", level: preflight.Warning,
			words:  []string{"lambda:ListEventSourceMappings"},
			change: func(a *appTable) { a.denied = "lambda:ListEventSourceMappings" },
		},
		{
			name: "no right to the records", check: "records", level: preflight.Warning, words: []string{"dynamodb:Scan"},
			change: func(a *appTable) { a.denied = "dynamodb:Scan" },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := shared.clone()
			if c.create != nil || c.ttl != "" {
				a = newAppTable(t, c.create)
				if c.ttl != "-" {
					a.expireBy(t, cmp.Or(c.ttl, dynamo.TTLAttribute))
				}
			}
			if c.change != nil {
				c.change(a)
			}
			f := want(t, a.run(t), c.check, c.level)
			said := strings.Join(append(f.Commands, f.Found, f.Breaks, f.Mend), "\n")
			for _, w := range c.words {
				if !strings.Contains(said, w) {
					t.Errorf("the finding lacks %q: %+v", w, f)
				}
			}
		})
	}
}

func rename(d *types.TableDescription, from, to string) {
	d.KeySchema[0].AttributeName = aws.String(to)
	for i := range d.AttributeDefinitions {
		if *d.AttributeDefinitions[i].AttributeName == from {
			d.AttributeDefinitions = append(d.AttributeDefinitions, definition(to, "S"))
			return
		}
	}
}

func retype(d *types.TableDescription, name string, kind types.ScalarAttributeType) {
	for i := range d.AttributeDefinitions {
		if *d.AttributeDefinitions[i].AttributeName == name {
			d.AttributeDefinitions[i].AttributeType = kind
		}
	}
}

func definition(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
}

func keys(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

func indexNamed(in *dynamodb.CreateTableInput, name string) *types.GlobalSecondaryIndex {
	for i := range in.GlobalSecondaryIndexes {
		if *in.GlobalSecondaryIndexes[i].IndexName == name {
			return &in.GlobalSecondaryIndexes[i]
		}
	}
	return nil
}

// drop leaves indexes out, and the attributes that no other index has as a key.
func drop(in *dynamodb.CreateTableInput, names ...string) {
	used := map[string]bool{"pk": true, "sk": true}
	var indexes []types.GlobalSecondaryIndex
	for _, i := range in.GlobalSecondaryIndexes {
		if slices.Contains(names, *i.IndexName) {
			continue
		}
		indexes = append(indexes, i)
		for _, e := range i.KeySchema {
			used[*e.AttributeName] = true
		}
	}
	in.GlobalSecondaryIndexes = indexes
	var definitions []types.AttributeDefinition
	for _, d := range in.AttributeDefinitions {
		if used[*d.AttributeName] {
			definitions = append(definitions, d)
		}
	}
	in.AttributeDefinitions = definitions
}

// addIndex adds an index of the app's, whose sort key has that type.
func addIndex(in *dynamodb.CreateTableInput, name, hash, sort string, kind types.ScalarAttributeType) {
	in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
		IndexName: aws.String(name), KeySchema: keys(hash, sort),
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
	})
	in.AttributeDefinitions = append(in.AttributeDefinitions, definition(hash, "S"), definition(sort, kind))
}

func TestAWSManagedKeyNeedsNothing(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, nil)
	a.expireBy(t, dynamo.TTLAttribute)
	a.describe = func(d *types.TableDescription) {
		d.SSEDescription = &types.SSEDescription{KMSMasterKeyArn: aws.String("arn:aws:kms:us-east-1:1:key/aws")}
	}
	if r := a.run(t); !r.Ready || r.Parameters["ExistingTableKmsKeyArn"] != "" {
		t.Errorf("got %+v", r)
	}
	// Who may not read the key is told to look, and gets the parameter.
	a.denied = "kms:DescribeKey"
	if r := a.run(t); !r.Ready || r.Parameters["ExistingTableKmsKeyArn"] == "" {
		t.Errorf("got %+v", r)
	}
}

func TestIndexRoom(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) { drop(in, dynamo.DueIndex, dynamo.CoachRecent) })
	a.expireBy(t, dynamo.TTLAttribute)
	for _, c := range []struct {
		indexes int
		fits    bool
	}{{18, true}, {19, false}} {
		a.describe = func(d *types.TableDescription) {
			for n := len(d.GlobalSecondaryIndexes); n < c.indexes; n++ {
				d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{
					IndexName: aws.String(fmt.Sprint("app-", n)), KeySchema: keys("app", "appAt"),
				})
			}
		}
		got := finding(a.run(t), "index room", preflight.Error).Found == ""
		if got != c.fits {
			t.Errorf("with %d indexes and 2 to come, room = %t, want %t", c.indexes, got, c.fits)
		}
	}
}

func TestAttributeWithAnotherTypeInAnIndex(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) {
		drop(in, dynamo.BySource)
		addIndex(in, "visits", "visitor", "timestamp", "N")
	})
	a.expireBy(t, dynamo.TTLAttribute)
	text := a.run(t).Text()
	for _, w := range []string{
		"index sourceId-timestamp: an index of the app's has timestamp as a key of type N", "app's index visits: its key",
	} {
		if !strings.Contains(text, w) {
			t.Errorf("the report lacks %q:\n%s", w, text)
		}
	}
	if strings.Contains(text, "missing: sourceId-timestamp") {
		t.Errorf("the report has commands that cannot succeed:\n%s", text)
	}
}

// TestCommandsMendTheTable runs the commands of a report, as the owner would, until the table is ready.
func TestCommandsMendTheTable(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) {
		drop(in, dynamo.BySource, dynamo.Recent, dynamo.CoachRecent, dynamo.DueIndex)
		in.StreamSpecification = nil
	})
	r := a.run(t)
	if r.Ready {
		t.Fatal("a bare table is ready")
	}
	for _, f := range r.Findings {
		for _, command := range f.Commands {
			a.execute(t, command)
		}
	}
	if r = a.run(t); !r.Ready {
		t.Errorf("after its own commands the report says:\n%s", r.Text())
	}
}

var quoted = regexp.MustCompile(`'[^']*'|\S+`)

// execute runs a command of the AWS CLI.
func (a *appTable) execute(t *testing.T, command string) {
	t.Helper()
	arguments := quoted.FindAllString(command, -1)
	if arguments[0] == "until" {
		a.awaitIndexes(t)
		return
	}
	in := &dynamodb.UpdateTableInput{TableName: aws.String(a.name)}
	for i, argument := range arguments {
		switch argument {
		case "--attribute-definitions":
			for _, d := range arguments[i+1 : i+3] {
				name, kind, _ := strings.Cut(strings.TrimPrefix(d, "AttributeName="), ",AttributeType=")
				in.AttributeDefinitions = append(in.AttributeDefinitions, definition(name, types.ScalarAttributeType(kind)))
			}
		case "--global-secondary-index-updates":
			if err := json.Unmarshal([]byte(strings.Trim(arguments[i+1], "'")), &in.GlobalSecondaryIndexUpdates); err != nil {
				t.Fatal(err)
			}
		case "--stream-specification":
			in.StreamSpecification = &types.StreamSpecification{
				StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
			}
		case "--time-to-live-specification":
			a.expireBy(t, strings.TrimPrefix(arguments[i+1], "Enabled=true,AttributeName="))
			return
		}
	}
	if _, err := a.client.UpdateTable(t.Context(), in); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

func (a *appTable) awaitIndexes(t *testing.T) {
	t.Helper()
	for t.Context().Err() == nil {
		out, err := a.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(a.name)})
		if err != nil {
			t.Fatal(err)
		}
		active := true
		for _, i := range out.Table.GlobalSecondaryIndexes {
			active = active && i.IndexStatus == types.IndexStatusActive
		}
		if active {
			return
		}
	}
}

func TestProvisionedIndexHasCapacity(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) { drop(in, dynamo.DueIndex) })
	a.describe = func(d *types.TableDescription) {
		d.BillingModeSummary = nil
		d.ProvisionedThroughput = &types.ProvisionedThroughputDescription{
			ReadCapacityUnits: aws.Int64(11), WriteCapacityUnits: aws.Int64(12),
		}
	}
	if text := a.run(t).Text(); !strings.Contains(text, `"ReadCapacityUnits":11,"WriteCapacityUnits":12`) {
		t.Errorf("the command gives the index no capacity:\n%s", text)
	}
}

func TestErrorsOfTheSampleEndTheCheck(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, nil)
	broken := errors.New("broken")
	_, err := preflight.Run(t.Context(), preflight.Services{
		Table:      &brokenScan{a, broken},
		KeyManager: func(context.Context, string) (string, error) { return "", nil },
		Consumers:  func(context.Context, string) ([]string, error) { return nil, nil },
	}, preflight.Options{Table: a.name, SampleItems: 1, SampleUnits: 1})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the scan", err)
	}
}

type brokenScan struct {
	*appTable
	err error
}

func (b *brokenScan) Scan(
	context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options),
) (*dynamodb.ScanOutput, error) {
	return nil, b.err
}
