package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// pagedList is one paged list of a user. Its functions name items by their ids.
type pagedList struct {
	name string
	// page returns one page. add creates an item with a time that is not after start.
	page func(page conversation.Page) ([]string, conversation.Position, error)
	add  func(at time.Time) (id string, err error)
	// change writes to an item and leaves its place. move writes in a way that may change its place. Each is nil where
	// the list has no such write.
	change, move func(id string) error
	remove       func(id string) error
}

// TestListsDuringWrites reads a list page by page while items are added, changed, moved and deleted between the pages.
// An item that existed before the first page, and was neither moved nor deleted, is returned exactly once. No item is
// returned twice.
func TestListsDuringWrites(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	users := 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		r := listUser{t.Context(), s, conversation.UserID(fmt.Sprint("reader", users)), new(int)}
		lists := r.lists()
		l := lists[rapid.IntRange(0, len(lists)-1).Draw(rt, "list")]
		limit := rapid.IntRange(1, 4).Draw(rt, "limit")
		page := conversation.Page{Limit: limit, Descending: rapid.Bool().Draw(rt, "descending")}
		p := listCheck{rt: rt, pagedList: l, returned: map[string]int{}}
		for range rapid.IntRange(1, 7).Draw(rt, "before") {
			p.present = append(p.present, p.add())
		}
		p.unmoved = slices.Clone(p.present)
		for {
			ids, next, err := l.page(page)
			if err != nil {
				rt.Fatalf("%s: %v", l.name, err)
			}
			for _, id := range ids {
				p.returned[id]++
			}
			if page.After = next; next == "" {
				break
			}
			for range rapid.IntRange(0, 3).Draw(rt, "writes") {
				p.write()
			}
		}
		p.check()
	})
}

// listCheck reads one list and checks what comes back.
type listCheck struct {
	pagedList
	rt *rapid.T
	// present are the items that existed before the first page and are not deleted; unmoved are those of them that were
	// not moved either.
	present, unmoved []string
	returned         map[string]int
}

func (p *listCheck) add() string {
	hours := rapid.IntRange(0, 3).Draw(p.rt, "hours ago")
	id, err := p.pagedList.add(start.Add(-time.Duration(hours) * time.Hour))
	if err != nil {
		p.rt.Fatalf("%s: add: %v", p.name, err)
	}
	return id
}

// write makes one random write to the list between two pages.
func (p *listCheck) write() {
	kind := rapid.SampledFrom([]string{"add", "change", "move", "remove"}).Draw(p.rt, "write")
	if kind == "add" || len(p.present) == 0 {
		p.add()
		return
	}
	i := rapid.IntRange(0, len(p.present)-1).Draw(p.rt, "item")
	id := p.present[i]
	do := map[string]func(string) error{"change": p.change, "move": p.move, "remove": p.remove}[kind]
	if do == nil {
		return
	}
	if err := do(id); err != nil {
		p.rt.Fatalf("%s: %s: %v", p.name, kind, err)
	}
	if kind == "remove" {
		p.present = slices.Delete(p.present, i, i+1)
	}
	if kind != "change" {
		p.unmoved = slices.DeleteFunc(p.unmoved, func(x string) bool { return x == id })
	}
}

func (p *listCheck) check() {
	for id, n := range p.returned {
		if n > 1 {
			p.rt.Fatalf("%s: %s was returned %d times", p.name, id, n)
		}
	}
	for _, id := range p.unmoved {
		if p.returned[id] != 1 {
			p.rt.Fatalf("%s: %s existed all the time and was not returned", p.name, id)
		}
	}
}

// listUser is the user whose lists are read. created counts the ids that it gave out.
type listUser struct {
	ctx     context.Context
	s       *fixture
	user    conversation.UserID
	created *int
}

func (r listUser) nextID() string {
	*r.created++
	return fmt.Sprint("x", *r.created)
}

func (r listUser) lists() []pagedList {
	all := []pagedList{r.sessions(), r.timeline(), r.messages(), r.coaches(), r.prompts()}
	return append(all,
		collectionList(r, "goals", r.s.Goals, func(g *longterm.Goal) *string { return &g.ID },
			func(g *longterm.Goal, at time.Time) { g.Status, g.CreatedAt = longterm.GoalActive, at },
			func(g *longterm.Goal) { g.Status = longterm.GoalPaused }),
		collectionList(r, "memories", r.s.Memories, func(m *longterm.Memory) *string { return &m.ID },
			func(m *longterm.Memory, at time.Time) { m.Content, m.CreatedAt = "x", at },
			func(m *longterm.Memory) { m.SupersededBy = "another" }),
		collectionList(r, "check-ins", r.s.CheckIns, func(c *longterm.CheckIn) *string { return &c.ID },
			func(c *longterm.CheckIn, at time.Time) { c.Timestamp = at },
			func(c *longterm.CheckIn) { c.Note = "changed" }),
	)
}

func (r listUser) createSession(id string) error {
	in := conversation.NewSession{ID: id, Context: coach, CoachID: "c"}
	return errorOf(r.s.Sessions.CreateSession(r.ctx, r.user, in, noKey))
}

// appendMessage appends one message to a session.
func (r listUser) appendMessage(id string, at time.Time) (conversation.Message, error) {
	m := userMessages("x")
	m[0].Timestamp = at
	a, err := r.s.Messages.Append(r.ctx, r.user, conversation.Append{SessionID: id, Messages: m})
	if err != nil {
		return conversation.Message{}, err
	}
	return a.Messages[0], nil
}

func (r listUser) sessions() pagedList {
	return pagedList{
		name: "sessions",
		page: func(page conversation.Page) ([]string, conversation.Position, error) {
			sessions, next, err := r.s.Sessions.Sessions(r.ctx, r.user, conversation.SessionFilter{}, page)
			return idsOf(sessions, sessionID), next, err
		},
		add: func(at time.Time) (string, error) {
			id := r.nextID()
			if err := r.createSession(id); err != nil || at.Equal(start) {
				return id, err
			}
			return id, errorOf(r.appendMessage(id, at))
		},
		change: func(id string) error {
			title := r.nextID()
			return errorOf(r.s.Sessions.UpdateSession(r.ctx, r.user, id, conversation.SessionChange{Title: &title}))
		},
		move: func(id string) error { return errorOf(r.appendMessage(id, time.Time{})) },
		remove: func(id string) error {
			return errorOf(r.s.Deletion.DeleteSession(r.ctx, r.user, id, start))
		},
	}
}

func (r listUser) timeline() pagedList {
	l := r.messages()
	inSession := l.add
	l.name = "timeline"
	l.page = func(page conversation.Page) ([]string, conversation.Position, error) {
		messages, next, err := r.s.Messages.Timeline(r.ctx, r.user, conversation.Range{}, page)
		return idsOfMessages(messages), next, err
	}
	// Every second message goes to a new session, so that its time may lie before those of other messages.
	l.add = func(at time.Time) (string, error) {
		if *r.created%2 == 0 {
			return inSession(at)
		}
		id := r.nextID()
		if err := r.createSession(id); err != nil {
			return "", err
		}
		m, err := r.appendMessage(id, at)
		return m.ID, err
	}
	return l
}

func (r listUser) messages() pagedList {
	return pagedList{
		name: "messages",
		page: func(page conversation.Page) ([]string, conversation.Position, error) {
			messages, next, err := r.s.Messages.Messages(r.ctx, r.user, "s", page)
			return idsOfMessages(messages), next, err
		},
		add: func(at time.Time) (string, error) {
			if _, err := r.s.Sessions.Session(r.ctx, r.user, "s"); err != nil {
				if err := r.createSession("s"); err != nil {
					return "", err
				}
			}
			r.nextID()
			m, err := r.appendMessage("s", at)
			return m.ID, err
		},
		remove: func(id string) error {
			sessions, err := r.s.Deletion.SessionsOf(r.ctx, r.user, []string{id})
			if err != nil {
				return err
			}
			m, err := r.s.Deletion.Message(r.ctx, r.user, sessions[id].SessionID, id)
			if err != nil {
				return err
			}
			return errorOf(r.s.Deletion.DeleteMessage(r.ctx, r.user, m, nil, start))
		},
	}
}

func (r listUser) coaches() pagedList {
	put := func(id string) error {
		return errorOf(r.s.Coaches.PutCoach(r.ctx, r.user, longterm.Coach{ID: id, Name: r.nextID()}))
	}
	return pagedList{
		name: "coaches",
		page: func(page conversation.Page) ([]string, conversation.Position, error) {
			coaches, next, err := r.s.Coaches.Coaches(r.ctx, r.user, page)
			return idsOf(coaches, func(c longterm.Coach) string { return c.ID }), next, err
		},
		add:    func(time.Time) (string, error) { id := r.nextID(); return id, put(id) },
		change: put,
		remove: func(id string) error { return r.s.Coaches.DeleteCoach(r.ctx, r.user, id) },
	}
}

func (r listUser) prompts() pagedList {
	return pagedList{
		name: "prompts",
		page: func(page conversation.Page) ([]string, conversation.Position, error) {
			saved, next, err := r.s.Prompts.StoredPrompts(r.ctx, r.user, "", page)
			return promptIDs(saved), next, err
		},
		add: func(at time.Time) (string, error) {
			k := promptAt(at, r.nextID())
			return k.ID, r.s.Prompts.SavePrompt(r.ctx, r.user, k)
		},
	}
}

func collectionList[T any](
	r listUser, name string, c longterm.Collection[T],
	id func(*T) *string, set func(*T, time.Time), change func(*T),
) pagedList {
	return pagedList{
		name: name,
		page: func(page conversation.Page) ([]string, conversation.Position, error) {
			records, next, err := c.List(r.ctx, r.user, page)
			return idsOf(records, func(v T) string { return *id(&v) }), next, err
		},
		add: func(at time.Time) (string, error) {
			var v T
			set(&v, at)
			stored, _, err := c.Create(r.ctx, r.user, v, noKey)
			return *id(&stored), err
		},
		change: func(id string) error {
			return errorOf(c.Update(r.ctx, r.user, id, func(v *T) error { change(v); return nil }))
		},
		remove: func(id string) error { return c.Delete(r.ctx, r.user, id) },
	}
}
