package erasure_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// forget stores that the user asks to forget a memory, as the extraction of the session's last message does.
func (s *fixture) forget(sessionID string, fact longterm.Memory) {
	s.t.Helper()
	ctx := s.t.Context()
	session, access, err := s.store.Extraction.Open(ctx, ann, "coach_conversation", sessionID)
	check.OK(s.t, err)
	lease := extraction.Lease{Owner: "o", Until: s.Time().Add(time.Minute)}
	if held, err := s.store.Extraction.LeaseExtraction(ctx, ann, session, lease); !held || err != nil {
		s.t.Fatal(held, err)
	}
	known, err := s.store.Extraction.Known(ctx, ann, access.Generation, true)
	check.OK(s.t, err)
	b := extraction.Batch{
		Lease: lease, Last: true, Through: conversation.Watermark{Seq: session.LastSeq}, Known: known,
	}
	if fact.ID == "" {
		b.ForgottenMessages = fact.MessageIDs
	} else {
		b.Forgotten = []longterm.Memory{fact}
	}
	if deleted, err := s.store.Extraction.SaveExtraction(ctx, ann, session, b); len(deleted) > 0 || err != nil {
		s.t.Fatal(deleted, err)
	}
}

// forgetAtOnce forgets a memory as the tool of the chat does. Another writer changes it meanwhile.
func (s *fixture) forgetAtOnce(fact longterm.Memory, asked string) {
	s.t.Helper()
	ctx, round := s.t.Context(), 0
	n, err := s.store.Extraction.(chat.Forgetter).Forget(ctx, ann, asked, func(valid []longterm.Memory) []longterm.Memory {
		if round++; round == 1 {
			change := func(m *longterm.Memory) error { m.Confidence = 0.7; return nil }
			if _, err := s.store.Memories.Update(ctx, ann, fact.ID, change); err != nil {
				s.t.Error(err)
			}
		}
		return slices.DeleteFunc(valid, func(m longterm.Memory) bool { return m.ID != fact.ID })
	})
	if n != 1 || err != nil || round < 2 {
		s.t.Fatalf("%d are forgotten after %d rounds, %v", n, round, err)
	}
}

// TestForget has the user ask to forget a fact that was said in another session. Both messages stay in their
// conversations, and leave the summaries, the index and the stored prompts: at once, and five minutes later again, when
// a late worker has indexed what it had read before. No summary of such a worker is stored.
func TestForget(t *testing.T) {
	for name, forget := range map[string]func(s *fixture, sessionID string, fact longterm.Memory, asked string){
		"by extraction": func(s *fixture, sessionID string, fact longterm.Memory, asked string) {
			fact.MessageIDs = append(fact.MessageIDs, asked)
			s.forget(sessionID, fact)
		},
		"by the chat's tool": func(s *fixture, _ string, fact longterm.Memory, asked string) {
			s.forgetAtOnce(fact, asked)
		},
	} {
		t.Run(name, func(t *testing.T) { testForget(t, forget) })
	}
}

func testForget(t *testing.T, forget func(s *fixture, sessionID string, fact longterm.Memory, asked string)) {
	t.Helper()
	s := newFixture(t)
	said := s.addMessages(ann, "old", "hello", "I was in prison", "and what follows")
	s.summarize(ann, "old")
	asked := s.addMessages(ann, "new", "Forget that I was in prison")
	s.summarize(ann, "new")
	s.savePrompt("old")
	fact := s.remember(longterm.Extracted, said[1])
	read, _ := s.read("old")
	forget(s, "new", fact, asked[0].ID)
	s.Advance(time.Second)
	s.checkForgotten([]bool{false, true, false}, "old")
	s.checkForgotten([]bool{true}, "new")
	want := map[string]bool{said[0].ID: true, said[2].ID: true, fact.ID: true} // the stream's worker deletes the fact's
	check.Same(t, want, s.vectors(ann, 0), "vectors")
	check.Equal(t, 0, count(s.keys(ann), "prompt#"), "prompts quote it")
	check.Fault(t, s.store.Summaries.SaveSummary(t.Context(), ann, read, s.summaryOf(read)), fault.Conflict,
		"a summary of who has read the message before")
	s.Advance(30 * time.Second)
	s.checkForgotten([]bool{false, true, false}, "old")
	sum := s.summarize(ann, "old")
	s.Advance(5 * time.Minute)
	check.Got(s.sweep())(t)
	if session, _ := s.read("old"); session.Summary == nil || !session.Summary.UpdatedAt.Equal(sum.UpdatedAt) {
		t.Errorf("the summary that has not read it is %+v", session.Summary)
	}
	if n, err := s.sweep(); n != 0 || err != nil {
		t.Errorf("%d are due afterwards, %v", n, err)
	}
	check.Equal(t, 1, count(s.keys(ann), "control#forgotten#"), "traces")
}

// checkForgotten sweeps, and checks which messages of a session are forgotten, and that its summary is gone.
func (s *fixture) checkForgotten(want []bool, id string) {
	s.t.Helper()
	if _, err := s.sweep(); err != nil {
		s.t.Fatal(err)
	}
	session, messages := s.read(id)
	var got []bool
	for _, m := range messages {
		got = append(got, m.Forgotten)
	}
	check.Same(s.t, want, got, "%s: forgotten", id)
	if session.Summary != nil || session.Summarized.Seq != 0 || session.DueAt.After(s.Time()) {
		s.t.Errorf("%s: after it was forgotten: %+v", id, session)
	}
}

// say appends lines to a session. Those of the assistant begin with "> ". It returns their ids.
func (s *fixture) say(session string, lines ...string) (ids []string) {
	s.t.Helper()
	s.addMessages(ann, session)
	for _, line := range lines {
		s.Advance(time.Second)
		m := conversation.NewMessage{Role: conversation.RoleUser, Content: line}
		if rest, isAnswer := strings.CutPrefix(line, "> "); isAnswer {
			m.Role, m.Content = conversation.RoleAssistant, rest
		}
		a, err := s.store.Messages.Append(s.t.Context(), ann, conversation.Append{
			SessionID: session, Messages: []conversation.NewMessage{m},
		})
		check.OK(s.t, err)
		ids = append(ids, a.Messages[0].ID)
		s.indexed(ann, 0, indexing.MessageVectorIDs(a.Messages[0])...)
	}
	return ids
}

// TestForgetWhatRepeats forgets by each way: the answers to the messages and what quotes them are gone, in every
// session, and nothing that was said after the wish. The history keeps all.
func TestForgetWhatRepeats(t *testing.T) {
	for name, forget := range map[string]func(s *fixture, said, asked []string){
		"a memory, in words": func(s *fixture, said, asked []string) {
			fact := s.remember(longterm.Extracted, conversation.Message{ID: said[2]})
			fact.MessageIDs = []string{said[2], asked[0]}
			s.forget("new", fact)
		},
		"messages without a memory": func(s *fixture, said, asked []string) {
			s.forget("new", longterm.Memory{MessageIDs: []string{said[2], asked[0]}})
		},
		"a memory, by a call": func(s *fixture, said, _ []string) {
			fact := s.remember(longterm.Extracted, conversation.Message{ID: said[2]})
			memories := erasure.NewMemories(s.store.Memories, s.Service)
			check.OK(s.t, memories.Delete(s.t.Context(), ann, fact.ID))
			s.checkSaid("old", "..FF.", false) // at once, without the sweep
		},
		"a memory that is rejected, by the sweep": func(s *fixture, said, _ []string) {
			fact := s.remember(longterm.Extracted, conversation.Message{ID: said[2]})
			wait := func(m *longterm.Memory) error { m.Status = longterm.Waiting; return nil }
			if _, err := s.store.Memories.Update(s.t.Context(), ann, fact.ID, wait); err != nil {
				s.t.Fatal(err)
			}
			if _, err := s.store.Corrector.Reject(s.t.Context(), ann, fact.ID); err != nil {
				s.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			said := s.say("old", "Hello", "> Hi, what is the number?", "It is 4929 1234 5678 9015", "> Thank you, I have it.",
				"What's next?")
			s.say("other", "Is 9015 the end of it?", "> It ends in 9015.", "How is the weather?", "> Sunny.")
			s.summarize(ann, "old")
			s.summarize(ann, "other")
			asked := s.say("new", "Please forget the card's number")
			s.Advance(time.Second)
			forget(s, said, asked)
			s.Advance(time.Second)
			answer := s.say("new", "> Done: it is gone.", "My new one ends in 9015, note it.", "> Noted: 9015.")
			check.Got(s.sweep())(t)
			s.checkSaid("old", "..FF.", true)
			s.checkSaid("other", "FF..", true)
			if name != "a memory, in words" && name != "messages without a memory" {
				s.checkSaid("new", "....", true)
				return
			}
			s.checkSaid("new", "FF..", true)
			if s.vectors(ann, 0)[answer[0]] {
				t.Error("the answer to the request is in the index")
			}
		})
	}
}

// TestForgetAtOnceLeavesCorrection has the chat's tool forget a fact. What the message that asks for it says besides is
// new, and the fact itself is not.
func TestForgetAtOnceLeavesCorrection(t *testing.T) {
	s := newFixture(t)
	said := s.say("old", "I'm allergic to peanuts.")
	fact, _, err := s.store.Memories.Create(t.Context(), ann, longterm.Memory{
		Type: longterm.ProfileMemory, Source: longterm.Extracted, MessageIDs: said,
		Content: "The user is allergic to peanuts.",
	}, conversation.Idempotency{})
	check.OK(t, err)
	asked := s.say("new", "Forget that I'm allergic to peanuts. I'm mildly allergic to them.")[0]
	_, messages := s.read("new")
	s.Advance(time.Second)
	s.forgetAtOnce(fact, asked)
	known := check.Got(s.store.Extraction.Known(t.Context(), ann, 0, true))(t)
	for content, want := range map[string]bool{
		"The user is mildly allergic to peanuts.": false, "The user has a peanut allergy.": true,
	} {
		m := longterm.Memory{Content: content, SaidAt: messages[0].Timestamp}
		if len(known.Forgotten) != 1 || known.Forgotten[0].Covers(m) != want {
			t.Errorf("%q is covered: %t, by %+v", content, !want, known.Forgotten)
		}
	}
}

// TestForgetLeavesUnrelated forgets a message that shares everyday words and an amount with others of the user.
func TestForgetLeavesUnrelated(t *testing.T) {
	s := newFixture(t)
	said := s.say("old",
		"What do you think about inviting my ex Tom? He earns 3500 euros.", "> Think about what you want.",
		"What do you think about the effect of statins on my muscles? I take atorvastatin 20 mg.", "> Ask your doctor.",
		"My doctor allows 3500 mg of sodium, for my heart.", "> Noted.",
		"Still, I think about inviting my ex Tom.", "> Fine.")
	fact := s.remember(longterm.Extracted, conversation.Message{ID: said[0]})
	check.OK(t, erasure.NewMemories(s.store.Memories, s.Service).Delete(t.Context(), ann, fact.ID))
	s.checkSaid("old", "FF....FF", false)
}

// waysToForget are the ways by which a user forgets a memory: in a message, whose id is asked, or by a call.
var waysToForget = map[string]func(s *fixture, fact longterm.Memory, asked string){
	"in words": func(s *fixture, fact longterm.Memory, asked string) {
		fact.MessageIDs = append(fact.MessageIDs, asked)
		s.forget("new", fact)
	},
	"by a call": func(s *fixture, fact longterm.Memory, _ string) {
		check.OK(s.t, erasure.NewMemories(s.store.Memories, s.Service).Delete(s.t.Context(), ann, fact.ID))
	},
}

// TestForgetRecords forgets a memory in each way: the todos and check-ins that mention it are gone, and no others.
func TestForgetRecords(t *testing.T) {
	for name, forget := range waysToForget {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			ctx := t.Context()
			said := s.say("old", "I live in Quahog.")
			fact, _, err := s.store.Memories.Create(ctx, ann, longterm.Memory{
				Type: longterm.ProfileMemory, Source: longterm.Extracted, Content: "Lives in Quahog", MessageIDs: said,
			}, conversation.Idempotency{})
			check.OK(t, err)
			todo := func(content string, from ...string) {
				if _, _, err := s.store.Todos.Create(ctx, ann, longterm.Todo{
					Content: content, Status: longterm.Pending, MessageIDs: from,
				}, conversation.Idempotency{}); err != nil {
					t.Fatal(err)
				}
			}
			other := s.say("old", "I have to see the dentist.")[0]
			todo("Call the gym there", said...)
			todo("See a dentist", said[0], other)
			todo("Find a gym in quahog")
			todo("Find where Ann lives")
			for _, note := range []string{"Settled in Quahog", "Slept well"} {
				if _, _, err := s.store.CheckIns.Create(ctx, ann, longterm.CheckIn{Note: note},
					conversation.Idempotency{}); err != nil {
					t.Fatal(err)
				}
			}
			asked := s.say("new", "Please forget that I live in Quahog")
			todo("Write to Ann", asked...)
			s.Advance(time.Second)
			forget(s, fact, asked[0])
			s.Advance(time.Second)
			todo("Return the keys in Quahog") // it was stored after the wish
			check.Got(s.sweep())(t)
			page := conversation.Page{Limit: 9}
			todos, _, err := s.store.Todos.List(ctx, ann, page)
			if err != nil || len(todos) != 4 || slices.ContainsFunc(todos, func(t longterm.Todo) bool {
				return strings.Contains(t.Content, "gym")
			}) {
				t.Errorf("the todos are %+v, %v", todos, err)
			}
			checkIns, _, err := s.store.CheckIns.List(ctx, ann, page)
			if err != nil || len(checkIns) != 1 || checkIns[0].Note != "Slept well" {
				t.Errorf("the check-ins are %+v, %v", checkIns, err)
			}
		})
	}
}

// TestForgetLeavesNamesakes forgets who somebody is. The todos about another one of that name stay, and one that says
// who it is goes.
func TestForgetLeavesNamesakes(t *testing.T) {
	s := newFixture(t)
	ctx := t.Context()
	said := s.say("old", "Olga is my boss.", "My daughter Olga has pneumonia.")
	var boss longterm.Memory
	for i, m := range []longterm.Memory{
		{Content: "Olga has pneumonia.", About: "Olga, the user's daughter", MessageIDs: said[1:]},
		{Content: "Olga is the user's boss.", About: "Olga, the user's boss", MessageIDs: said[:1]},
	} {
		m.Type, m.Source = longterm.ProfileMemory, longterm.Extracted
		stored, _, err := s.store.Memories.Create(ctx, ann, m, conversation.Idempotency{})
		check.OK(t, err)
		if i == 1 {
			boss = stored
		}
	}
	want := map[string]bool{}
	for content, stays := range map[string]bool{
		"Fetch Olga from the lung clinic on 2 December": true, "Buy a birthday gift for Olga, the daughter": true,
		"Send the slides to Olga, the boss": false,
	} {
		if _, _, err := s.store.Todos.Create(ctx, ann, longterm.Todo{Content: content, Status: longterm.Pending},
			conversation.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		if stays {
			want[content] = true
		}
	}
	s.Advance(time.Second)
	check.OK(t, erasure.NewMemories(s.store.Memories, s.Service).Delete(ctx, ann, boss.ID))
	s.Advance(time.Minute)
	check.Got(s.sweep())(t)
	todos, _, err := s.store.Todos.List(ctx, ann, conversation.Page{Limit: 9})
	check.OK(t, err)
	got := map[string]bool{}
	for _, todo := range todos {
		got[todo.Content] = true
	}
	check.Same(t, want, got, "todos")
}

// checkSaid checks which lines of a session are forgotten, and that its summary is gone where there was one.
func (s *fixture) checkSaid(id, want string, hasSwept bool) {
	s.t.Helper()
	session, messages := s.read(id)
	got := ""
	for _, m := range messages {
		if m.Forgotten {
			got += "F"
		} else {
			got += "."
		}
	}
	if got != want || session.Summary != nil && hasSwept {
		s.t.Errorf("%s: forgotten are %s, want %s; the summary is %v", id, got, want, session.Summary)
	}
}
