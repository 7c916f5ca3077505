package restore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// tableService is DynamoDB with what the local engine lacks: resource policies, and point-in-time recovery, whose
// restore makes a table without stream, TTL and tags, as the service does, of the records that were there when backUp
// was called. A table that is made or changed is busy until it was looked at once, and takes no other change until
// then.
type tableService struct {
	t        *testing.T
	url      string
	engine   *dynamodb.Client
	policies *policies

	mu        sync.Mutex
	backups   map[string][]map[string]types.AttributeValue // by table and time
	recovered map[string]bool                              // the tables with point-in-time recovery
	protected map[string]bool                              // those with deletion protection
	tags      map[string][]json.RawMessage                 // by the table's ARN
	busy      map[string]bool                              // the tables that are being made or changed
	fresh     map[string]bool                              // those that were made, and whose backups are not enabled yet
}

func newTableService(t *testing.T, allows func(action, table string) bool) *tableService {
	t.Helper()
	s := &tableService{
		t: t, engine: dynamodbtest.Client(t), backups: map[string][]map[string]types.AttributeValue{},
		recovered: map[string]bool{}, protected: map[string]bool{},
		tags: map[string][]json.RawMessage{}, busy: map[string]bool{}, fresh: map[string]bool{},
	}
	engine := check.Got(faults.Proxy(dynamodbtest.Endpoint(t)))(t)
	s.policies = withPolicies(s.handler(engine), allows)
	server := httptest.NewServer(s.policies)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// client returns a client of the service with an access key.
func (s *tableService) client(key string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.url),
		Credentials: credentials.NewStaticCredentialsProvider(key, "local", ""),
	})
}

// handler answers the operations that the engine does not know.
func (s *tableService) handler(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		var in struct {
			TableName, SourceTableName, TargetTableName string
			RestoreDateTime                             float64
			DeletionProtectionEnabled                   bool
			ResourceARN                                 string `json:"ResourceArn"`
			Tags                                        []json.RawMessage
		}
		_ = json.Unmarshal(body, &in) // other operations have other fields
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		answer := ""
		if s.isBusy(operation, in.TableName) {
			refuse(w, "ResourceInUseException", "Table is being updated: "+in.TableName)
			return
		}
		if operation == "UpdateContinuousBackups" && s.isFresh(in.TableName) {
			refuse(w, "ContinuousBackupsUnavailableException", "Backups are being enabled for the table: "+in.TableName)
			return
		}
		switch operation {
		case "DescribeTable":
			s.describe(w, r, engine, body, in.TableName)
			return
		case "DescribeContinuousBackups", "UpdateContinuousBackups":
			answer = s.describeBackups(in.TableName, operation == "UpdateContinuousBackups")
		case "RestoreTableToPointInTime":
			at := time.Unix(int64(in.RestoreDateTime), 0)
			if err := s.restore(in.SourceTableName, in.TargetTableName, at); err != nil {
				s.t.Errorf("restore: %v", err)
			}
			answer = `{}`
		case "TagResource", "ListTagsOfResource":
			answer = s.tag(in.ResourceARN, in.Tags)
		}
		if in.DeletionProtectionEnabled {
			s.mu.Lock()
			s.protected[in.TableName] = true
			s.mu.Unlock()
		}
		if answer == "" {
			r.Body = io.NopCloser(bytes.NewReader(body))
			engine.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprint(w, answer)
	})
}

// isBusy reports whether a change of a table is refused because another one is under way, and notes this one.
func (s *tableService) isBusy(operation, table string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.busy[table]
	switch operation {
	case "UpdateTable":
		s.busy[table] = true
		return was
	case "UpdateTimeToLive", "UpdateContinuousBackups":
		return was
	}
	return false
}

// isFresh reports whether a table was made and its backups were not asked for before.
func (s *tableService) isFresh(table string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer delete(s.fresh, table)
	return s.fresh[table]
}

// describe passes a look at a table on to the engine. The first look at a busy one finds it so.
func (s *tableService) describe(w http.ResponseWriter, r *http.Request, engine http.Handler, body []byte,
	table string,
) {
	s.mu.Lock()
	wasBusy := s.busy[table]
	delete(s.busy, table)
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	recorded := httptest.NewRecorder()
	engine.ServeHTTP(recorded, r)
	text := recorded.Body.Bytes()
	if wasBusy {
		text = bytes.Replace(text, []byte(`"TableStatus":"ACTIVE"`), []byte(`"TableStatus":"UPDATING"`), 1)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(text)
}

func (s *tableService) describeBackups(table string, on bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recovered[table] = s.recovered[table] || on
	status := "DISABLED"
	if s.recovered[table] {
		status = "ENABLED"
	}
	return fmt.Sprintf(`{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED",`+
		`"PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":%q,"EarliestRestorableDateTime":%d,`+
		`"LatestRestorableDateTime":%d}}}`, status, time.Now().Add(-time.Hour).Unix(), time.Now().Unix())
}

// tag adds tags to a table and returns all that it has.
func (s *tableService) tag(arn string, tags []json.RawMessage) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags[arn] = append(s.tags[arn], tags...)
	answer, err := json.Marshal(map[string]any{"Tags": s.tags[arn]})
	if err != nil {
		s.t.Error(err)
	}
	return string(answer)
}

// backUp keeps the records of a table as they are now, and returns the time under which restore finds them.
func (s *tableService) backUp(table string) time.Time {
	s.t.Helper()
	at := time.Now().Truncate(time.Second)
	items := records(s.t, s.engine, table)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backups[table+stamp(at)] = items
	s.recovered[table] = true
	return at
}

// restore makes a table with the keys and the indexes of the source, and nothing else of its settings.
func (s *tableService) restore(source, target string, at time.Time) error {
	s.mu.Lock()
	items, ok := s.backups[source+stamp(at)]
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("there is no backup of %s at %s", source, stamp(at))
	}
	in := table.CreateTableInput(target)
	in.StreamSpecification = nil
	s.mu.Lock()
	s.busy[target], s.fresh[target] = true, true
	s.mu.Unlock()
	if _, err := s.engine.CreateTable(s.t.Context(), in); err != nil {
		return err
	}
	for _, it := range items {
		put := &dynamodb.PutItemInput{TableName: &target, Item: it}
		if _, err := s.engine.PutItem(s.t.Context(), put); err != nil {
			return err
		}
	}
	return nil
}

// records returns all records of a table, in the order of their keys.
func records(t *testing.T, client *dynamodb.Client, table string) []map[string]types.AttributeValue {
	t.Helper()
	var out []map[string]types.AttributeValue
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page := check.Got(pages.NextPage(t.Context()))(t)
		out = append(out, page.Items...)
	}
	slices.SortFunc(out, func(a, b map[string]types.AttributeValue) int {
		return strings.Compare(keyOf(a), keyOf(b))
	})
	return out
}

func keyOf(it map[string]types.AttributeValue) string {
	pk, _ := it["pk"].(*types.AttributeValueMemberS)
	sk, _ := it["sk"].(*types.AttributeValueMemberS)
	return pk.Value + " " + sk.Value
}
