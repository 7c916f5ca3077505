package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	str := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	num := &types.AttributeValueMemberN{Value: "0"}
	for _, c := range []struct {
		pk, sk     string
		generation bool
		kind       string
		owner      dynamo.Owner
	}{
		{"user#a", "conversation#1", true, "session", dynamo.Own},
		{"user#a", "conversation#1", false, "session", dynamo.AppSession},
		{"user#a", "conversation#a b", true, "session", dynamo.AppSession},
		{"user#a", "msg#1", false, "message", dynamo.Clash},
		{"user#a", "ltm#goal#1", false, "goal", dynamo.Clash},
		{"user#a", "ltm#goal#1", true, "goal", dynamo.Own},
		{"user#a", "control#generation", true, "generation", dynamo.Own},
		{"user#a", "workout#1", true, "", dynamo.Other},
		{"user#", "msg#1", true, "", dynamo.Other},
		{"USER#a", "conversation#1", false, "", dynamo.Other},
	} {
		record := map[string]types.AttributeValue{"pk": str(c.pk), "sk": str(c.sk)}
		if c.generation {
			record["generation"] = num
		}
		if kind, owner := dynamo.Classify(record); kind != c.kind || owner != c.owner {
			t.Errorf("%s / %s: got %q of %d, want %q of %d", c.pk, c.sk, kind, owner, c.kind, c.owner)
		}
	}
}

// TestWrittenTypes compares WrittenType with the records of a user.
func TestWrittenTypes(t *testing.T) {
	t.Parallel()
	name := dynamodbtest.Table(t, table.CreateTableInput(""))
	client := dynamodbtest.Client(t)
	writeRecords(t, dynamo.New(client, name))
	out := check.Got(client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(name)}))(t)
	seen := map[string]bool{}
	for _, record := range out.Items {
		if _, owner := dynamo.Classify(record); owner != dynamo.Own {
			t.Errorf("%v is not known as Throughline's", record["sk"])
		}
		for name, v := range record {
			var kind types.ScalarAttributeType
			switch v.(type) {
			case *types.AttributeValueMemberS:
				kind = types.ScalarAttributeTypeS
			case *types.AttributeValueMemberN:
				kind = types.ScalarAttributeTypeN
			}
			seen[name] = true
			if got := dynamo.WrittenType(name); got != kind {
				t.Errorf("WrittenType(%q) = %q, and a record has %q", name, got, kind)
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("the records have %d attributes only", len(seen))
	}
}

// writeRecords writes records of most kinds.
func writeRecords(t *testing.T, db *dynamo.DB) {
	t.Helper()
	ctx, user := t.Context(), conversation.UserID("u")
	made, err := dynamo.NewSessionStore(db).CreateSession(ctx, user, conversation.NewSession{
		Context: "coach_conversation", CoachID: "c", Title: "t", Mode: "m",
	}, conversation.Idempotency{Scope: "s", Key: "k", BodyHash: "h"})
	check.OK(t, err)
	_, err = dynamo.NewMessageStore(db).Append(ctx, user, conversation.Append{
		SessionID: made.Session.ID,
		Messages:  []conversation.NewMessage{{Role: conversation.RoleUser, Content: "x", Tokens: 1, AgentID: "coach"}},
	})
	check.OK(t, err)
	_, _, err = dynamo.NewMemoryStore(db).Create(ctx, user, longterm.Memory{
		Type: "PROFILE", Content: "x", Confidence: 0.5, ValidUntil: time.Now(), SupersededBy: "y",
	}, conversation.Idempotency{})
	check.OK(t, err)
	_, _, err = dynamo.NewTodoStore(db).Create(ctx, user, longterm.Todo{Content: "x", CoachID: "c"},
		conversation.Idempotency{})
	check.OK(t, err)
	_, _, err = dynamo.NewGoalStore(db).Create(ctx, user, longterm.Goal{Title: "x"}, conversation.Idempotency{})
	check.OK(t, err)
	_, err = dynamo.NewProfileStore(db).Put(ctx, user, longterm.Profile{
		Name: "n", Email: "e", About: "a", CreatedAt: time.Now(),
	})
	check.OK(t, err)
	_, err = dynamo.NewPreferencesStore(db).Put(ctx, user, longterm.Preferences{Timezone: "UTC"})
	check.OK(t, err)
}
