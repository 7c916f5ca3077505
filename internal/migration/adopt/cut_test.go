package adopt_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestCutsMoveTheSession cuts sessions that nobody has moved yet. In stage shared the call moves them first, as an
// append does. In an earlier stage it is refused, because the array would have to be cut with the store.
func TestCutsMoveTheSession(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	replaces := dynamotest.OneMessage("c", "edited")
	replaces.Replaces = &conversation.Replaces{AfterSeq: &two}
	replaces.Idempotency = conversation.Idempotency{Scope: "turn", Key: "k", BodyHash: "k"}
	for name, cut := range map[string]struct {
		do   func(dynamotest.Stores, conversation.UserID) error
		want []string
	}{
		"clear": {func(s dynamotest.Stores, user conversation.UserID) error {
			_, err := s.Deletion.ClearSession(t.Context(), user, "c", dynamotest.Now)
			return err
		}, nil},
		"truncate": {func(s dynamotest.Stores, user conversation.UserID) error {
			in := conversation.Truncation{SessionID: "c", LastN: &one}
			_, _, err := s.Deletion.Truncate(t.Context(), user, in, indexing.MessageVectorIDs, dynamotest.Now)
			return err
		}, []string{"0 x", "1 x"}},
		"replace": {func(s dynamotest.Stores, user conversation.UserID) error {
			_, err := s.Turns.BeginTurn(t.Context(), user, replaces, time.Minute)
			return err
		}, []string{"0 x", "1 x", "edited"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAppTable(t)
			for user, way := range map[string][]migration.Placement{"array": nil, "both": {migration.InBoth}} {
				s := a.newArraySession(t, user, 3, 1, way...)
				dual := dynamotest.StoresOf(a.inStage(t, migration.Dual, dynamotest.PassThrough))
				if err := cut.do(dual, s.user); !fault.Is(err, fault.Conflict) {
					t.Errorf("%s in stage dual: %v", user, err)
				}
				db := a.inStage(t, migration.Shared, dynamotest.PassThrough)
				check.OK(t, cut.do(dynamotest.StoresOf(db), s.user))
				page, _, err := dynamotest.StoresOf(db).Messages.Messages(t.Context(), s.user, "c", conversation.Page{Limit: 9})
				check.OK(t, err)
				var got []string
				for _, m := range page {
					got = append(got, m.Content)
				}
				check.Same(t, cut.want, got, "%s: wanted (-) and read (+)", user)
			}
		})
	}
}
