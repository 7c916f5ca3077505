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
	do func(attempt) error
}

// attempt is what a write gets: the stores, a user, and what is stored of that one.
type attempt struct {
	dynamotest.Stores
	stored
	ctx  context.Context
	user conversation.UserID
}

// writes are all that the stores write, by the remote call that they end in.
func writes() map[string]write {
	all := map[string]write{}
	for op, part := range map[string]map[string]func(attempt) error{
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

// ifHeld is an error unless a call holds what it took.
func ifHeld(held bool, err error) error {
	if err == nil && !held {
		return errNotHeld
	}
	return err
}

// ifFirst is an error where a first call is answered as a repeat.
func ifFirst(replayed bool, err error) error {
	if err == nil && replayed {
		return errReplayed
	}
	return err
}

func transactions() map[string]func(attempt) error {
	title, future := "new", start.Add(time.Hour)
	session := conversation.NewSession{ID: "new", Context: "workout_log", CoachID: "c"}
	create := func(key conversation.Idempotency) func(attempt) error {
		return func(w attempt) error {
			created, err := w.Sessions.CreateSession(w.ctx, w.user, session, key)
			return ifFirst(created.Replayed, err)
		}
	}
	return map[string]func(attempt) error{
		"create session":            create(noKey),
		"create session with a key": create(withKey(conversation.Append{}, "create").Idempotency),
		"update session": func(w attempt) error {
			return errorOf(w.Sessions.UpdateSession(w.ctx, w.user, "a", conversation.SessionChange{Title: &title}))
		},
		"append": func(w attempt) error {
			return errorOf(w.Messages.Append(w.ctx, w.user, dynamotest.OneMessage("a", "z")))
		},
		"append with a key": func(w attempt) error {
			out, err := w.Messages.Append(w.ctx, w.user, withKey(dynamotest.OneMessage("a", "z"), "append"))
			return ifFirst(out.Replayed, err)
		},
		"begin turn": func(w attempt) error {
			return errorOf(w.Turns.BeginTurn(w.ctx, w.user, withKey(dynamotest.OneMessage("a", "z"), "begin"), time.Minute))
		},
		"finish turn": func(w attempt) error {
			answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "z"}
			return errorOf(w.Turns.FinishTurn(w.ctx, w.user, w.turn, answer))
		},
		"put profile": func(w attempt) error {
			return errorOf(w.Profiles.Put(w.ctx, w.user, longterm.Profile{Name: "z"}))
		},
		"put coach": func(w attempt) error {
			return errorOf(w.Coaches.PutCoach(w.ctx, w.user, longterm.Coach{ID: "z"}))
		},
		"create goal": func(w attempt) error {
			_, _, err := w.Goals.Create(w.ctx, w.user, longterm.Goal{Status: longterm.GoalActive}, noKey)
			return err
		},
		"create goal with a key": func(w attempt) error {
			key := withKey(conversation.Append{}, "goal").Idempotency
			_, replayed, err := w.Goals.Create(w.ctx, w.user, longterm.Goal{Status: longterm.GoalActive}, key)
			return ifFirst(replayed, err)
		},
		"create check-in": func(w attempt) error {
			_, _, err := w.CheckIns.Create(w.ctx, w.user, longterm.CheckIn{Timestamp: start}, noKey)
			return err
		},
		"create memory": func(w attempt) error {
			_, _, err := w.Memories.Create(w.ctx, w.user, longterm.Memory{Content: "z"}, noKey)
			return err
		},
		"create todo": func(w attempt) error {
			_, _, err := w.Todos.Create(w.ctx, w.user, longterm.Todo{Content: "z", Status: longterm.Pending}, noKey)
			return err
		},
		"update goal": func(w attempt) error {
			return errorOf(w.Goals.Update(w.ctx, w.user, w.goal.ID, func(g *longterm.Goal) error {
				g.Status = longterm.GoalPaused
				return nil
			}))
		},
		"save summary": func(w attempt) error {
			return w.Summaries.SaveSummary(w.ctx, w.user, w.session, summaryOf(w.session, 2))
		},
		"save watermark": func(w attempt) error {
			sum := summaryOf(w.session, 2)
			sum.Text = ""
			return w.Summaries.SaveSummary(w.ctx, w.user, w.session, sum)
		},
		"save prompt": func(w attempt) error {
			w.prompt.ID = "prompt_1738000000001_z"
			return w.Prompts.SavePrompt(w.ctx, w.user, w.prompt)
		},
		"delete message": func(w attempt) error {
			return errorOf(w.Deletion.DeleteMessage(w.ctx, w.user, w.messages[0], nil, future))
		},
		"truncate": func(w attempt) error {
			last := 1
			in := conversation.Truncation{SessionID: "a", LastN: &last, Replacement: dynamotest.OneMessage("a", "z").Messages}
			out, tombstone, err := w.Deletion.Truncate(w.ctx, w.user, in, indexing.MessageVectorIDs, start)
			return ifHeld(len(out.Deleted) == 1 && tombstone.ID != "" && !out.Replayed, err)
		},
		"clear session": func(w attempt) error {
			tombstone, err := w.Deletion.ClearSession(w.ctx, w.user, "a", start)
			return ifHeld(tombstone.Session != nil && tombstone.Session.MessageCount == w.session.MessageCount, err)
		},
		"delete session": func(w attempt) error {
			return errorOf(w.Deletion.DeleteSession(w.ctx, w.user, "a", future))
		},
		"save vector tombstone": func(w attempt) error {
			return w.Tombstones.SaveVectorTombstone(w.ctx, erasure.Tombstone{User: w.user, Vectors: []string{"v"}}, future)
		},
		"delete memory": func(w attempt) error {
			return w.Memories.Delete(w.ctx, w.user, w.memory.ID)
		},
		"begin erasure": func(w attempt) error {
			_, held, err := w.Erasures.BeginErasure(w.ctx, w.user, future)
			return ifHeld(held, err)
		},
	}
}

func updates() map[string]func(attempt) error {
	future := start.Add(time.Hour)
	return map[string]func(attempt) error{
		"leave session": func(w attempt) error {
			return w.Sessions.LeaveSession(w.ctx, w.user, "a", future)
		},
		"renew turn": func(w attempt) error {
			return w.Turns.RenewTurn(w.ctx, w.user, w.turn, time.Hour)
		},
		"release turn": func(w attempt) error {
			return w.Turns.ReleaseTurn(w.ctx, w.user, w.turn)
		},
		"take a turn over": func(w attempt) error {
			return errorOf(w.Turns.BeginTurn(w.ctx, w.user, w.lapsed, time.Minute))
		},
		"mark indexed": func(w attempt) error {
			return w.Indexing.MarkIndexed(w.ctx, w.user, w.session, conversation.Watermark{Seq: 2, At: w.messages[1].Timestamp})
		},
		"claim indexing": func(w attempt) error {
			_, ok, err := w.Indexing.ClaimIndexing(w.ctx, w.user, w.session, start, future)
			return ifHeld(ok, err)
		},
		"claim session": func(w attempt) error {
			_, ok, err := w.Summaries.ClaimSession(w.ctx, w.user, w.session, future)
			return ifHeld(ok, err)
		},
		"claim what is due": func(w attempt) error {
			d := sweep.Due{Partition: "user#" + string(w.user), ID: "conversation#a", DueAt: w.session.DueAt}
			c, ok, err := w.Due.Claim(w.ctx, d, future)
			return ifHeld(ok && c.Failures == 1, err)
		},
		"settle session": func(w attempt) error {
			settled, err := w.Summaries.Settle(w.ctx, w.user, w.covered)
			return ifHeld(settled, err)
		},
		"lease a shard": func(w attempt) error {
			shard := sweep.Shard(crc32.ChecksumIEEE([]byte(w.user))) // one that no other test has
			held, err := w.Due.Lease(w.ctx, shard, string(w.user), future)
			return ifHeld(held, err)
		},
		"take an erasure over": func(w attempt) error {
			_, held, err := w.Erasures.BeginErasure(w.ctx, w.erasing, future)
			return ifHeld(held, err)
		},
		"save erasure": func(w attempt) error {
			return w.Erasures.SaveErasure(w.ctx, w.erasing, w.progress, future)
		},
		"delete the text of a prompt": func(w attempt) error {
			return w.Prompts.DeletePrompts(w.ctx, w.user, spanOf("a"))
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

func deletions() map[string]func(attempt) error {
	return map[string]func(attempt) error{
		"delete goal": func(w attempt) error {
			return w.Goals.Delete(w.ctx, w.user, w.goal.ID)
		},
		"delete coach": func(w attempt) error {
			return w.Coaches.DeleteCoach(w.ctx, w.user, "c")
		},
		"end erasure": func(w attempt) error {
			done := w.progress
			done.Done = true
			return w.Erasures.SaveErasure(w.ctx, w.erasing, done, start.Add(time.Hour))
		},
		"erase records": func(w attempt) error {
			done, err := w.Erasures.EraseRecords(w.ctx, w.erasing, w.progress.Generation, start.Add(time.Minute),
				func(string, int) {})
			return ifHeld(done, err)
		},
	}
}

func batches() map[string]func(attempt) error {
	return map[string]func(attempt) error{
		"delete messages": func(w attempt) error {
			return w.Deletion.DeleteMessages(w.ctx, w.user, w.messages)
		},
		"delete prompts": func(w attempt) error {
			return w.Prompts.DeletePrompts(w.ctx, w.user, spanOf("b"))
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
	history history
}

func newWriting(t *testing.T) writing {
	t.Helper()
	w := writing{table: dynamotest.Table(t)}
	w.before = store(t, dynamotest.Open(t, w.table, dynamotest.FixedClock()), firstUser)
	w.history = historyOf(t, w.table, firstUser)
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
		w.history.giveTo(t, w.table, user)
		f = w.before.of(user)
	}
	connection := &wire{op: do.op, script: script}
	stores := openWired(t, w.table, connection, dynamotest.FixedClock())
	if err := do.do(attempt{stores, f, t.Context(), user}); err != nil {
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
