package adopt_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestListBesideMoves lists sessions page by page, while they move between two pages and the stage changes. Before the
// stage is shared each session is listed once. After a step back from shared those of one quarter hour may be listed
// again, and none is left out.
func TestListBesideMoves(t *testing.T) {
	t.Parallel()
	moved := newListCase(t).afterMoves(t)
	for name, c := range map[string]struct {
		from, to migration.Stage
		repeats  bool
	}{
		"backfill":         {migration.Dual, migration.Dual, false},
		"forward":          {migration.SharedRead, migration.Shared, false},
		"back":             {migration.Dual, migration.Embedded, false},
		"back from shared": {migration.Shared, migration.SharedRead, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := newListCase(t)
			for limit := 1; limit <= 3; limit++ {
				list.change(t, c.from)
				list.place(t, moved, c.from, 0)
				pages := 0
				got := list.pages(t, limit, func() {
					if pages++; pages == 2 {
						list.change(t, c.to)
					}
					list.place(t, moved, c.to, pages)
				})
				if c.repeats {
					got = slices.Compact(slices.Sorted(slices.Values(got)))
					slices.SortFunc(got, func(a, b string) int { return slices.Index(list.ids, a) - slices.Index(list.ids, b) })
				}
				check.Same(t, list.ids, got, "pages of %d", limit)
			}
		})
	}
}

// placementOf returns one of the placements that a session may have in a stage.
func placementOf(stage migration.Stage, i int) migration.Placement {
	placements := []migration.Placement{migration.InArray, migration.InBoth, migration.InStore}
	switch stage {
	case migration.Shared:
		placements = placements[2:]
	case migration.SharedRead:
		placements = placements[1:]
	}
	return placements[i%len(placements)]
}

// listCase is a user with sessions of the app, some of which were active in the same quarter hour.
type listCase struct {
	*appTable
	clock *dynamotest.Clock
	// ids are the sessions in the order of the list.
	ids []string
	// placed are the placements that place has given them.
	placed map[string]migration.Placement
}

const listUser = conversation.UserID("u")

func newListCase(t *testing.T) *listCase {
	t.Helper()
	l := &listCase{
		appTable: newAppTable(t), clock: dynamotest.NewClock(), placed: map[string]migration.Placement{},
	}
	for i := range 8 {
		id := fmt.Sprint("s", i)
		l.placed[id] = migration.InArray
		at := time.Date(2024, 5, 1, 12-i/3, 1+i, 0, 0, time.UTC)
		entry := map[string]any{"role": "user", "content": id, "ts": conversation.FormatTime(at)}
		r := check.Got(attributevalue.MarshalMap(map[string]any{"attributes": map[string]any{"messages": []any{entry}}}))(t)
		dynamotest.Put(t, l.table, listUser, "conversation#"+id, r)
		l.ids = append(l.ids, id)
	}
	l.clock.Advance(time.Hour) // no session is fresh
	return l
}

func (l *listCase) change(t *testing.T, stage migration.Stage) {
	t.Helper()
	l.setStage(t, stage, l.clock)
	l.clock.Advance(time.Minute)
}

func (l *listCase) move(t *testing.T, id string, to migration.Placement) {
	t.Helper()
	check.Got(adopt.Move(t.Context(), l.db, listUser, id, to))(t)
}

// afterMoves moves the sessions, and returns the records that they have in each placement by their keys.
func (l *listCase) afterMoves(t *testing.T) map[migration.Placement]map[string]appRecord {
	t.Helper()
	records := map[migration.Placement]map[string]appRecord{}
	for _, to := range []migration.Placement{migration.InStore, migration.InBoth, migration.InArray} {
		for _, id := range l.ids {
			l.move(t, id, to)
		}
		records[to] = l.contentsOf(t)
	}
	return records
}

// place writes what moves to the placements of a stage leave, in one call.
func (l *listCase) place(t *testing.T, moved map[migration.Placement]map[string]appRecord, stage migration.Stage,
	shift int,
) {
	t.Helper()
	var writes []types.WriteRequest
	for i, id := range l.ids {
		to := placementOf(stage, i+shift)
		if l.placed[id] == to {
			continue
		}
		l.placed[id] = to
		pk := "user#" + string(listUser)
		for _, sk := range []string{"conversation#" + id, "legacy#conversation#" + id} {
			if r, ok := moved[to][pk+" "+sk]; ok {
				writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: r}})
				continue
			}
			key := appRecord{"pk": str(pk), "sk": str(sk)}
			writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
		}
	}
	if len(writes) == 0 {
		return
	}
	out, err := l.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{l.table: writes},
	})
	if err != nil || len(out.UnprocessedItems) > 0 {
		t.Fatalf("put the records: %v, %d are left", err, len(out.UnprocessedItems))
	}
}

// pages lists the sessions and calls a function between two pages.
func (l *listCase) pages(t *testing.T, limit int, between func()) (ids []string) {
	t.Helper()
	stores := dynamotest.StoresOf(open(dynamodbtest.Client(t), l.table, l.clock.Option()))
	for page := (conversation.Page{Limit: limit}); len(ids) < 3*len(l.ids); {
		sessions, next, err := stores.Sessions.Sessions(t.Context(), listUser, conversation.SessionFilter{}, page)
		check.OK(t, err)
		for _, s := range sessions {
			ids = append(ids, s.ID)
		}
		if page.After = next; next == "" {
			break
		}
		between()
	}
	return ids
}

// TestListOfArrays lists sessions of all contexts, placements and states before the stage is shared: by their activity,
// filtered, and within the bytes of a page, which arrays do not count to.
func TestListOfArrays(t *testing.T) {
	t.Parallel()
	l := newListCase(t)
	l.change(t, migration.Dual)
	l.move(t, "s2", migration.InStore)
	l.move(t, "s3", migration.InBoth)
	stores := dynamotest.StoresOf(open(dynamodbtest.Client(t), l.table, l.clock.Option()))
	dynamotest.NewSession(t, stores, listUser, "program_designer", "p", "hi")
	completed := conversation.Completed
	for _, id := range []string{"s1", "s2"} {
		check.Got(stores.Sessions.UpdateSession(t.Context(), listUser, id,
			conversation.SessionChange{Status: &completed}))(t)
	}
	for filter, want := range map[conversation.SessionFilter][]string{
		{}:                              append([]string{"p"}, l.ids...),
		{Context: "program_designer"}:   {"p"},
		{Context: "workout_log"}:        nil,
		{Status: conversation.Archived}: nil,
		{Status: completed}:             {"s1", "s2"},
	} {
		sessions, next, err := stores.Sessions.Sessions(t.Context(), listUser, filter, conversation.Page{Limit: 50})
		var got []string
		for _, s := range sessions {
			got = append(got, s.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || next != "" {
			t.Errorf("%+v: %v, next %q (-want +got):\n%s", filter, err, next, diff)
		}
	}
	large := newAppTable(t)
	for i := range 4 {
		large.newArraySession(t, "u", 39, 10_000)
		r := large.get(t, "user#u", arraySK)
		r["sk"] = str(fmt.Sprint("conversation#c", i))
		large.put(t, r)
	}
	sessions, next, err := dynamotest.StoresOf(large.db).Sessions.Sessions(t.Context(), listUser,
		conversation.SessionFilter{}, conversation.Page{Limit: 50})
	if err != nil || next != "" || len(sessions) != 5 {
		t.Errorf("%d sessions with large arrays on the page, %q, %v", len(sessions), next, err)
	}
	if len(sessions) > 0 && sessions[0].Attributes != nil {
		t.Errorf("the list shows an array")
	}
}
