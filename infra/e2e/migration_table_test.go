package e2e_test

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
)

type item = map[string]types.AttributeValue

// engine returns a client of the table's engine, past the stack.
func (m *migrationCase) engine() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(m.dynamodb),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// load writes the app's table.
func (m *migrationCase) load() {
	m.Helper()
	check.OK(m, m.table.Load(m.Context(), m.engine(), m.name))
}

// arrive has the app put new records, as it does at any time. Each is served at once.
func (m *migrationCase) arrive(x *traffic) {
	m.Helper()
	for range 3 {
		n := int(x.count.Load())
		if n == len(x.sessions) {
			m.Fatal("too many arrivals")
		}
		check.OK(m, legacy.Write(m.Context(), m.engine(), m.name, []item{m.table.Session(n).Item}))
		if err := x.check(m.Context(), n); err != nil {
			m.Errorf("a record that the app has just put: %v", err)
		}
		x.count.Add(1)
	}
}

// scan calls a function for each record of the table.
func (m *migrationCase) scan(each func(item)) {
	m.Helper()
	pages := dynamodb.NewScanPaginator(m.engine(), &dynamodb.ScanInput{
		TableName: &m.name, ConsistentRead: aws.Bool(true), Limit: aws.Int32(table.ScanItems),
	})
	for pages.HasMorePages() {
		page := check.Got(pages.NextPage(m.Context()))(m)
		for _, it := range page.Items {
			each(it)
		}
	}
}

func text(it item, name string) string {
	v, _ := it[name].(*types.AttributeValueMemberS)
	if v == nil {
		return ""
	}
	return v.Value
}

func nested(it item, name string) item {
	v, _ := it[name].(*types.AttributeValueMemberM)
	if v == nil {
		return nil
	}
	return v.Value
}

// checkTable looks at the records themselves, when every session is shared and cleaned up: each message is there once,
// nothing is parked, and what is not Throughline's is as the app left it.
func (m *migrationCase) checkTable(x *traffic) {
	m.Helper()
	records, counts := map[string]item{}, map[string]int{}
	m.scan(func(it item) {
		switch sk := text(it, "sk"); {
		case strings.HasPrefix(sk, "msg#"):
			counts[text(it, "sourceId")]++
		case strings.HasPrefix(sk, "legacy#"):
			m.Errorf("%s has %s after the cleanup", text(it, "pk"), sk)
		default:
			records[text(it, "pk")+" "+sk] = it
		}
	})
	total := 0
	for n := range int(x.count.Load()) {
		s := m.table.Session(n)
		want := len(s.Messages) + len(x.sessions[n].added)
		got := counts[s.User+"#"+s.Key()]
		total += got
		if got < len(s.Messages)+x.sessions[n].acked || got > want {
			m.Errorf("%s of %s (%s) has %d messages in the table, want %d", s.ID, s.User, s.Shape, got, want)
		}
		m.checkAttributes(s.Item, records["user#"+s.User+" "+s.Key()])
	}
	for user := range m.table.Users {
		for _, want := range m.table.Others(user) {
			got := records[text(want, "pk")+" "+text(want, "sk")]
			if diff := cmp.Diff(want, got, byValue); diff != "" {
				m.Errorf("a record that is no session changed (-want +got):\n%s", diff)
			}
		}
	}
	m.Logf("%d messages, %d of them appended meanwhile", total, x.added())
}

// byValue compares attribute values by what they hold.
var byValue = cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{},
	types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberNULL{},
	types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberNS{})

// checkAttributes compares what a session's record had besides the array. A name that Throughline uses too has its
// value in appValues.
func (m *migrationCase) checkAttributes(want, got item) {
	m.Helper()
	where := text(want, "pk") + " " + text(want, "sk")
	attributes, kept := nested(got, "attributes"), nested(got, "appValues")
	if attributes["messages"] != nil {
		m.Errorf("%s still has its array", where)
	}
	rest := maps.Clone(nested(want, "attributes"))
	delete(rest, "messages")
	if diff := cmp.Diff(rest, attributes, byValue); diff != "" {
		m.Errorf("the attributes of %s changed (-want +got):\n%s", where, diff)
	}
	for name, v := range want {
		if name == "attributes" || cmp.Equal(v, got[name], byValue) {
			continue
		}
		if diff := cmp.Diff(v, kept[name], byValue); diff != "" {
			m.Errorf("%s of %s changed (-want +got):\n%s", name, where, diff)
		}
	}
}
