package adopt_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/secret"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// arrayIn returns the list of an app's record.
func arrayIn(r appRecord) *types.AttributeValueMemberL {
	return r["attributes"].(*types.AttributeValueMemberM).Value["messages"].(*types.AttributeValueMemberL)
}

func entry(content string) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: appRecord{"role": str("user"), "content": str(content)}}
}

// TestAppRewritesItsArray has an app change the array of a dual session in the ways in which apps do, before or after
// the session's history was copied. What the API has acknowledged and what the app has added is read at once, stays in
// every placement, and is there once.
func TestAppRewritesItsArray(t *testing.T) {
	t.Parallel()
	const e, d, s = migration.InArray, migration.InBoth, migration.InStore
	all := []string{"0 x", "1 x", "2 x", "3 x", "one", "two"}
	for name, c := range map[string]struct {
		copied bool
		// later says that the API appends before the job looks.
		later bool
		// change changes the array. before is the record before the API's messages.
		change func(now, before appRecord) appRecord
		want   []string
	}{
		"keeps the last ones": {change: func(now, _ appRecord) appRecord {
			arrayIn(now).Value = arrayIn(now).Value[2:]
			return now
		}, want: all[2:]},
		"keeps the last ones of a copied history": {copied: true, change: func(now, _ appRecord) appRecord {
			arrayIn(now).Value = arrayIn(now).Value[2:]
			return now
		}, want: all},
		"adds one and drops one": {change: func(now, _ appRecord) appRecord {
			arrayIn(now).Value = append(arrayIn(now).Value[1:], entry("the app's"))
			return now
		}, want: append(slices.Clone(all[1:]), "the app's")},
		"adds one and drops one of a copied history": {copied: true, change: func(now, _ appRecord) appRecord {
			arrayIn(now).Value = append(arrayIn(now).Value[1:], entry("the app's"))
			return now
		}, want: append(slices.Clone(all), "the app's")},
		"adds one of a later time and drops one, before the next message": {
			later: true,
			change: func(now, _ appRecord) appRecord {
				late := entry("the app's")
				late.(*types.AttributeValueMemberM).Value["ts"] = str("2026-12-31T00:00:00Z")
				arrayIn(now).Value = append(arrayIn(now).Value[1:], late)
				return now
			},
			want: append(slices.Clone(all[1:]), "three", "the app's"),
		},
		"adds one with a time to entries without": {copied: true, change: func(now, _ appRecord) appRecord {
			timed := entry("the app's")
			timed.(*types.AttributeValueMemberM).Value["ts"] = str("2026-02-05T18:00:00Z")
			arrayIn(now).Value = append(arrayIn(now).Value[:4:4], timed)
			return now
		}, want: append(slices.Clone(all), "the app's")},
		"edits one": {copied: true, change: func(now, _ appRecord) appRecord {
			arrayIn(now).Value[3] = entry("3 edited")
			return now
		}, want: []string{"0 x", "1 x", "2 x", "3 edited", "one", "two"}},
		"writes an old record": {copied: true, change: func(_, before appRecord) appRecord {
			return before
		}, want: all},
		"writes an old record before the next message": {
			copied: true, later: true,
			change: func(_, before appRecord) appRecord { return before },
			want:   slices.Clone(all),
		},
		"writes an old record with one more": {copied: true, change: func(_, before appRecord) appRecord {
			arrayIn(before).Value = append(arrayIn(before).Value, entry("the app's"))
			return before
		}, want: append(slices.Clone(all), "the app's")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAppTable(t)
			session := a.newArraySession(t, "u", 4, 1)
			session.gaps = !c.copied
			at := dynamotest.Now.Add(-time.Hour)
			say := func(content string) {
				at = at.Add(time.Minute)
				in := dynamotest.OneMessage("c", content)
				in.Messages[0].Timestamp = at
				check.Got(dynamotest.StoresOf(a.db).Messages.Append(t.Context(), session.user, in))(t)
			}
			if c.copied {
				check.Got(adopt.Move(t.Context(), a.db, session.user, "c", d))(t)
			}
			before := a.get(t, "user#u", arraySK)
			say("one")
			say("two")
			a.put(t, c.change(a.get(t, "user#u", arraySK), before))
			db := a.inStage(t, migration.Dual, dynamotest.PassThrough)
			if got := session.read(t, db); arrayLength(t, a) != counted(t, a) {
				check.Same(t, c.want, got, "read at once: wanted (-) and read (+)")
			}
			if c.later {
				say("three")
				if !slices.Contains(c.want, "three") {
					c.want = append(c.want, "three")
				}
			}
			check.Got(adopt.Move(t.Context(), a.db, session.user, "c", d))(t)
			r := migration.Record{User: session.user, Key: arraySK, SessionID: "c"}
			_, err := adopt.NewMigrationStore(a.db, a.client).Do(t.Context(), migration.Verify, r, d)
			check.OK(t, err)
			session.want = c.want
			for _, stage := range []migration.Stage{migration.Dual, migration.SharedRead} {
				session.checkOnTheWay(t, a.inStage(t, stage, dynamotest.PassThrough), d)
			}
			session.checkOnTheWay(t, db, s, d, e, s)
		})
	}
}

func arrayLength(t *testing.T, a *appTable) int {
	return len(arrayIn(a.get(t, "user#u", arraySK)).Value)
}

// counted is how many messages the record of the session counts.
func counted(t *testing.T, a *appTable) int {
	t.Helper()
	s := check.Got(dynamotest.StoresOf(a.db).Sessions.Session(t.Context(), conversation.UserID("u"), "c"))(t)
	return s.MessageCount
}

// TestEditedEntry counts a copy anew whose entry the app has edited, and reads it for secrets again.
func TestEditedEntry(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	session := a.newArraySession(t, "u", 4, 1)
	a.move(t, legacy.Session{User: "u", ID: "c"}, migration.InBoth)
	record := a.get(t, "user#u", arraySK)
	const edited = "it is My password is hunter22!"
	arrayIn(record).Value[3] = entry(edited)
	a.put(t, record)
	a.move(t, legacy.Session{User: "u", ID: "c"}, migration.InBoth)
	for _, m := range storedMessages(t, a.db, session.user) {
		isEdited := m.Content == edited
		check.Equal(t, isEdited, secret.HasStored(m.Content, m.CleanBy), "%q has a secret", m.Content)
		check.Equal(t, len(strings.Fields(m.Content)), m.Tokens, "tokens of %q", m.Content)
	}
}

// storedMessages returns the four messages of the session in the shared store.
func storedMessages(t *testing.T, db *dynamo.DB, user conversation.UserID) []conversation.Message {
	t.Helper()
	s := check.Got(dynamotest.StoresOf(db).Sessions.Session(t.Context(), user, "c"))(t)
	messages, _, err := dynamo.NewMessageStore(db).StoredAfter(t.Context(), user, s, 0, 1<<20)
	check.OK(t, err)
	check.Equal(t, 4, len(messages), "messages in the store")
	return messages
}

// TestAppDropsWhatTheIndexLacks has an app drop an entry whose message the index does not show yet. Who reads the
// session has the message, and so does the job that moves it.
func TestAppDropsWhatTheIndexLacks(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	session := a.newArraySession(t, "u", 3, 1, migration.InBoth)
	in := dynamotest.OneMessage("c", "one")
	check.Got(dynamotest.StoresOf(a.db).Messages.Append(t.Context(), session.user, in))(t)
	record := a.get(t, "user#u", arraySK)
	arrayIn(record).Value = arrayIn(record).Value[:3]
	a.put(t, record)
	lagging := dynamotest.Intercept(a.client, dynamotest.Interceptor{
		Call: dynamotest.PassThrough,
		OnQuery: func(q *dynamodb.QueryInput, out *dynamodb.QueryOutput) {
			out.Items = slices.DeleteFunc(out.Items, func(it map[string]types.AttributeValue) bool {
				return q.IndexName != nil && text(it["content"]) == "one"
			})
		},
	})
	db := open(lagging, a.table, dynamotest.FixedClock(), adopt.WithInitialStage(migration.Dual))
	session.want = append(session.want, "one")
	check.Same(t, session.want, session.read(t, db), "read")
	check.Got(adopt.Move(t.Context(), db, session.user, "c", migration.InBoth))(t)
	check.Equal(t, len(session.want), arrayLength(t, a), "entries of the array")
	check.Equal(t, len(session.want), counted(t, a), "messages that the session counts")
}

// TestAppWritesWhileTheJobMoves has an app put an old record while the job, which has compared the session with its
// array, moves it. The job compares them again.
func TestAppWritesWhileTheJobMoves(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	session := a.newArraySession(t, "u", 3, 1, migration.InBoth)
	before := a.get(t, "user#u", arraySK)
	in := dynamotest.OneMessage("c", "one")
	check.Got(dynamotest.StoresOf(a.db).Messages.Append(t.Context(), session.user, in))(t)
	var once sync.Once
	db := a.inStage(t, migration.Shared, func(op string, run func() error) error {
		if op == dynamotest.Transact {
			once.Do(func() { a.put(t, before) })
		}
		return run()
	})
	check.Got(adopt.Move(t.Context(), db, session.user, "c", migration.InStore))(t)
	check.Same(t, append(session.want, "one"), session.read(t, db), "read")
	check.Equal(t, 4, counted(t, a), "messages that the session counts")
}
