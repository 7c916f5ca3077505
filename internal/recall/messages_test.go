package recall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

type preferences = longterm.Preferences

func defaults() longterm.Preferences { return longterm.DefaultPreferences() }

const (
	bridges = "Let us swap barbell hip thrusts for banded glute bridges, my gym has no bench."
	peanuts = "I am allergic to peanuts, so no peanut butter in the snacks."
	sister  = "My sister Rosa visits me on Sunday and we go hiking."
	squats  = "Squats felt heavy yesterday, 100 kg for five."
)

// story has messages of one user in three contexts, and of another user.
func story(t *testing.T) *fixture {
	s := newFixture(t)
	s.addIndexed("ann", "program_designer", "design", 26*time.Hour, bridges, "Done, bridges it is.")
	s.addIndexed("ann", "coach_conversation", "chat", 2*time.Hour, peanuts, "Noted, none of those.", sister)
	s.addIndexed("ann", "workout_log", "log", time.Hour, squats)
	s.addIndexed("bob", "coach_conversation", "bobs", time.Hour,
		"My glute bridges and peanuts are nobody's business, Rosa.")
	return s
}

func TestMessagesFindsByMeaning(t *testing.T) {
	t.Parallel()
	s := story(t)
	for query, want := range map[string]string{
		"What did we replace the hip thrusts with?": bridges,
		"peanut allergy":             peanuts,
		"who comes to visit Sunday?": sister,
		"how heavy were the squats":  squats,
	} {
		got := s.recall("ann", recall.MessageQuery{Query: query, Limit: new(1)})
		if diff := cmp.Diff([]string{want}, contents(got)); diff != "" || len(got.Degraded) > 0 {
			t.Errorf("%s: degraded %v (-want +got)\n%s", query, got.Degraded, diff)
		}
	}
}

// TestExactTextsComeFirst queries for messages that consist of common words.
func TestExactTextsComeFirst(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	said := []string{"To be or not to be", "What is it?", "It was what it was."}
	others := []string{"Is it what it is?", "Who are you to me?", "So it was.", "🙂🎉", "!!!"}
	for i, text := range slices.Concat(said, others) {
		s.addIndexed("ann", "coach_conversation", fmt.Sprint("s", i), time.Hour, text)
	}
	for _, text := range said {
		got := contents(s.recall("ann", recall.MessageQuery{Query: " " + strings.ToUpper(text), Limit: new(1)}))
		check.Same(t, []string{text}, got, "%q brings", text)
	}
	// What has no word has no vector.
	if got := contents(s.recall("ann", recall.MessageQuery{Query: "🙂🎉", Limit: new(9)})); slices.Contains(got, "🙂🎉") {
		t.Errorf("a message without a word is found: %q", got)
	}
}

// TestAnAnswerIsFoundNextToItsQuestion has an answer that shares no word with the query, among messages that do.
func TestAnAnswerIsFoundNextToItsQuestion(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for i, text := range []string{"My blue shoes are worn out.", "The kettlebell class was full.", "I bought a new mat."} {
		s.addIndexed("ann", "coach_conversation", fmt.Sprint("a", i), 3*time.Hour, text)
	}
	s.addIndexed("ann", "workout_log", "b", time.Hour,
		"Where did you find that blue kettlebell?", "At the market in Porto.", "It was raining.")
	got := contents(s.recall("ann", recall.MessageQuery{Query: "Where was the blue kettlebell bought?", Limit: new(2)}))
	if !slices.Contains(got, "At the market in Porto.") {
		t.Errorf("found %q without the answer", got)
	}
}

func TestMessagesWithinLimits(t *testing.T) {
	t.Parallel()
	s := story(t)
	everything := []string{bridges, "Done, bridges it is.", peanuts, "Noted, none of those.", sister, squats}
	for name, tt := range map[string]struct {
		q    recall.MessageQuery
		want []string
	}{
		"nothing limited": {recall.MessageQuery{}, everything},
		"contexts": {
			recall.MessageQuery{Contexts: []string{"workout_log", "program_designer"}}, append(everything[:2:2], squats),
		},
		"excluded session": {recall.MessageQuery{ExcludeSessionID: "chat"}, append(everything[:2:2], squats)},
		"from":             {recall.MessageQuery{From: s.now.Add(-2 * time.Hour)}, []string{sister, squats}},
		"to":               {recall.MessageQuery{To: s.now.Add(-26 * time.Hour)}, []string{bridges}},
		"no time": {
			recall.MessageQuery{From: s.now.Add(-30 * time.Hour), To: s.now.Add(-30 * time.Hour)}, []string{},
		},
		"own session besides": {recall.MessageQuery{SessionID: "chat"}, everything},
	} {
		t.Run(name, func(t *testing.T) {
			tt.q.Query = "Rosa, glute bridges, peanuts, squats, hiking"
			got := s.recall("ann", tt.q)
			check.Same(t, sorted(tt.want), sorted(contents(got)), "the result")
			for i := 1; i < len(got.Records); i++ {
				if got.Records[i].Score > got.Records[i-1].Score {
					t.Errorf("%q comes after a worse one", got.Records[i].Message.Content)
				}
			}
		})
	}
}

func TestCheckInNotesAreRecalledAsMessages(t *testing.T) {
	t.Parallel()
	s := story(t)
	note := s.checkIn("ann", longterm.CheckIn{
		Timestamp: s.now.Add(-time.Hour), Note: "Slept badly, the neighbour's dog barked.", Tokens: 9,
	})
	s.checkIn("bob", longterm.CheckIn{Timestamp: s.now, Note: "A dog barked at me too."})
	want := conversation.Message{
		ID: note.ID, Context: "check_in", Role: conversation.RoleUser, Content: note.Note, Tokens: 9,
		Timestamp: note.Timestamp,
	}
	query := recall.MessageQuery{Query: "the dog barked all night", Limit: new(1)}
	for name, prefer := range map[string]func(*preferences){
		"defaults":        func(*preferences) {},
		"no sharing":      func(p *preferences) { p.CrossContext = false },
		"nothing unasked": func(p *preferences) { p.Memory = false },
	} {
		s.prefer("ann", prefer)
		got := s.recall("ann", query)
		if len(got.Records) != 1 {
			t.Fatalf("%s: found %v", name, contents(got))
		}
		check.Same(t, want, *got.Records[0].Message, "%s", name)
	}
	query.Limit, query.Contexts = nil, conversation.Contexts()
	if got := contents(s.recall("ann", query)); slices.Contains(got, note.Note) {
		t.Errorf("limited to contexts, the note came: %v", got)
	}
	query.Contexts, query.From = nil, s.now
	if got := contents(s.recall("ann", query)); slices.Contains(got, note.Note) {
		t.Errorf("from later on, the note came: %v", got)
	}
}

// TestMessagesHideSecrets has secrets in two sessions and in a check-in. Who asks from a session gets its own ones, and
// others in their place. Who asks from outside gets all.
func TestMessagesHideSecrets(t *testing.T) {
	t.Parallel()
	const own, other, note, plain = "My bank account: GB82 WEST 1234 5698 7654 32.",
		"The bank account of my firm is DE89 3704 0044 0532 0130 00.", "Opened the bank account AT61 1904 3002 3457 3201.",
		"Which bank account is the cheapest?"
	s := newFixture(t)
	s.addIndexed("ann", "coach_conversation", "here", 2*time.Hour, own)
	s.addIndexed("ann", "coach_conversation", "there", 3*time.Hour, other, plain)
	s.checkIn("ann", longterm.CheckIn{Timestamp: s.now.Add(-time.Hour), Note: note, Tokens: 9})
	for session, want := range map[string][]string{"here": {own, plain}, "there": {other, plain}} {
		got := s.recall("ann", recall.MessageQuery{Query: "bank account", SessionID: session, Limit: new(2)})
		check.Same(t, sorted(want), sorted(contents(got)), "%s", session)
	}
	all := contents(s.recall("ann", recall.MessageQuery{Query: "bank account"}))
	check.Same(t, sorted([]string{own, other, note, plain}), sorted(all), "from outside")
}

func TestMessagesFitTheBudget(t *testing.T) {
	t.Parallel()
	s := story(t)
	query := recall.MessageQuery{Query: "glute bridges", Tokens: new((len(bridges) + len("Done, bridges it is.")) / 4)}
	got := s.recall("ann", query)
	used := 0
	for _, m := range got.Records {
		used += m.Message.Tokens
	}
	if used > *query.Tokens || len(got.Records) < 2 {
		t.Errorf("%d tokens of %d in %d messages: %v", used, *query.Tokens, len(got.Records), contents(got))
	}
	query.Tokens = new(6) // the best one does not fit; a shorter one does
	if got := contents(s.recall("ann", query)); len(got) != 1 || got[0] == bridges {
		t.Errorf("a budget of 6 tokens brought %v", got)
	}
}

func TestMessagesFollowPreferences(t *testing.T) {
	t.Parallel()
	s := story(t)
	ask := func(session string) []string {
		q := recall.MessageQuery{Query: "Rosa, bridges, peanuts, squats", SessionID: session}
		return sorted(contents(s.recall("ann", q)))
	}
	s.prefer("ann", func(p *preferences) { p.Unshared = map[string]bool{"program_designer": true} })
	check.Same(t, sorted([]string{peanuts, "Noted, none of those.", sister, squats}), ask("chat"),
		"the designer is not shared, the coach sees")
	check.Same(t, sorted([]string{bridges, "Done, bridges it is."}), ask("design"), "the designer sees")
	check.Same(t, sorted([]string{peanuts, "Noted, none of those.", sister, squats}), ask(""),
		"from outside every session there is")
	s.prefer("ann", func(p *preferences) { p.CrossContext = false })
	check.Same(t, []string{squats}, ask("log"), "without sharing the log sees")
	if got := ask(""); len(got) != 0 {
		t.Errorf("without sharing and without a session there is %v", got)
	}
	s.prefer("ann", func(*preferences) {})
	if got := ask("log"); len(got) != 6 {
		t.Errorf("switching back restores %d of 6 messages", len(got))
	}
}

// TestOnlyRecordsOfTheTableAreReturned indexes a message that the table does not have.
func TestOnlyRecordsOfTheTableAreReturned(t *testing.T) {
	t.Parallel()
	s := story(t)
	ghost := conversation.Message{
		ID: "msg_ann_1700000000_00abcdefghij", SessionID: "chat", Context: "coach_conversation", Content: bridges,
		Timestamp: s.now,
	}
	check.OK(t, s.indexer.IndexMessages(t.Context(), "ann", 0, []conversation.Message{ghost}))
	for _, m := range s.recall("ann", recall.MessageQuery{Query: bridges}).Records {
		if m.Message.ID == ghost.ID || strings.Contains(m.Message.Content, "nobody's business") {
			t.Errorf("recall has %+v", m.Message)
		}
	}
}

// TestForgottenMessagesAreNotFound forgets the message that a query finds, before the sweep has deleted its vector.
func TestForgottenMessagesAreNotFound(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.addIndexed("ann", "coach_conversation", "a", time.Hour, "I was in prison for a year")
	s.addIndexed("ann", "coach_conversation", "b", time.Hour, "I was in prison, says the film")
	query := recall.MessageQuery{Query: "Was I in prison for a year?"}
	found := s.recall("ann", query).Records
	if len(found) != 2 {
		t.Fatalf("%d messages are found", len(found))
	}
	check.Got(s.store.Deletion.ForgetMessage(t.Context(), "ann", found[0].Message.ID))(t)
	if again := s.recall("ann", query).Records; len(again) != 1 || again[0].Message.ID != found[1].Message.ID {
		t.Errorf("found after it was forgotten: %+v", again)
	}
}

// TestMessagesOutsideOfTheIndex appends a message that the app keeps out of the index. It has no vector, and no search
// finds it, also while the index does not answer.
func TestMessagesOutsideOfTheIndex(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.addIndexed("ann", "coach_conversation", "a", time.Hour, "The code of the door is 1234")
	appended := check.Got(s.store.Messages.Append(t.Context(), "ann", conversation.Append{
		SessionID: "a", Messages: []conversation.NewMessage{{
			Role: conversation.RoleUser, Content: "The code of the safe is 5678", NoIndex: true, Tokens: 8,
		}},
	}))(t)
	check.OK(t, s.indexer.IndexMessages(t.Context(), "ann", 0, appended.Messages))
	query := recall.MessageQuery{Query: "What is the code of the safe?"}
	check := func() {
		t.Helper()
		for _, m := range s.recall("ann", query).Records {
			if m.Message.ID == appended.Messages[0].ID {
				t.Errorf("found %+v", m.Message)
			}
		}
	}
	check()
	matches, err := s.index.Index.Query(t.Context(), "ann", 0, s.index.queries[0])
	if err != nil || len(matches) != 1 {
		t.Errorf("the index has %+v, %v", matches, err)
	}
	s.index.fault = func(context.Context) error { return errors.New("down") }
	check()
	if len(s.recall("ann", query).Records) != 1 {
		t.Error("the other message is not found")
	}
}

func TestLongMessagesAreOneHit(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	long := strings.Repeat("The warm-up goes on and on. ", 600) + "The secret word is aubergine." +
		strings.Repeat(" And on.", 900)
	stored := s.addIndexed("ann", "coach_conversation", "chat", time.Hour, long, "ok")
	parts := indexing.MessageVectorIDs(stored[0])
	if len(parts) < 4 || parts[0] != stored[0].ID || parts[2] != stored[0].ID+"#2" {
		t.Fatalf("parts %v", parts)
	}
	got := s.recall("ann", recall.MessageQuery{Query: "what is the secret word, aubergine?"})
	if len(got.Records) == 0 || got.Records[0].Message.ID != stored[0].ID || got.Records[0].Message.Content != long {
		t.Fatalf("found %d messages, the long one is not the first", len(got.Records))
	}
	for _, m := range got.Records[1:] {
		if m.Message.ID == stored[0].ID {
			t.Error("the long message was found twice")
		}
	}
}

// TestMessagesDegrade covers every way in which the embedding and the index can fail. The newest messages are ranked by
// their words, and the answer says why.
func TestMessagesDegrade(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	down := func(context.Context) error { return errors.New("connection refused by 10.1.2.3") }
	busy := func(context.Context) error { return fault.New(fault.RateLimited, "quota of org-x") }
	for name, tt := range map[string]struct {
		embed, index func(ctx context.Context) error
		want         string
	}{
		"embedding hangs":   {hang, nil, "embedding: did not answer in time"},
		"embedding is down": {down, nil, "embedding: is not available at the moment"},
		"index hangs":       {nil, hang, "pinecone: did not answer in time"},
		"index is busy":     {nil, busy, "pinecone: is asked too much at the moment"},
	} {
		t.Run(name, func(t *testing.T) {
			s := story(t)
			s.embed.fault, s.index.fault = tt.embed, tt.index
			s.EmbedTimeout, s.IndexTimeout = 50*time.Millisecond, 50*time.Millisecond
			if tt.embed == nil {
				s.EmbedTimeout = 20 * time.Second
			}
			got := s.recall("ann", recall.MessageQuery{Query: "glute bridges instead of thrusts"})
			check.Same(t, []string{tt.want}, sources(got.Degraded), "degraded")
			if found := contents(got); len(found) == 0 || found[0] != bridges {
				t.Errorf("found %v", found)
			}
			s.prefer("ann", func(p *preferences) { p.CrossContext = false })
			if found := contents(s.recall("ann", recall.MessageQuery{Query: "bridges", SessionID: "chat"})); len(found) != 0 {
				t.Errorf("without sharing, found %v", found)
			}
		})
	}
}

func TestMessagesRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	_, err := s.Messages(t.Context(), "ann", recall.MessageQuery{
		Query: " \n", Limit: new(101), Tokens: new(0), Contexts: []string{"workout_log", "kitchen"},
		From: s.now, To: s.now.Add(-1), SessionID: "a b", ExcludeSessionID: "ü",
	})
	var fields []string
	for _, f := range fault.From(err).Fields {
		fields = append(fields, f.Field)
	}
	want := []string{"query", "tokens", "limit", "contexts[1]", "to", "sessionId", "excludeSessionId"}
	if diff := cmp.Diff(want, fields); diff != "" || !fault.Is(err, fault.Invalid) {
		t.Errorf("%v: fields (-want +got)\n%s", err, diff)
	}
	_, err = s.Messages(t.Context(), "ann", recall.MessageQuery{Query: "x", SessionID: "unknown"})
	check.Fault(t, err, fault.NotFound, "a session that is not there")
	if got := s.recall("nobody", recall.MessageQuery{Query: "anything"}); got.Records == nil || got.Degraded == nil {
		t.Errorf("an empty answer has null lists: %+v", got)
	}
}
