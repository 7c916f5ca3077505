package preflight_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// TestFaultsOfTables makes one table for each fault that a table can have.
func TestFaultsOfTables(t *testing.T) {
	t.Parallel()
	shared := newAppTable(t, nil)
	shared.expireBy(t, table.TTLAttribute)
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
		// words are in what was found, what breaks, the mend or the commands.
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
			create: func(in *dynamodb.CreateTableInput) { drop(in, table.DueIndex) },
		},
		{
			name: "index with another key", check: "index recent", level: preflight.Error,
			words: []string{"lastSeen (S, range)", "activeAt (S, range)"},
			create: func(in *dynamodb.CreateTableInput) {
				indexNamed(in, table.Recent).KeySchema = keys("pk", "lastSeen")
				in.AttributeDefinitions = append(in.AttributeDefinitions, definition("lastSeen", "S"))
			},
		},
		{
			name: "index without contents", check: "index sourceId-timestamp", level: preflight.Error,
			words: []string{"KEYS_ONLY", `"Delete"`, `"Create"`},
			create: func(in *dynamodb.CreateTableInput) {
				indexNamed(in, table.BySource).Projection.ProjectionType = types.ProjectionTypeKeysOnly
			},
		},
		{
			name: "wide index", check: "index recent", level: preflight.Warning, words: []string{"projects ALL"},
			create: func(in *dynamodb.CreateTableInput) {
				indexNamed(in, table.Recent).Projection.ProjectionType = types.ProjectionTypeAll
			},
		},
		{
			name: "index that is filling", check: "index due", level: preflight.Error, words: []string{"CREATING"},
			change: func(a *appTable) {
				a.describe = func(d *types.TableDescription) {
					for i := range d.GlobalSecondaryIndexes {
						if *d.GlobalSecondaryIndexes[i].IndexName == table.DueIndex {
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
					a.expireBy(t, cmp.Or(c.ttl, table.TTLAttribute))
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
