package dynamo_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// write is one of the store's writes. It returns an error unless it succeeds.
type write struct {
	op string // the remote call that writes
	do func(context.Context, dynamotest.Stores, conversation.UserID, stored) error
}

// writes are all that the stores write, by the remote call that they end in.
func writes() map[string]write {
	all := map[string]write{}
	for op, part := range map[string]map[string]func(
		context.Context, dynamotest.Stores, conversation.UserID, stored,
	) error{
		"TransactWriteItems": transactions(), "UpdateItem": updates(), "DeleteItem": deletions(),
		"BatchWriteItem": batches(),
	} {
		for name, do := range part {
			all[name] = write{op, do}
		}
	}
	return all
}

var (
	errNotHeld  = errors.New("the call does not hold what it took")
	errReplayed = errors.New("a first call is answered as a repeat")
)

func transactions() map[string]func(context.Context, dynamotest.Stores, conversation.UserID, stored) error {
	type user = conversation.UserID
	title, future := "new", start.Add(time.Hour)
	session := conversation.NewSession{ID: "new", Context: "workout_log", CoachID: "c"}
	create := func(key conversation.Idempotency) func(context.Context, dynamotest.Stores, user, stored) error {
		return func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			created, err := s.Sessions.CreateSession(ctx, u, session, key)
			if err == nil && created.Replayed {
				return errReplayed
			}
			return err
		}
	}
	return map[string]func(context.Context, dynamotest.Stores, user, stored) error{
		"create session":            create(noKey),
		"create session with a key": create(withKey(conversation.Append{}, "create").Idempotency),
		"update session": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return errorOf(s.Sessions.UpdateSession(ctx, u, "a", conversation.SessionChange{Title: &title}))
		},
		"append": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return errorOf(s.Messages.Append(ctx, u, dynamotest.OneMessage("a", "z")))
		},
		"append with a key": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			out, err := s.Messages.Append(ctx, u, withKey(dynamotest.OneMessage("a", "z"), "append"))
			if err == nil && out.Replayed {
				return errReplayed
			}
			return err
		},
		"begin turn": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return errorOf(s.Turns.BeginTurn(ctx, u, withKey(dynamotest.OneMessage("a", "z"), "begin"), time.Minute))
		},
		"finish turn": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "z"}
			return errorOf(s.Turns.FinishTurn(ctx, u, f.turn, answer))
		},
		"put profile": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return errorOf(s.Profiles.Put(ctx, u, longterm.Profile{Name: "z"}))
		},
		"put coach": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return errorOf(s.Coaches.PutCoach(ctx, u, longterm.Coach{ID: "z"}))
		},
		"create goal": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			_, _, err := s.Goals.Create(ctx, u, longterm.Goal{Status: longterm.GoalActive}, noKey)
			return err
		},
		"create goal with a key": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			key := withKey(conversation.Append{}, "goal").Idempotency
			_, replayed, err := s.Goals.Create(ctx, u, longterm.Goal{Status: longterm.GoalActive}, key)
			if err == nil && replayed {
				return errReplayed
			}
			return err
		},
		"create check-in": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			_, _, err := s.CheckIns.Create(ctx, u, longterm.CheckIn{Timestamp: start}, noKey)
			return err
		},
		"create memory": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			_, _, err := s.Memories.Create(ctx, u, longterm.Memory{Content: "z"}, noKey)
			return err
		},
		"create todo": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			_, _, err := s.Todos.Create(ctx, u, longterm.Todo{Content: "z", Status: longterm.Pending}, noKey)
			return err
		},
		"update goal": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return errorOf(s.Goals.Update(ctx, u, f.goal.ID, func(g *longterm.Goal) error {
				g.Status = longterm.GoalPaused
				return nil
			}))
		},
		"save summary": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.Summaries.SaveSummary(ctx, u, f.session, summaryOf(f.session, 2))
		},
		"save watermark": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			sum := summaryOf(f.session, 2)
			sum.Text = ""
			return s.Summaries.SaveSummary(ctx, u, f.session, sum)
		},
		"save prompt": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			f.prompt.ID = "prompt_1738000000001_z"
			return s.Prompts.SavePrompt(ctx, u, f.prompt)
		},
		"delete message": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return errorOf(s.MessageDeletion.DeleteMessage(ctx, u, f.messages[0], nil, future))
		},
		"truncate": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			last := 1
			in := conversation.Truncation{SessionID: "a", LastN: &last, Replacement: dynamotest.OneMessage("a", "z").Messages}
			out, tombstone, err := s.Cuts.Truncate(ctx, u, in, indexing.MessageVectorIDs, start)
			if err == nil && (len(out.Deleted) != 1 || tombstone.ID == "" || out.Replayed) {
				return errNotHeld
			}
			return err
		},
		"clear session": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			tombstone, err := s.Cuts.ClearSession(ctx, u, "a", start)
			if err == nil && (tombstone.Session == nil || tombstone.Session.MessageCount != f.session.MessageCount) {
				return errNotHeld
			}
			return err
		},
		"delete session": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return errorOf(s.SessionDeletion.DeleteSession(ctx, u, "a", future))
		},
		"save vector tombstone": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return s.Tombstones.SaveVectorTombstone(ctx, erasure.Tombstone{User: u, Vectors: []string{"v"}}, future)
		},
		"delete memory": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.Memories.Delete(ctx, u, f.memory.ID)
		},
		"begin erasure": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			_, held, err := s.Erasures.BeginErasure(ctx, u, future)
			if err == nil && !held {
				return errNotHeld
			}
			return err
		},
	}
}

func updates() map[string]func(context.Context, dynamotest.Stores, conversation.UserID, stored) error {
	type user = conversation.UserID
	future := start.Add(time.Hour)
	return map[string]func(context.Context, dynamotest.Stores, user, stored) error{
		"leave session": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return s.Sessions.LeaveSession(ctx, u, "a", future)
		},
		"renew turn": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.Turns.RenewTurn(ctx, u, f.turn, time.Hour)
		},
		"release turn": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.Turns.ReleaseTurn(ctx, u, f.turn)
		},
		"take a turn over": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return errorOf(s.Turns.BeginTurn(ctx, u, f.lapsed, time.Minute))
		},
		"mark indexed": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.Indexing.MarkIndexed(ctx, u, f.session, conversation.Watermark{Seq: 2, At: f.messages[1].Timestamp})
		},
		"claim indexing": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			_, ok, err := s.Indexing.ClaimIndexing(ctx, u, f.session, start, future)
			if err == nil && !ok {
				return errNotHeld
			}
			return err
		},
		"claim session": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			_, ok, err := s.Summaries.ClaimSession(ctx, u, f.session, future)
			if err == nil && !ok {
				return errNotHeld
			}
			return err
		},
		"claim what is due": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			d := sweep.Due{Partition: "user#" + string(u), ID: "conversation#a", DueAt: f.session.DueAt}
			c, ok, err := s.Due.Claim(ctx, d, future)
			if err == nil && (!ok || c.Failures != 1) {
				return errNotHeld
			}
			return err
		},
		"settle session": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			settled, err := s.Summaries.Settle(ctx, u, f.covered)
			if err == nil && !settled {
				return errNotHeld
			}
			return err
		},
		"lease a shard": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			shard := sweep.Shard(crc32.ChecksumIEEE([]byte(u))) // one that no other test has
			held, err := s.Due.Lease(ctx, shard, string(u), future)
			if err == nil && !held {
				return errNotHeld
			}
			return err
		},
		"take an erasure over": func(ctx context.Context, s dynamotest.Stores, _ user, f stored) error {
			_, held, err := s.Erasures.BeginErasure(ctx, f.erasing, future)
			if err == nil && !held {
				return errNotHeld
			}
			return err
		},
		"save erasure": func(ctx context.Context, s dynamotest.Stores, _ user, f stored) error {
			return s.Erasures.SaveErasure(ctx, f.erasing, f.progress, future)
		},
		"delete the text of a prompt": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.PromptDeletion.DeletePrompts(ctx, u, spanOf("a"))
		},
	}
}

// spanOf is all prompts, those of one session to be deleted.
func spanOf(session string) erasure.PromptSpan {
	return erasure.PromptSpan{
		SessionID: session, From: start.AddDate(-9, 0, 0), To: start.AddDate(1, 0, 0),
		DeletedAt: start,
	}
}

func deletions() map[string]func(context.Context, dynamotest.Stores, conversation.UserID, stored) error {
	type user = conversation.UserID
	return map[string]func(context.Context, dynamotest.Stores, user, stored) error{
		"delete goal": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.Goals.Delete(ctx, u, f.goal.ID)
		},
		"delete coach": func(ctx context.Context, s dynamotest.Stores, u user, _ stored) error {
			return s.Coaches.DeleteCoach(ctx, u, "c")
		},
		"end erasure": func(ctx context.Context, s dynamotest.Stores, _ user, f stored) error {
			done := f.progress
			done.Done = true
			return s.Erasures.SaveErasure(ctx, f.erasing, done, start.Add(time.Hour))
		},
		"erase records": func(ctx context.Context, s dynamotest.Stores, _ user, f stored) error {
			done, err := s.Erasures.EraseRecords(ctx, f.erasing, f.progress.Generation, start.Add(time.Minute),
				func(string, int) {})
			if err == nil && !done {
				return errNotHeld
			}
			return err
		},
	}
}

func batches() map[string]func(context.Context, dynamotest.Stores, conversation.UserID, stored) error {
	type user = conversation.UserID
	return map[string]func(context.Context, dynamotest.Stores, user, stored) error{
		"delete messages": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.SessionDeletion.DeleteMessages(ctx, u, f.messages)
		},
		"delete prompts": func(ctx context.Context, s dynamotest.Stores, u user, f stored) error {
			return s.PromptDeletion.DeletePrompts(ctx, u, spanOf("b"))
		},
	}
}

// answers are what may become of the first attempts of a write, all of which the store has to survive.
func answers(op string) map[string][]exchange {
	conflict := exchange{code: "TransactionConflictException"}
	if op == "TransactWriteItems" {
		conflict = exchange{code: "TransactionCanceledException", reasons: []string{"None", "TransactionConflict"}}
	}
	lost, throttled := exchange{carriedOut: true}, exchange{code: "ThrottlingException"}
	region, down := exchange{code: "ReplicatedWriteConflictException"}, exchange{code: "InternalServerError"}
	all := map[string][]exchange{
		"refused":                             {conflict, throttled, {}, region, conflict, throttled, throttled, throttled},
		"answer lost":                         {lost},
		"answer lost, then a conflict":        {lost, conflict},
		"answer lost, then throttled or down": {lost, throttled, down, {}, throttled},
		"not carried out, then a lost answer": {{}, lost},
	}
	if op == "TransactWriteItems" {
		running := exchange{code: "TransactionInProgressException"}
		mismatch := exchange{code: "IdempotentParameterMismatchException"}
		all["still running"] = slices.Concat([]exchange{lost}, slices.Repeat([]exchange{running}, 12))
		all["another token's parameters"] = []exchange{lost, mismatch}
		all["a failed condition beside a conflict"] = []exchange{{
			code: conflict.code, reasons: []string{"ConditionalCheckFailed", "TransactionConflict"},
		}, {
			code: conflict.code, reasons: []string{"TransactionConflict", "ConditionalCheckFailed"},
		}, {
			code: conflict.code, reasons: []string{"ConditionalCheckFailed", "ThrottlingError"},
		}}
	}
	return all
}

// everyAnswer is set in make soak. Without it, TestWrites gives most writes a twelfth of the answers in turn.
var everyAnswer = flag.Bool("every-answer", false,
	"every answer to every write in TestWrites, and every call at which an append or a move is stopped or late")

// alwaysEvery are the writes of which a second time would show to a user. They get every answer.
var alwaysEvery = []string{"append", "append with a key", "truncate", "clear session", "delete message"}

// TestWrites makes every write, while its first attempts are refused or get no answer. No write fails for what an
// attempt of its own has done or for what passes by itself, and none is carried out twice.
func TestWrites(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	all := writes()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		scripts := answers(all[name].op)
		for k, script := range slices.Sorted(maps.Keys(scripts)) {
			if (k+i)%12 != 0 && !*everyAnswer && !slices.Contains(alwaysEvery, name) {
				continue
			}
			t.Run(name+"/"+script, func(t *testing.T) {
				t.Parallel()
				undisturbed, got := w.kindsAfter(t, all[name], nil), w.kindsAfter(t, all[name], scripts[script])
				if diff := cmp.Diff(undisturbed, got); diff != "" {
					t.Errorf("records by kind (-undisturbed +got):\n%s", diff)
				}
			})
		}
	}
}

// writing is the table of TestWrites, and what each of its users has before a write.
type writing struct {
	table   string
	before  stored
	history dynamotest.History
}

func newWriting(t *testing.T) writing {
	t.Helper()
	w := writing{table: dynamotest.Table(t)}
	w.before = store(t, dynamotest.Open(t, w.table, dynamotest.FixedClock()), firstUser)
	w.history = dynamotest.HistoryOf(t, w.table, firstUser)
	return w
}

// kindsAfter makes a write with a user of its own, and returns how many records of each kind there are then.
func (w writing) kindsAfter(t *testing.T, do write, script []exchange) map[string]int {
	t.Helper()
	user := conversation.UserID(strings.ReplaceAll(fmt.Sprint(t.Name(), len(script)), "#", ""))
	calm := dynamotest.Open(t, w.table, dynamotest.FixedClock())
	users := []conversation.UserID{user}
	var f stored
	switch {
	case strings.Contains(t.Name(), "eras"):
		f.erase(t, calm, user)
		users = append(users, f.erasing)
	case strings.Contains(t.Name(), "settle"):
		f.cover(t, calm, user)
	default:
		w.history.GiveTo(t, w.table, user)
		f = w.before.of(user)
	}
	connection := &wire{op: do.op, script: script}
	if err := do.do(t.Context(), openWired(t, w.table, connection, dynamotest.FixedClock()), user, f); err != nil {
		t.Errorf("after %d of %d scripted answers: %v", connection.done, len(script), err)
	}
	kinds := map[string]int{}
	for _, u := range users {
		for _, sk := range dynamotest.Keys(t, w.table, u) {
			prefix, rest, _ := strings.Cut(sk, "#")
			kind, _, _ := strings.Cut(rest, "#")
			if prefix == "ltm" || prefix == "past" {
				prefix += "#" + kind
			}
			kinds[prefix]++
		}
	}
	return kinds
}
