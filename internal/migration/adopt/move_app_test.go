package adopt_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestAppWritesDual checks that entries which the app adds to the array of a dual session become messages, on which the
// functions of the stream work, and that an entry which it has overwritten comes back.
func TestAppWritesDual(t *testing.T) {
	t.Parallel()
	s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: 1}.Session(0)
	a := newAppTable(t, s.Item)
	a.move(t, s, migration.InBoth)
	stores, user := dynamotest.StoresOf(a.db), conversation.UserID(s.User)
	say := func(content string) {
		t.Helper()
		check.Got(stores.Messages.Append(t.Context(), user, dynamotest.OneMessage(s.ID, content)))(t)
	}
	say("ours")
	// The app writes the array as it had read it before, with two entries of its own.
	r := a.get(t, "user#"+s.User, s.Key())
	attributes := r["attributes"].(*types.AttributeValueMemberM).Value
	array := attributes["messages"].(*types.AttributeValueMemberL)
	mine := &types.AttributeValueMemberM{Value: appRecord{
		"role": str("user"), "content": str("the app's"),
	}}
	array.Value = append(slices.Clone(array.Value[:len(array.Value)-1]), mine, str("odd"))
	a.put(t, r)
	a.move(t, s, migration.InStore)
	want := append(slices.Clone(s.Messages), legacy.Message{Role: "user", Content: "ours"},
		legacy.Message{Role: "user", Content: "the app's"}, legacy.Message{Role: "system", Content: "odd"})
	got := a.stored(t, s.User, s.Key())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, r := range a.contentsOf(t) { // the functions leave the copies out
		isNew := slices.Contains([]string{"ours", "the app's", "odd"}, text(r["content"]))
		if text(r["sourceId"]) != "" && (r["origin"] == nil) != isNew {
			t.Errorf("%q has the origin %q", text(r["content"]), text(r["origin"]))
		}
	}
	say("later")
	a.move(t, s, migration.InArray)
	r = a.get(t, "user#"+s.User, s.Key())
	entries := r["attributes"].(*types.AttributeValueMemberM).Value["messages"].(*types.AttributeValueMemberL).Value
	if len(entries) != len(want)+1 {
		t.Errorf("the array has %d entries, want %d", len(entries), len(want)+1)
	}
}

// TestAppWritesOldRecord has the app write the record over that of a shared session which it had read before. The
// messages that were stored since are taken into the array, after the app's.
func TestAppWritesOldRecord(t *testing.T) {
	t.Parallel()
	s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: 1}.Session(0)
	a := newAppTable(t, s.Item)
	a.move(t, s, migration.InStore)
	stores, user := dynamotest.StoresOf(a.db), conversation.UserID(s.User)
	want := slices.Clone(s.Messages)
	for _, content := range []string{"one", "two"} {
		check.Got(stores.Messages.Append(t.Context(), user, dynamotest.OneMessage(s.ID, content)))(t)
		want = append(want, legacy.Message{Role: "user", Content: content})
	}
	a.put(t, s.Item)
	for _, to := range []migration.Placement{migration.InBoth, migration.InStore} {
		a.move(t, s, to)
		check.Same(t, want, a.stored(t, s.User, s.Key()), "stored, %s", to)
		messages, _, err := stores.Messages.Messages(t.Context(), user, s.ID, conversation.Page{Limit: 50})
		check.OK(t, err)
		var got []legacy.Message
		for i, m := range messages {
			got = append(got, legacy.Message{Role: string(m.Role), Content: m.Content})
			if m.Seq != i+1 {
				t.Errorf("message %d has seq %d", i+1, m.Seq)
			}
		}
		check.Same(t, want, got, "read, %s", to)
	}
}

// TestAppendAfterAnOldRecord has the app write an old record over that of a session, and a client append to it before
// the job has seen it. No message is lost, and no two have one seq.
func TestAppendAfterAnOldRecord(t *testing.T) {
	t.Parallel()
	for name, way := range map[string][]migration.Placement{
		"dual": {migration.InBoth}, "shared": {migration.InStore},
		"back in embedded": {migration.InStore, migration.InBoth, migration.InArray},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAppTable(t)
			s := a.newArraySession(t, "u", 3, 5, way[0])
			stores := dynamotest.StoresOf(a.db)
			say := func(content string) {
				t.Helper()
				check.Got(stores.Messages.Append(t.Context(), s.user, dynamotest.OneMessage("c", content)))(t)
				s.want = append(s.want, content)
			}
			say("one")
			say("two")
			for _, to := range way {
				check.Got(adopt.Move(t.Context(), a.db, s.user, "c", to))(t)
			}
			a.newArraySession(t, "u", 3, 5) // as the app had it
			say("three")
			s.checkOnTheWay(t, a.db, migration.InBoth, migration.InStore, migration.InArray, migration.InStore)
		})
	}
}

// TestAppWritesLaterEntries has the app write an entry into an old record that is later than what was stored since. The
// stored message has its place before it.
func TestAppWritesLaterEntries(t *testing.T) {
	t.Parallel()
	for name, way := range map[string][]migration.Placement{
		"shared": {migration.InStore}, "dual": {migration.InBoth}, "dual by the message": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAppTable(t)
			s := a.newArraySession(t, "u", 3, 5)
			before := a.get(t, "user#u", arraySK)
			timed := func(e types.AttributeValue, at string) types.AttributeValue {
				e.(*types.AttributeValueMemberM).Value["ts"] = str(at)
				return e
			}
			for _, e := range arrayIn(before).Value {
				timed(e, "2026-02-05T18:00:00Z")
			}
			a.put(t, before)
			for _, to := range way {
				check.Got(adopt.Move(t.Context(), a.db, s.user, "c", to))(t)
			}
			check.Got(dynamotest.StoresOf(a.db).Messages.Append(t.Context(), s.user, dynamotest.OneMessage("c", "ours")))(t)
			arrayIn(before).Value = append(arrayIn(before).Value, timed(entry("the app's"), "2026-02-05T19:00:00Z"))
			a.put(t, before)
			s.want = append(s.want, "ours", "the app's")
			check.Got(adopt.Move(t.Context(), a.db, s.user, "c", migration.InBoth))(t)
			s.checkOnTheWay(t, a.db, migration.InStore, migration.InArray, migration.InStore)
		})
	}
}
