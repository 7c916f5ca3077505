package migration_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
)

// fakeIDs are ids of the form "<epoch milliseconds>_<digits>".
type fakeIDs struct{}

func (fakeIDs) New(at time.Time, digits string) string {
	return strconv.FormatInt(at.UnixMilli(), 10) + "_" + digits
}

func (fakeIDs) Time(id string) (time.Time, bool) {
	ms, _, ok := strings.Cut(id, "_")
	n, err := strconv.ParseInt(ms, 10, 64)
	return time.UnixMilli(n).UTC(), ok && err == nil && n > 0
}

var session = conversation.Session{
	ID: "c1", Context: "coach_conversation", CoachID: "max", Mode: "chat",
	CreatedAt: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
}

func entry(role, content string, ts any) map[string]any {
	e := map[string]any{"role": role, "content": content}
	if ts != nil {
		e["ts"] = ts
	}
	return e
}

// TestTimes decodes arrays of users' messages with these times.
func TestTimes(t *testing.T) {
	t.Parallel()
	const s, m = "2025-03-01T10:00:00.000Z", "2025-03-01T10:00:00.001Z"
	for _, c := range []struct {
		name string
		ts   []any
		want []string
		// kept are the places of the values that are kept.
		kept []int
	}{
		{"ISO", []any{"2025-03-01T10:00:00Z", "2025-03-01T10:00:00.001Z"}, []string{s, m}, nil},
		{"zones", []any{"2025-03-01T12:00:00+02:00", "2025-03-01T05:00:00.001-0500"}, []string{s, m}, nil},
		{"no zone", []any{"2025-03-01T10:00:00", "2025-03-01 10:00:00.001"}, []string{s, m}, nil},
		{"a day", []any{"2025-03-01"}, []string{"2025-03-01T00:00:00.000Z"}, nil},
		{"microseconds", []any{"2025-03-01T10:00:00.000999Z"}, []string{s}, []int{0}},
		{"epoch seconds", []any{1740823200.0, 1740823200.001}, []string{s, m}, nil},
		{"epoch milliseconds", []any{1740823200000.0, 1740823200001.0}, []string{s, m}, nil},
		{"epoch in texts", []any{"1740823200", "1740823200001"}, []string{s, m}, nil},
		{"duplicates", []any{s, s}, []string{s, m}, []int{1}},
		{"decreasing", []any{s, "2024-01-01T00:00:00Z"}, []string{s, m}, []int{1}},
		{"missing", []any{s, nil}, []string{s, m}, nil},
		{"missing at the start", []any{nil, "2025-03-01T10:00:00.001Z"}, []string{s, m}, nil},
		{"none", []any{nil, nil}, []string{"2025-01-01T00:00:00.000Z", "2025-01-01T00:00:00.001Z"}, nil},
		{"unreadable", []any{s, "yesterday"}, []string{s, m}, []int{1}},
		{"a map", []any{s, map[string]any{"seconds": 1.0}}, []string{s, m}, []int{1}},
		{"epoch microseconds", []any{s, 1740823200000000.0}, []string{s, m}, []int{1}},
		{"out of range", []any{s, math.Inf(1)}, []string{s, m}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var entries []any
			for _, ts := range c.ts {
				entries = append(entries, entry("user", "hi", ts))
			}
			messages, problems := migration.Decode(session, entries, fakeIDs{})
			var got []string
			var kept []int
			for i, m := range messages {
				got = append(got, conversation.FormatTime(m.Timestamp))
				if v, ok := m.Metadata["legacyTs"]; ok {
					kept = append(kept, i)
					check.Same(t, c.ts[i], v, "kept time %d", i)
				}
			}
			if len(problems) > 0 || !cmp.Equal(got, c.want) || !cmp.Equal(kept, c.kept) {
				t.Errorf("got %v, kept %v, problems %v; want %v, kept %v", got, kept, problems, c.want, c.kept)
			}
		})
	}
}

func TestRolesAndContents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   map[string]any
		want conversation.Message
	}{
		{"plain", entry("assistant", "hello", nil), conversation.Message{Role: "assistant", Content: "hello"}},
		{"empty", entry("user", "", nil), conversation.Message{Role: "user"}},
		{"human", entry("human", "x", nil), conversation.Message{
			Role: "user", Content: "x", Metadata: map[string]any{"legacyRole": "human"},
		}},
		{"AI", entry("AI", "x", nil), conversation.Message{
			Role: "assistant", Content: "x", Metadata: map[string]any{"legacyRole": "AI"},
		}},
		{"tool", entry("tool", "x", nil), conversation.Message{
			Role: "system", Content: "x", Metadata: map[string]any{"legacyRole": "tool"},
		}},
		{"no role", map[string]any{"content": "x"}, conversation.Message{Role: "system", Content: "x"}},
		{"no text", map[string]any{"role": "user"}, conversation.Message{Role: "user"}},
		{
			"parts",
			map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "text", "text": "a <b>"},
				"c",
				map[string]any{"type": "image", "key": "k"},
				map[string]any{"content": "d"},
			}},
			conversation.Message{Role: "user", Content: "a <b>\nc\nd", Metadata: map[string]any{
				"legacyContent": `[{"text":"a <b>","type":"text"},"c",{"key":"k","type":"image"},{"content":"d"}]`,
			}},
		},
		{
			"a map",
			map[string]any{"role": "user", "content": map[string]any{"a": 1.0}},
			conversation.Message{
				Role: "user", Content: `{"a":1}`, Metadata: map[string]any{"legacyContent": `{"a":1}`},
			},
		},
		{
			"other fields",
			map[string]any{
				"role": "user", "content": "x", "agentId": "coach", "mode": "workout_log", "tokens": 5.0,
				"metadata": map[string]any{"k": "v"}, "images": []any{"i"}, "messageId": "app-1",
			},
			conversation.Message{Role: "user", Content: "x", AgentID: "coach", Mode: "workout_log", Metadata: map[string]any{
				"k": "v", "legacyFields": map[string]any{"images": []any{"i"}, "tokens": 5.0}, "legacyMessageId": "app-1",
			}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			messages, problems := migration.Decode(session, []any{c.in}, fakeIDs{})
			if len(messages) != 1 || len(problems) > 0 {
				t.Fatalf("got %v, %v", messages, problems)
			}
			c.want.Seq, c.want.SessionID, c.want.Context, c.want.CoachID = 1, "c1", "coach_conversation", "max"
			if c.want.Mode == "" {
				c.want.Mode = "chat"
			}
			c.want.ID, c.want.Timestamp, c.want.SessionCreatedAt = messages[0].ID, session.CreatedAt, session.CreatedAt
			if diff := cmp.Diff(c.want, messages[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestProblems checks that an entry which is no map keeps its place in the order.
func TestProblems(t *testing.T) {
	t.Parallel()
	s := session
	s.Deleted = conversation.SeqSet{}.Add(1).Add(3)
	messages, problems := migration.Decode(s, []any{entry("user", "a", nil), "text", entry("user", "a", nil)}, fakeIDs{})
	if len(messages) != 2 || messages[0].Seq != 2 || messages[1].Seq != 5 || messages[0].ID == messages[1].ID {
		t.Errorf("got %+v", messages)
	}
	if want := []migration.Problem{{Index: 1, Reason: "the entry is no map"}}; !cmp.Equal(problems, want) {
		t.Errorf("problems %v, want %v", problems, want)
	}
}

// TestIDs checks that ids differ where messages do, and that an entry without its own id at the right place gets one.
func TestIDs(t *testing.T) {
	t.Parallel()
	const at = "2025-03-01T10:00:00Z"
	other := session
	other.ID = "c2"
	digits := map[string]string{}
	note := func(name string, s conversation.Session, entries ...any) {
		messages, _ := migration.Decode(s, entries, fakeIDs{})
		_, d, _ := strings.Cut(messages[len(messages)-1].ID, "_")
		if len(d) != 10 {
			t.Errorf("%s: digits %q", name, d)
		}
		if same, taken := digits[d]; taken {
			t.Errorf("%s has the digits of %s", name, same)
		}
		digits[d] = name
	}
	note("one", session, entry("user", "hi", at))
	note("another role", session, entry("assistant", "hi", at))
	note("another content", session, entry("user", "ho", at))
	note("another session", other, entry("user", "hi", at))
	note("a second equal one", session, entry("user", "hi", at), entry("user", "hi", at))

	own := migration.Encode(conversation.Message{ID: "1000_abc", Role: "user", Timestamp: time.UnixMilli(1000)})
	messages, _ := migration.Decode(session, []any{own, own}, fakeIDs{})
	kept := messages[1].Metadata["legacyMessageId"]
	if messages[0].ID != "1000_abc" || messages[1].ID == "1000_abc" || kept != "1000_abc" {
		t.Errorf("a doubled entry became %+v", messages)
	}
}

// anyValue draws a value of a document, down to a depth.
func anyValue(depth int) *rapid.Generator[any] {
	values := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Float64().AsAny(),
		rapid.Float64Range(1.6e9, 1.8e9).AsAny(), rapid.Float64Range(1.6e12, 1.8e12).AsAny(),
		rapid.SampledFrom([]any{
			"", "user", "assistant", "human", "1740823200", "2025-03-01", "2025-03-01T10:00:00Z", "9999-12-31T23:59:59.999Z",
			"0001-01-01T00:00:00Z", "1740823200000_0123456789",
		}),
	}
	if depth > 0 {
		values = append(values,
			rapid.SliceOfN(anyValue(depth-1), 0, 3).AsAny(),
			rapid.MapOfN(rapid.SampledFrom([]string{"text", "content", "type", "x"}), anyValue(depth-1), 0, 3).AsAny())
	}
	return rapid.OneOf(values...)
}

// anyEntry draws an entry that a table could hold.
func anyEntry() *rapid.Generator[any] {
	names := rapid.SampledFrom([]string{
		"role", "content", "ts", "messageId", "agentId", "mode", "metadata", "tokens", "awaitsAnswer", "images",
	})
	return rapid.OneOf(
		rapid.MapOfN(names, anyValue(2), 0, 8).AsAny(), anyValue(1),
		rapid.Custom(func(t *rapid.T) any {
			return entry(rapid.SampledFrom([]string{"user", "ai", "tool"}).Draw(t, "role"),
				rapid.SampledFrom([]string{"", "ok", "yes"}).Draw(t, "content"), anyValue(0).Draw(t, "ts"))
		}))
}

// TestDecodeProperties checks what every reader of an array relies on.
func TestDecodeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(anyEntry(), 0, 8).Draw(t, "entries")
		messages, problems := migration.Decode(session, entries, fakeIDs{})
		checkDecoded(t, entries, messages, problems)

		// An entry of Throughline's comes after all others and changes none of them.
		next := conversation.Message{
			Role: conversation.RoleUser, Content: rapid.String().Draw(t, "next"), Tokens: rapid.IntRange(0, 9).Draw(t, "tokens"),
			AgentID: rapid.SampledFrom([]string{"", "coach"}).Draw(t, "agent"), Mode: "chat",
			AwaitsAnswer: rapid.Bool().Draw(t, "awaits"), Timestamp: session.CreatedAt,
			SessionID: session.ID, Context: session.Context, CoachID: session.CoachID, SessionCreatedAt: session.CreatedAt,
			Seq: len(entries) + 1, Metadata: map[string]any{"k": []any{1.0, "v"}},
		}
		if n := len(messages); n > 0 {
			next.Timestamp = messages[n-1].Timestamp.Add(time.Millisecond)
		}
		next.ID = fakeIDs{}.New(next.Timestamp, "0123456789")
		if next.Timestamp.UnixMilli() <= 0 {
			return // no id of the fake
		}
		longer, _ := migration.Decode(session, append(entries, migration.Encode(next)), fakeIDs{})
		if diff := cmp.Diff(append(messages, next), longer); diff != "" {
			t.Fatalf("after an append: %s", diff)
		}
	})
}

// TestStored checks that messages which were decoded are the same when they are in an array as Throughline's entries.
func TestStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages, _ := migration.Decode(session, rapid.SliceOfN(anyEntry(), 0, 8).Draw(t, "entries"), fakeIDs{})
		var entries []any
		for i := range messages {
			messages[i].Seq = i + 1
			if messages[i].Timestamp.UnixMilli() <= 0 {
				return
			}
			entries = append(entries, migration.Encode(messages[i]))
		}
		again, problems := migration.Decode(session, entries, fakeIDs{})
		if diff := cmp.Diff(messages, again); diff != "" || len(problems) > 0 {
			t.Fatalf("%v %s", problems, diff)
		}
	})
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkDecoded(t failer, entries []any, messages []conversation.Message, problems []migration.Problem) {
	t.Helper()
	maps := 0
	for _, e := range entries {
		if _, ok := e.(map[string]any); ok {
			maps++
		}
	}
	if len(messages) != maps || len(problems) != len(entries)-maps {
		t.Fatalf("%d messages and %d problems from %d maps of %d entries", len(messages), len(problems), maps, len(entries))
	}
	ids := map[string]bool{}
	for i, m := range messages {
		if ids[m.ID] = true; len(ids) <= i || m.ID == "" {
			t.Fatalf("the id %q of message %d is not its own", m.ID, i)
		}
		if y := m.Timestamp.Year(); y < 1 || y > 9999 || m.Timestamp.Nanosecond()%1e6 != 0 {
			t.Fatalf("message %d has the time %v", i, m.Timestamp)
		}
		if i > 0 && (!m.Timestamp.After(messages[i-1].Timestamp) || m.Seq <= messages[i-1].Seq) {
			t.Fatalf("message %d is not after the one before it", i)
		}
	}
	again, _ := migration.Decode(session, entries, fakeIDs{})
	if diff := cmp.Diff(messages, again); diff != "" {
		t.Fatalf("at a second call: %s", diff)
	}
}

// FuzzDecode decodes arrays of JSON.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[1]`, `[{"role":"user","content":"hi","ts":"2025-03-01T10:00:00Z"}]`,
		`[{"role":"ai","content":[{"text":"a"}],"ts":1740823200},{"ts":"1740823200000","messageId":"1740823200001_x"}]`,
		`[{"ts":-62135596800},{"ts":9e14},{"ts":"9999-12-31"},{"metadata":{"legacyTs":1},"ts":[]}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var entries []any
		if json.Unmarshal([]byte(text), &entries) != nil {
			return
		}
		messages, problems := migration.Decode(session, entries, fakeIDs{})
		checkDecoded(t, entries, messages, problems)
	})
}
