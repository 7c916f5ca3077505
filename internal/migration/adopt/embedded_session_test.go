package adopt_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// served is what the API shows of a session.
type served struct {
	Context, CoachID, Title, Mode, Status string
	Created, Started, Last                string
	Messages                              int
}

// TestAppRecordIsServed reads an app's own record as a session: its context from the key, the rest from the attributes
// or from the top of the record, and the times from the messages. It is the same session in every placement.
func TestAppRecordIsServed(t *testing.T) {
	t.Parallel()
	const epoch, created = "1970-01-01T00:00:00.000Z", "2025-02-01T00:00:00.000Z"
	const first, last = "2025-03-01T10:00:00.000Z", "2025-03-01T10:00:01.000Z"
	messages := []any{
		map[string]any{"role": "user", "content": "hi", "ts": 1740823200},
		map[string]any{"role": "assistant", "content": "hello", "ts": "2025-03-01T10:00:01Z"},
	}
	names := map[string]any{"coachId": "max", "title": "Knee", "mode": "deep", "status": "completed"}
	others := map[string]any{"coachId": "ann", "title": "Hip", "mode": "quick", "status": "archived"}
	wrong := map[string]any{
		"coachId": "a b", "title": strings.Repeat("x", conversation.MaxTitleChars+1),
		"mode": strings.Repeat("x", conversation.MaxNameChars+1), "status": "open", "createdAt": "once",
	}
	defaults := served{"coach_conversation", "default", "", "chat", "active", epoch, first, last, 2}
	named := served{"coach_conversation", "max", "Knee", "deep", "completed", epoch, first, last, 2}
	with := func(s served, change func(*served)) served { change(&s); return s }
	for name, c := range map[string]struct {
		prefix          string
		top, attributes map[string]any
		want            served
	}{
		"nothing else":      {"conversation#", nil, map[string]any{"messages": messages}, defaults},
		"in the attributes": {"conversation#", others, names, named},
		"at the top": {
			"conversation#", names, map[string]any{"messages": messages, "theme": "dark"}, named,
		},
		"not valid": {"conversation#", wrong, wrong, defaults},
		"creation": {
			"conversation#",
			map[string]any{"createdAt": created},
			map[string]any{"messages": messages},
			with(defaults, func(s *served) { s.Created = created }),
		},
		"another context": {
			"program_session#", nil,
			map[string]any{"messages": messages},
			with(defaults, func(s *served) { s.Context, s.Mode = "program_designer", "program_design" }),
		},
		"no messages": {
			"conversation#", nil,
			map[string]any{"messages": []any{}},
			with(defaults, func(s *served) { s.Started, s.Last, s.Messages = "", "", 0 }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := map[string]any{"pk": "user#" + string(alice), "sk": c.prefix + "a"}
			maps.Copy(record, c.top)
			attributes := maps.Clone(c.attributes)
			if attributes["messages"] == nil {
				attributes["messages"] = messages
			}
			record["attributes"] = attributes
			it := check.Got(attributevalue.MarshalMap(record))(t)
			a := newAppTable(t, it)
			for _, placement := range []migration.Placement{
				migration.InArray, migration.InBoth, migration.InStore, migration.InArray,
			} {
				check.Got(adopt.Move(t.Context(), a.db, alice, "a", placement))(t)
				s := check.Got(dynamotest.StoresOf(a.db).Sessions.Session(t.Context(), alice, "a"))(t)
				other := conversation.NewSession{ID: "a", Context: "workout_log", CoachID: "c"}
				_, err := dynamotest.StoresOf(a.db).Sessions.CreateSession(t.Context(), alice, other, noKey)
				check.Fault(t, err, fault.Conflict, "%s: another session of its id", placement)
				got := served{
					s.Context, s.CoachID, s.Title, s.Mode, string(s.Status), conversation.FormatTime(s.CreatedAt),
					timeOrNone(s.StartedAt), timeOrNone(s.LastMessageAt), s.MessageCount,
				}
				check.Same(t, c.want, got, "%s", placement)
			}
		})
	}
}

func timeOrNone(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return conversation.FormatTime(at)
}
