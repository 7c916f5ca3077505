package table_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

const random = "0123456789"

// FuzzMessageKeys checks for every valid user id that a message's sort key follows from the message's id and the user's
// id, and that no other user's id gives one.
func FuzzMessageKeys(f *testing.F) {
	for _, user := range []string{"u1", "auth0|a#b_c", "msg_1_000123456789", "ü 世界", "#", "_"} {
		f.Add(user, int64(1770316200123), "bob")
		f.Add(user, int64(-1), user+"_1")
	}
	f.Fuzz(func(t *testing.T, user string, ms int64, other string) {
		u, at := conversation.UserID(user), time.UnixMilli(ms).UTC()
		if u.Validate() != nil || at.Year() < 1 || at.Year() > 9999 {
			return // neither is ever stored
		}
		short := table.NewShortID(at, random)
		id, want := table.MessageID(u, at, short), table.MessageSK(at, short)
		if sk, ok := table.ParseMessageID(u, id); !ok || sk != want {
			t.Errorf("the sk of %q is %q, %v; want %q", id, sk, ok, want)
		}
		gotAt, gotShort, ok := table.ParseMessageSK(want)
		if !ok || !gotAt.Equal(at) || gotShort != short {
			t.Errorf("%q reads as %v, %q, %v", want, gotAt, gotShort, ok)
		}
		if o := conversation.UserID(other); o != u {
			if sk, ok := table.ParseMessageID(o, id); ok {
				t.Errorf("%q is a message of %q at %q", id, other, sk)
			}
		}
	})
}

// FuzzParse checks that a key which a parser accepts is built again to the byte.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"msg#2026-02-05T18:30:00.123Z#3f0123456789", "msg#2026-02-05T18:30:00.000Z#000123456789",
		"conversation#a", "program_session#a#b", "u#1#conversation#a", "#conversation#a", "msg_u_-1_000123456789",
		"msg_u_01_000123456789", "prompt#2026-02-05T18:30:00.123Z#prompt_1770316200123_ab",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at, short, ok := table.ParseMessageSK(s); ok && table.MessageSK(at, short) != s {
			t.Errorf("message sk %q is built as %q", s, table.MessageSK(at, short))
		}
		if context, id, ok := table.ParseSessionSK(s); ok {
			if sk, _ := table.SessionSK(context, id); sk != s {
				t.Errorf("session sk %q is built as %q", s, sk)
			}
		}
		if user, context, id, ok := table.ParseSourceID(s); ok {
			if sk, _ := table.SessionSK(context, id); table.SourceID(user, sk) != s {
				t.Errorf("source id %q is built as %q", s, table.SourceID(user, sk))
			}
		}
		if sk, ok := table.ParseMessageID("u", s); ok {
			at, short, ok := table.ParseMessageSK(sk)
			if !ok || table.MessageID("u", at, short) != s {
				t.Errorf("message id %q is built as %q", s, table.MessageID("u", at, short))
			}
		}
		if id, ok := table.ParsePromptSK(s); ok {
			if sk, _ := table.PromptSK(id); sk != s {
				t.Errorf("prompt sk %q is built as %q", s, sk)
			}
		}
	})
}

// FuzzSourceID checks that no two users or sessions have the same source id.
func FuzzSourceID(f *testing.F) {
	f.Add("u", "s1", "u#conversation", "s1")
	f.Add("a#conversation#b", "c", "a", "b")
	f.Fuzz(func(t *testing.T, userA, idA, userB, idB string) {
		for _, context := range conversation.Contexts() {
			skA, okA := table.SessionSK(context, idA)
			skB, okB := table.SessionSK("coach_conversation", idB)
			if !okA || !okB || userA == "" || userB == "" {
				continue
			}
			a, b := table.SourceID(conversation.UserID(userA), skA), table.SourceID(conversation.UserID(userB), skB)
			if (a == b) != (userA == userB && skA == skB) {
				t.Errorf("%q and %q", a, b)
			}
			if u, c, id, ok := table.ParseSourceID(a); !ok || string(u) != userA || c != context || id != idA {
				t.Errorf("%q reads as %q, %q, %q, %v", a, u, c, id, ok)
			}
		}
	})
}

func TestMessageKeysSortByTime(t *testing.T) {
	t.Parallel()
	base := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	var last string
	for _, d := range []time.Duration{
		-100 * 365 * 24 * time.Hour, -time.Hour, 0, time.Millisecond, 999 * time.Millisecond, time.Second, time.Hour,
	} {
		at := base.Add(d)
		sk := table.MessageSK(at, table.NewShortID(at, random))
		if sk <= last {
			t.Errorf("%q does not sort after %q", sk, last)
		}
		low, high := table.MessageBounds(at, at.Add(time.Millisecond))
		if sk < low || sk > high {
			t.Errorf("%q is not between %q and %q", sk, low, high)
		}
		if _, before := table.MessageBounds(time.Time{}, at); sk <= before {
			t.Errorf("%q sorts before its own time %q", sk, before)
		}
		last = sk
	}
}

func TestKeysRejectSeparators(t *testing.T) {
	t.Parallel()
	if sk, ok := table.SessionSK("coach_conversation", "a#b"); ok {
		t.Errorf("a session id with a separator made %q", sk)
	}
	if sk, ok := table.SummarySK(conversation.ProgramSummary, "a#b"); ok {
		t.Errorf("a subject with a separator made %q", sk)
	}
	if sk, ok := table.SummarySK("other", "a"); ok {
		t.Errorf("an unknown record type made %q", sk)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"conversation#a": "session", "msg#x": "message", "ltm#memory#1": "memory", "past#todo#1": "todo",
		"ltm#profile": "profile", "control#preferences": "control", "control#generation": "",
		"doc#a/:k": "document", "workout#2026": "", "msg": "", "legacy#conversation#a": "parked_array", "profile": "",
	}
	for sk, want := range cases {
		if got, ok := table.KindOf(sk); got != want || ok != (want != "") {
			t.Errorf("kind of %q is %q, %v; want %q", sk, got, ok, want)
		}
	}
	if strings.Contains(random, "#") {
		t.Error("the random part of the tests has a separator")
	}
}
