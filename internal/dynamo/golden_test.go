package dynamo_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

var update = flag.Bool("update", false, "write the golden file of stored records anew")

// TestStoredRecords stores a record of each kind, the long-term ones with all fields and with none, and compares what
// is in the table with a file. A release reads what an earlier one wrote.
func TestStoredRecords(t *testing.T) {
	t.Parallel()
	s := &fixture{table: dynamotest.Table(t), now: start}
	s.Stores = dynamotest.Open(t, s.table, dynamo.WithClock(s.clock), dynamo.WithRandom(new(dynamotest.Counter)))
	s.storeEverything(t, "everything")
	at := start.Add(time.Hour)
	memory := longterm.Memory{
		Type: longterm.ProfileMemory, Content: "c", Pinned: true, Source: longterm.Extracted, Status: longterm.Reported,
		About: "Tom", From: longterm.Moment{Day: "2026-02-05"}, Until: longterm.Moment{Time: at}, SaidAt: at,
		Confidence: 0.25, Rated: true,
		MessageIDs: []string{"m1", "m2"}, ValidUntil: start, SupersededBy: "other", EndedReason: longterm.EndedReplaced,
		ExpiresAt: at, Tokens: 7, Model: "gpt", PromptVersion: "v1",
	}
	create(t, s.Memories, memory)
	create(t, s.Memories, longterm.Memory{Rated: true, MessageIDs: []string{}})
	create(t, s.Todos, longterm.Todo{
		CoachID: "c1", Content: "do", Status: longterm.TodoCompleted, By: longterm.ByAssistant,
		Due: longterm.Moment{Day: "2026-11-20"}, Every: longterm.Weekly, CompletedAt: at, Tokens: 3,
		MessageIDs: []string{"m1"}, Model: "gpt", PromptVersion: "v1",
	})
	create(t, s.Todos, longterm.Todo{})
	create(t, s.Goals, longterm.Goal{Title: "g", Status: longterm.GoalCompleted, GoalType: longterm.Habit})
	create(t, s.CheckIns, longterm.CheckIn{Timestamp: at, Note: "n", Tokens: 2})
	create(t, s.CheckIns, longterm.CheckIn{Timestamp: at})
	full := longterm.Coach{ID: "full", Name: "n", Persona: "p", Model: "m"}
	check.Got(s.Coaches.PutCoach(t.Context(), alice, full))(t)
	check.Got(s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: "none"}))(t)
	putSingletons(t, s, bob, at)
	texts := []string{"a", "b"}
	check.OK(t, s.Spines.SaveSpine(t.Context(), bob, 0, longterm.Spine{
		CoachID: "c1", Text: "t", Tokens: 9, Patterns: texts, Wins: texts, Struggles: texts, Contexts: texts,
		Unshared: texts, CoveredTo: at, UpdatedAt: at, Model: "gpt", PromptVersion: "v1",
	}))
	check.Got(s.Profiles.Put(t.Context(), carol, longterm.Profile{}))(t)
	check.Got(s.Seeds.Put(t.Context(), carol, longterm.Seed{}))(t)
	check.Got(s.UserSummaries.Put(t.Context(), carol, longterm.UserSummary{Wins: []string{}}))(t)
	check.Got(s.Preferences.Put(t.Context(), carol, longterm.Preferences{}))(t)
	compareStored(t, s.table)
}

const carol = conversation.UserID("carol")

func putSingletons(t *testing.T, s *fixture, user conversation.UserID, at time.Time) {
	t.Helper()
	ctx, texts := t.Context(), []string{"a", "b"}
	check.Got(s.Profiles.Put(ctx, user, longterm.Profile{Name: "n", Email: "e", CreatedAt: at, About: "a"}))(t)
	check.Got(s.Seeds.Put(ctx, user, longterm.Seed{Content: "c"}))(t)
	check.Got(s.UserSummaries.Put(ctx, user, longterm.UserSummary{
		Patterns: texts, Wins: texts, Struggles: texts, LastUpdated: at, StoredAt: at,
	}))(t)
	check.Got(s.Preferences.Put(ctx, user, longterm.Preferences{
		CrossContext: true, Memory: true, Timezone: "UTC", Unshared: map[string]bool{"workout_log": true},
	}))(t)
}

// compareStored compares all records of a table with those of the file, one a line, in the order of their keys.
func compareStored(t *testing.T, table string) {
	t.Helper()
	var lines []string
	for _, user := range []conversation.UserID{alice, bob, carol} {
		for _, record := range dynamotest.Records(t, table, user) {
			line := check.Got(json.Marshal(plain(&types.AttributeValueMemberM{Value: record})))(t)
			lines = append(lines, string(line))
		}
	}
	file, got := filepath.Join("testdata", "records.ndjson"), strings.Join(lines, "\n")+"\n"
	if *update {
		check.OK(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want := check.Got(os.ReadFile(file))(t)
	check.Same(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "stored")
}

// plain is a value as JSON shows it, with its type.
func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberL:
		list := []any{}
		for _, one := range v.Value {
			list = append(list, plain(one))
		}
		return list
	case *types.AttributeValueMemberM:
		m := map[string]any{}
		for name, one := range v.Value {
			m[name] = plain(one)
		}
		return m
	case *types.AttributeValueMemberBOOL:
		return v.Value
	}
	return nil
}
