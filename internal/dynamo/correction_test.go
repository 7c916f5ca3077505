package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestCorrectionsInterleave draws clients that restore, confirm, reject and delete the memories of one subject, the
// order of their remote calls, and the failures of these. In the end each memory is in one state, no memory holds
// beside the one that took its place, a prompt reads what the list shows, and what was rejected is gone and covered.
func TestCorrectionsInterleave(t *testing.T) {
	t.Parallel()
	table, users := dynamotest.Table(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		w := correctedMemories{t: t, rt: rt, reader: dynamotest.Open(t, table, dynamotest.FixedClock())}
		w.user = conversation.UserID(fmt.Sprint("corrector", users))
		w.setUp()
		correctors := make([]*corrector, rapid.IntRange(1, 3).Draw(rt, "clients"))
		var calls []*remoteCalls
		for i := range correctors {
			c := &corrector{remoteCalls: newRemoteCalls(), acknowledged: map[string]bool{}, ids: w.ids}
			c.steps = rapid.SliceOfN(rapid.SampledFrom([]string{
				"restore oslo", "restore rome", "confirm rome", "confirm rome", "reject rome", "delete rome", "delete oslo",
			}), 1, 3).Draw(rt, "steps")
			correctors[i], calls = c, append(calls, &c.remoteCalls)
			go c.run(t, table, w.user)
		}
		schedule(rt, calls)
		w.check(correctors)
	})
}

// correctedMemories are where a user lives (oslo), and where she was heard to live since (rome, which waits).
type correctedMemories struct {
	t      *testing.T
	rt     *rapid.T
	reader dynamotest.Stores
	user   conversation.UserID
	ids    map[string]string
}

func (w *correctedMemories) setUp() {
	w.ids = map[string]string{}
	create := func(name string, m longterm.Memory) {
		m.Type, m.Source, m.Content = longterm.ProfileMemory, longterm.Extracted, "Lives in "+name
		stored, _, err := w.reader.Memories.Create(w.t.Context(), w.user, m, noKey)
		check.OK(w.t, err)
		w.ids[name] = stored.ID
	}
	create("oslo", longterm.Memory{})
	create("rome", longterm.Memory{Status: longterm.Waiting, Supersedes: []string{w.ids["oslo"]}})
}

func (w *correctedMemories) check(correctors []*corrector) {
	now := dynamotest.Now
	memories, _, err := w.reader.Memories.List(w.t.Context(), w.user, conversation.Page{Limit: 10})
	check.OK(w.t, err)
	snapshot, err := w.reader.PromptSource.LongTerm(w.t.Context(), w.user)
	check.OK(w.t, err)
	found := map[string]longterm.Memory{}
	for _, m := range memories {
		name := m.Content[len("Lives in "):]
		if _, twice := found[name]; twice {
			w.rt.Fatalf("%s is stored twice", name)
		}
		found[name] = m
		inPrompt := slices.ContainsFunc(snapshot.Memories, func(s longterm.Memory) bool { return s.ID == m.ID })
		if holds := m.HeldAt(now); holds != (m.EndedReason == "") || inPrompt != holds {
			w.rt.Fatalf("%s holds: %t, in the prompt: %t, ended as %q", name, holds, inPrompt, m.EndedReason)
		}
	}
	rome, stored := found["rome"]
	waits := rome.Status == longterm.Waiting
	if oslo, ok := found["oslo"]; ok && stored && !waits && oslo.HeldAt(now) && rome.HeldAt(now) {
		w.rt.Fatalf("two hold that exclude each other: %+v", found)
	}
	done := func(step string) bool {
		return slices.ContainsFunc(correctors, func(c *corrector) bool { return c.acknowledged[step] })
	}
	switch {
	case done("reject rome") && (stored || done("confirm rome")), done("confirm rome") && waits:
		w.rt.Fatalf("%+v, confirmed: %t, rejected: %t", rome, done("confirm rome"), done("reject rome"))
	case !done("reject rome"):
		return
	}
	known, err := w.reader.Extraction.Known(w.t.Context(), w.user, 0, false)
	check.OK(w.t, err)
	again := longterm.Memory{Content: "Lives in rome", SaidAt: now.AddDate(1, 0, 0)}
	if !slices.ContainsFunc(known.Forgotten, func(f longterm.Forgotten) bool { return f.Covers(again) }) {
		w.rt.Fatalf("rome was rejected and may come back: %+v", known.Forgotten)
	}
}

// corrector takes one step after another. It repeats a step until it is acknowledged or refused, or gives up.
type corrector struct {
	remoteCalls
	steps []string
	ids   map[string]string
	// acknowledged has the steps that were.
	acknowledged map[string]bool
}

func (c *corrector) run(t *testing.T, table string, user conversation.UserID) {
	defer close(c.allEnded)
	for _, step := range c.steps {
		for range maxAttempts {
			ctx, cancel := context.WithCancel(t.Context())
			c.crash = cancel
			s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: c.call}, dynamotest.FixedClock())
			err := c.take(ctx, s, user, step)
			cancel()
			if err == nil {
				c.acknowledged[step] = true
			}
			if err == nil || fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
				break
			}
		}
	}
}

func (c *corrector) take(ctx context.Context, s dynamotest.Stores, user conversation.UserID, step string) (err error) {
	what, name := step[:len(step)-len(" oslo")], step[len(step)-len("oslo"):]
	id := c.ids[name]
	switch what {
	case "restore":
		_, err = s.Corrector.Restore(ctx, user, id)
	case "confirm":
		_, err = s.Corrector.Confirm(ctx, user, id)
	case "reject":
		_, err = s.Corrector.Reject(ctx, user, id)
	case "delete":
		err = s.Memories.Delete(ctx, user, id)
	}
	return err
}
