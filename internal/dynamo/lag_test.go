package dynamo_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// indexLag makes the indexes follow the table late and piece by piece. They lack some records, and still show others
// that the table no longer has.
type indexLag struct {
	mu sync.Mutex
	// isHidden reports whether the indexes lack the record with a sort key. It may be nil.
	isHidden func(sk string) bool
	// stale are messages that the index by source still shows.
	stale []map[string]types.AttributeValue
}

func (l *indexLag) query(in *dynamodb.QueryInput, out *dynamodb.QueryOutput) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.IndexName == nil {
		return
	}
	sk := func(it map[string]types.AttributeValue) string { return it["sk"].(*types.AttributeValueMemberS).Value }
	if l.isHidden != nil {
		out.Items = slices.DeleteFunc(out.Items, func(it map[string]types.AttributeValue) bool {
			return l.isHidden(sk(it))
		})
	}
	if aws.ToString(in.IndexName) != table.BySource {
		return
	}
	out.Items = append(out.Items, l.stale...)
	slices.SortStableFunc(out.Items, func(a, b map[string]types.AttributeValue) int {
		if aws.ToBool(in.ScanIndexForward) {
			return strings.Compare(sk(a), sk(b))
		}
		return strings.Compare(sk(b), sk(a))
	})
}

// keepStale makes the index by source show for ever what it shows of a session now.
func (l *indexLag) keepStale(t *testing.T, name, source string) {
	t.Helper()
	out := check.Got(dynamodbtest.Client(t).Query(t.Context(), &dynamodb.QueryInput{
		TableName: &name, IndexName: aws.String(table.BySource), KeyConditionExpression: aws.String("sourceId = :s"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":s": &types.AttributeValueMemberS{Value: source}},
	}))(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = out.Items
}

// TestReadsUnderLag draws which messages of a session the index shows, and reads the session in every way. Each read
// is complete, in order, and has no message of another session.
func TestReadsUnderLag(t *testing.T) {
	t.Parallel()
	name := dynamotest.Table(t)
	var l indexLag
	s := dynamotest.OpenIntercepted(t, name, dynamotest.Interceptor{Call: dynamotest.PassThrough, OnQuery: l.query},
		dynamotest.FixedClock())
	const n = 12
	dynamotest.NewSession(t, s, alice, "coach_conversation", "s")
	dynamotest.NewSession(t, s, alice, "workout_log", "other")
	var messages []conversation.Message
	for i := range n {
		for _, id := range []string{"other", "s"} {
			in := dynamotest.OneMessage(id, fmt.Sprint(i))
			in.Messages[0].Timestamp = start.Add(time.Duration(i-n) * time.Second)
			a := check.Got(s.Messages.Append(t.Context(), alice, in))(t)
			if id == "s" {
				messages = append(messages, a.Messages[0])
			}
		}
	}
	seq := func(m conversation.Message) int { return m.Seq }
	rapid.Check(t, func(rt *rapid.T) {
		hidden := map[string]bool{}
		for _, m := range rapid.SliceOfDistinct(rapid.SampledFrom(messages), seq).Draw(rt, "hidden") {
			sk, _ := table.ParseMessageID(alice, m.ID)
			hidden[sk] = true
		}
		l.mu.Lock()
		l.isHidden = func(sk string) bool { return hidden[sk] }
		l.mu.Unlock()
		session := check.Got(s.Sessions.Session(t.Context(), alice, "s"))(rt)
		page := conversation.Page{Limit: rapid.IntRange(1, n+3).Draw(rt, "limit")}
		page.Descending = rapid.Bool().Draw(rt, "descending")
		all := check.Got(readMessages(t, s, "s", page))(rt)
		if page.Descending {
			slices.Reverse(all)
		}
		checkSequence(rt, "pages", all, 1, n)
		k := rapid.IntRange(1, n).Draw(rt, "tail")
		tail := check.Got(s.PromptSource.MessagesBefore(t.Context(), alice, session, conversation.Message{}, k))(rt)
		checkSequence(rt, "tail", tail, n-k+1, n)
		after := check.Got(s.Summaries.MessagesAfter(t.Context(), alice, session, conversation.Watermark{Seq: n - k}, 7))(rt)
		checkSequence(rt, "after", after, n-k+1, min(n, n-k+7))
	})
}

// TestForgottenUnderLag forgets a message that the index still shows as it was. Whoever reads the session has the mark.
func TestForgottenUnderLag(t *testing.T) {
	t.Parallel()
	name := dynamotest.Table(t)
	var l indexLag
	s := dynamotest.OpenIntercepted(t, name, dynamotest.Interceptor{Call: dynamotest.PassThrough, OnQuery: l.query},
		dynamotest.FixedClock())
	dynamotest.NewSession(t, s, alice, "coach_conversation", "s")
	a, err := s.Messages.Append(t.Context(), alice, dynamotest.OneMessage("s", "My PIN is 4711"))
	check.OK(t, err)
	sk, _ := table.SessionSK("coach_conversation", "s")
	l.keepStale(t, name, table.SourceID(alice, sk))
	l.isHidden = func(string) bool { return true }
	_, err = s.Deletion.ForgetMessage(t.Context(), alice, a.Messages[0].ID)
	check.OK(t, err)
	session, err := s.Sessions.Session(t.Context(), alice, "s")
	check.OK(t, err)
	after, err := s.Summaries.MessagesAfter(t.Context(), alice, session, conversation.Watermark{}, 7)
	if err != nil || len(after) != 1 || !after[0].Forgotten {
		t.Errorf("read %+v, %v", after, err)
	}
}

func readMessages(
	t *testing.T, s dynamotest.Stores, id string, page conversation.Page,
) ([]conversation.Message, error) {
	var all []conversation.Message
	for {
		some, next, err := s.Messages.Messages(t.Context(), alice, id, page)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if page.After = next; next == "" {
			return all, nil
		}
	}
}

// checkSequence checks that the messages are those from first to last.
func checkSequence(rt *rapid.T, name string, messages []conversation.Message, first, last int) {
	if len(messages) != last-first+1 {
		rt.Fatalf("%s: %d messages, want %d to %d", name, len(messages), first, last)
	}
	for i, m := range messages {
		if m.Seq != first+i || m.SessionID != "s" {
			rt.Fatalf("%s: message %d is %d of %s", name, first+i, m.Seq, m.SessionID)
		}
	}
}

// TestDeletedMessagesDoNotReappear reads a session while the index still shows its deleted messages, and a new session
// with the id of a deleted one.
func TestDeletedMessagesDoNotReappear(t *testing.T) {
	t.Parallel()
	clk := dynamotest.NewClock()
	name := dynamotest.Table(t)
	var l indexLag
	s := dynamotest.OpenIntercepted(t, name, dynamotest.Interceptor{Call: dynamotest.PassThrough, OnQuery: l.query},
		clk.Option())
	dynamotest.NewSession(t, s, alice, "coach_conversation", "s", "1", "2", "3", "4", "5")
	l.keepStale(t, name, string(alice)+"#conversation#s")
	messages := check.Got(readMessages(t, s, "s", conversation.Page{Limit: 50}))(t)
	for _, i := range []int{1, 2, 4} {
		check.Got(s.Deletion.DeleteMessage(t.Context(), alice, messages[i], nil, start))(t)
	}
	for _, limit := range []int{1, 2, 50} {
		for _, descending := range []bool{false, true} {
			got, err := readMessages(t, s, "s", conversation.Page{Limit: limit, Descending: descending})
			if descending {
				slices.Reverse(got)
			}
			if err != nil || len(got) != 2 || got[0].Seq != 1 || got[1].Seq != 4 {
				t.Errorf("by %d, descending %v: %v, %v", limit, descending, got, err)
			}
		}
	}
	g := check.Got(s.Deletion.DeleteSession(t.Context(), alice, "s", start))(t)
	left, _, err := s.Deletion.RemainingMessages(t.Context(), g, conversation.Page{Limit: 50})
	if err != nil || len(left) != 2 {
		t.Fatalf("%d messages are left to delete, %v", len(left), err)
	}
	check.OK(t, s.Deletion.DeleteMessages(t.Context(), alice, left))
	clk.Advance(time.Millisecond)
	session := dynamotest.NewSession(t, s, alice, "coach_conversation", "s", "new")
	got, err := readMessages(t, s, "s", conversation.Page{Limit: 50})
	if err != nil || len(got) != 1 || got[0].Content != "new" {
		t.Errorf("the new session has %v, %v", got, err)
	}
	tail, err := s.PromptSource.MessagesBefore(t.Context(), alice, session, conversation.Message{}, 9)
	if err != nil || len(tail) != 1 {
		t.Errorf("its tail is %v, %v", tail, err)
	}
}

// TestPagesOfSessionsUnderLag reads pages of sessions while sessions are created and the index shows more and more of
// them. Each session that existed before the first page is listed once, in the order of activity.
func TestPagesOfSessionsUnderLag(tt *testing.T) {
	tt.Parallel()
	name := dynamotest.Table(tt)
	users := 0
	rapid.Check(tt, func(t *rapid.T) {
		users++
		user := conversation.UserID(fmt.Sprint("u", users))
		clk, shown := dynamotest.NewClock(), map[string]bool{}
		l := indexLag{isHidden: func(sk string) bool { return !shown[sk[strings.LastIndexByte(sk, '#')+1:]] }}
		s := dynamotest.OpenIntercepted(tt, name, dynamotest.Interceptor{Call: dynamotest.PassThrough, OnQuery: l.query},
			clk.Option())
		var ids []string
		create := func() {
			id := fmt.Sprint("s", len(ids))
			in := conversation.NewSession{ID: id, Context: "workout_log", CoachID: "c"}
			check.Got(s.Sessions.CreateSession(t.Context(), user, in, noKey))(t)
			ids = append(ids, id)
		}
		// The index shows each session sooner or later, at the latest before the session's mark expires.
		update := func() {
			for i, id := range ids {
				if rapid.IntRange(0, 3).Draw(t, "update") == 0 || i < len(ids)-12 {
					shown[id] = true
				}
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "sessions") {
			create()
			clk.Advance(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "pause"))
			update()
		}
		first := len(ids)
		times := map[string]int{}
		var last time.Time
		for page := (conversation.Page{Limit: rapid.IntRange(1, 4).Draw(t, "limit")}); ; {
			sessions, next, err := s.Sessions.Sessions(t.Context(), user, conversation.SessionFilter{}, page)
			check.OK(t, err)
			for _, x := range sessions {
				if times[x.ID]++; !last.IsZero() && x.ListedAt().After(last) {
					t.Fatalf("%s of %v is listed after one of %v", x.ID, x.ListedAt(), last)
				}
				last = x.ListedAt()
			}
			if page.After = next; next == "" {
				break
			}
			if rapid.Bool().Draw(t, "another") {
				create()
			}
			clk.Advance(rapid.SampledFrom([]time.Duration{0, time.Second, 20 * time.Second}).Draw(t, "pause"))
			update()
		}
		for i, id := range ids {
			if n := times[id]; n > 1 || n == 0 && i < first {
				t.Errorf("%s is listed %d times", id, n)
			}
		}
	})
}

// TestPagesOfLongSession checks that each page of a long session takes two calls.
func TestPagesOfLongSession(t *testing.T) {
	t.Parallel()
	name := dynamotest.Table(t)
	var c dynamotest.CallCounter
	s := dynamotest.OpenIntercepted(t, name, dynamotest.Interceptor{Call: c.Call}, dynamotest.FixedClock())
	dynamotest.NewSession(t, s, alice, "coach_conversation", "s")
	for range 8 {
		in := conversation.Append{SessionID: "s"}
		for i := range 50 {
			in.Messages = append(in.Messages, conversation.NewMessage{Role: conversation.RoleUser, Content: fmt.Sprint(i)})
		}
		check.Got(s.Messages.Append(t.Context(), alice, in))(t)
	}
	page, pages := conversation.Page{Limit: 80}, 0
	for {
		c.Take()
		messages, next, err := s.Messages.Messages(t.Context(), alice, "s", page)
		if err != nil || len(messages) != 80 {
			t.Fatalf("page %d: %d messages, %v", pages, len(messages), err)
		}
		check.Same(t, []string{"BatchGetItem", "Query"}, c.Take(), "page %d made the calls", pages)
		pages++
		if page.After = next; next == "" {
			break
		}
	}
	if pages != 5 {
		t.Errorf("%d pages, want 5", pages)
	}
}
