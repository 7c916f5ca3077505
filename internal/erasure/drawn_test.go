package erasure_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestDeletedPlan deletes a medicine that is to replace another one next week, as an app does or the chat's tool. The
// other one holds on.
func TestDeletedPlan(t *testing.T) {
	s := newFixture(t)
	nextWeek := s.Time().AddDate(0, 0, 7).Truncate(24 * time.Hour)
	create := func(m longterm.Memory) longterm.Memory {
		stored, _, err := s.store.Memories.Create(t.Context(), ann, m, conversation.Idempotency{})
		check.OK(t, err)
		return stored
	}
	for name, remove := range map[string]func(longterm.Memory) error{
		"app": func(plan longterm.Memory) error {
			return erasure.NewMemories(s.store.Memories, s.Service).Delete(t.Context(), ann, plan.ID)
		},
		"tool": func(plan longterm.Memory) error {
			_, err := s.store.Extraction.(chat.Forgetter).Forget(t.Context(), ann, "a message",
				func([]longterm.Memory) []longterm.Memory { return []longterm.Memory{plan} })
			return err
		},
	} {
		plan := create(longterm.Memory{
			Content: "candesartan by " + name, From: longterm.Moment{Day: nextWeek.Format(time.DateOnly)},
		})
		replaced := create(longterm.Memory{
			Content: "ramipril by " + name, Until: plan.From.Before(), ValidUntil: nextWeek,
			EndedReason: longterm.EndedReplaced, SupersededBy: plan.ID,
		})
		check.OK(t, remove(plan))
		replaced, err := s.store.Memories.Get(t.Context(), ann, replaced.ID)
		if err != nil || !replaced.HeldAt(nextWeek.AddDate(0, 0, 1)) {
			t.Errorf("%s: what the plan was to replace: %+v, %v", name, replaced, err)
		}
	}
}

// TestChangedPlan changes a medicine that is to replace another one next week, as an app does. The other one holds
// until the day before the new one begins, and on where it never does.
func TestChangedPlan(t *testing.T) {
	s := newFixture(t)
	day := func(n int) longterm.Moment {
		return longterm.Moment{Day: s.Time().AddDate(0, 0, n).Format(time.DateOnly)}
	}
	memories := erasure.NewMemories(s.store.Memories, s.Service)
	create := func(m longterm.Memory) longterm.Memory {
		stored, _, err := memories.Create(t.Context(), ann, m, conversation.Idempotency{})
		check.OK(t, err)
		return stored
	}
	const always = 99
	for name, tt := range map[string]struct {
		change func(*longterm.Memory)
		last   int // the last day of the other one
	}{
		"words":              {func(m *longterm.Memory) { m.Content += ", twice a day" }, 6},
		"put off":            {func(m *longterm.Memory) { m.From = day(14) }, 13},
		"brought forward":    {func(m *longterm.Memory) { m.From = day(3) }, 2},
		"begun":              {func(m *longterm.Memory) { m.From, m.Status = longterm.Moment{}, "" }, -1},
		"of no day":          {func(m *longterm.Memory) { m.From = longterm.Moment{} }, always},
		"ended":              {func(m *longterm.Memory) { m.ValidUntil = s.Time() }, always},
		"ended soon":         {func(m *longterm.Memory) { m.ValidUntil = s.Time().Add(time.Hour) }, always},
		"begun and ended":    {func(m *longterm.Memory) { m.From, m.ValidUntil = day(-2), s.Time() }, always},
		"over before it was": {func(m *longterm.Memory) { m.Until = day(-1) }, always},
	} {
		plan := create(longterm.Memory{Content: "candesartan, " + name, Status: longterm.Planned, From: day(7)})
		other := create(longterm.Memory{Content: "ramipril, " + name}.GivenWayTo(plan, s.Time().UTC(), s.Time()))
		_, err := memories.Update(t.Context(), ann, plan.ID, func(m *longterm.Memory) error {
			tt.change(m)
			return nil
		})
		check.OK(t, err)
		other = check.Got(memories.Get(t.Context(), ann, other.ID))(t)
		for n := range 20 {
			at := s.Time().UTC().AddDate(0, 0, n)
			check.Equal(t, n <= tt.last, other.HeldAt(at), "%s: the other one holds after %d days", name, n)
		}
	}
}

// TestWhatDeletedMessagesEnded deletes a message, and what it alone has ended holds again: a medicine that another one
// was to replace, an allergy that was said to be over, a home of before, and a todo.
func TestWhatDeletedMessagesEnded(t *testing.T) {
	s := newFixture(t)
	m := s.addMessages(ann, "s", "1", "2", "3")
	first, second, third := []string{m[0].ID}, []string{m[1].ID}, []string{m[2].ID}
	var none conversation.Idempotency
	create := func(content string, from []string, change func(*longterm.Memory)) longterm.Memory {
		memory := longterm.Memory{Content: content, Source: longterm.Extracted, MessageIDs: from, CreatedAt: s.Time()}
		change(&memory)
		stored, _, err := s.store.Memories.Create(t.Context(), ann, memory, none)
		check.OK(t, err)
		return stored
	}
	replacedBy := func(by longterm.Memory, at time.Time) func(*longterm.Memory) {
		return func(m *longterm.Memory) {
			m.ValidUntil, m.EndedReason, m.SupersededBy, m.Until = at, longterm.EndedReplaced, by.ID, by.From.Before()
		}
	}
	overBy := func(messages []string) func(*longterm.Memory) {
		return func(m *longterm.Memory) {
			m.ValidUntil, m.EndedReason, m.EndedBy, m.Pinned = s.Time(), longterm.EndedOver, messages, true
		}
	}
	nextWeek := s.Time().AddDate(0, 0, 7).Truncate(24 * time.Hour)
	candesartan := create("candesartan", second, func(m *longterm.Memory) {
		m.From = longterm.Moment{Day: nextWeek.Format(time.DateOnly)}
	})
	porto := create("Porto", third, func(*longterm.Memory) {})
	faro := create("Faro", second, replacedBy(porto, s.Time()))
	create("ramipril", first, replacedBy(candesartan, nextWeek))
	create("Lagos", first, replacedBy(faro, s.Time()))
	create("peanuts", first, overBy(second))
	create("bees", first, overBy(append(second, third...)))
	todo, _, err := s.store.Todos.Create(t.Context(), ann, longterm.Todo{
		Content: "dentist", Status: longterm.TodoCompleted, MessageIDs: first, EndedBy: second, CompletedAt: s.Time(),
	}, none)
	check.OK(t, err)

	check.OK(t, s.DeleteMessage(t.Context(), ann, "s", m[1].ID))
	left, _, err := s.store.Memories.List(t.Context(), ann, conversation.Page{Limit: 20})
	check.OK(t, err)
	holds := map[string]bool{}
	for _, m := range left {
		holds[m.Content] = m.HeldAt(nextWeek.AddDate(0, 0, 1))
		if m.Content == "Lagos" && m.SupersededBy != porto.ID {
			t.Errorf("in the place of Lagos is %q, not Porto", m.SupersededBy)
		}
	}
	want := map[string]bool{"Porto": true, "ramipril": true, "peanuts": true, "Lagos": false, "bees": false}
	check.Same(t, want, holds, "what holds")
	if todo, err = s.store.Todos.Get(t.Context(), ann, todo.ID); err != nil || todo.Status != longterm.Pending {
		t.Errorf("the todo: %+v, %v", todo, err)
	}
}
