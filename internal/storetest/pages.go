package storetest

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

// list is one paged list of a user as the property works on it. Items go by their ids.
type list struct {
	name string
	// read returns one page; add makes an item at a time that lies in the past.
	read func(page conversation.Page) ([]string, conversation.Position, error)
	add  func(at time.Time) (id string, err error)
	// change writes to an item without changing its place, move in a way that may; nil where there is no such way.
	change, move func(id string) error
	remove       func(id string) error
}

// testPagesWhileWriting reads each list page by page while items are added, changed and deleted between the pages:
// every item that was there before the first page, and was neither deleted nor moved, comes exactly once, and no item
// comes twice.
func testPagesWhileWriting(t *testing.T, s *stand) {
	users := 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		r := reader{t.Context(), s, conversation.UserID(fmt.Sprint("reader", users)), new(int)}
		lists := r.lists()
		l := lists[rapid.IntRange(0, len(lists)-1).Draw(rt, "list")]
		page := conversation.Page{Limit: rapid.IntRange(1, 4).Draw(rt, "limit"), Descending: rapid.Bool().Draw(rt, "descending")}
		p := paging{rt: rt, list: l, seen: map[string]int{}}
		for range rapid.IntRange(1, 7).Draw(rt, "before") {
			p.before = append(p.before, p.add())
		}
		p.steady = slices.Clone(p.before)
		for {
			ids, next, err := l.read(page)
			if err != nil {
				rt.Fatalf("%s: %v", l.name, err)
			}
			for _, id := range ids {
				p.seen[id]++
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

// paging is one reading of a list.
type paging struct {
	list
	rt *rapid.T
	// before are the items of before the first page that are there still, steady those that were not moved either.
	before, steady []string
	seen           map[string]int
}

func (p *paging) add() string {
	hours := rapid.IntRange(0, 3).Draw(p.rt, "hours ago")
	id, err := p.list.add(Now.Add(-time.Duration(hours) * time.Hour))
	if err != nil {
		p.rt.Fatalf("%s: add: %v", p.name, err)
	}
	return id
}

// write does something to the list that a reader has begun to read.
func (p *paging) write() {
	kind := rapid.SampledFrom([]string{"add", "change", "move", "remove"}).Draw(p.rt, "write")
	if kind == "add" || len(p.before) == 0 {
		p.add()
		return
	}
	i := rapid.IntRange(0, len(p.before)-1).Draw(p.rt, "item")
	id := p.before[i]
	do := map[string]func(string) error{"change": p.change, "move": p.move, "remove": p.remove}[kind]
	if do == nil {
		return
	}
	if err := do(id); err != nil {
		p.rt.Fatalf("%s: %s: %v", p.name, kind, err)
	}
	if kind == "remove" {
		p.before = slices.Delete(p.before, i, i+1)
	}
	if kind != "change" {
		p.steady = slices.DeleteFunc(p.steady, func(x string) bool { return x == id })
	}
}

func (p *paging) check() {
	for id, n := range p.seen {
		if n > 1 {
			p.rt.Fatalf("%s: %s came %d times", p.name, id, n)
		}
	}
	for _, id := range p.steady {
		if p.seen[id] != 1 {
			p.rt.Fatalf("%s: %s was there all the time and did not come", p.name, id)
		}
	}
}

// reader is the user whose lists are read. n counts what was made.
type reader struct {
	ctx  context.Context
	s    *stand
	user conversation.UserID
	n    *int
}

func (r reader) next() string {
	*r.n++
	return fmt.Sprint("x", *r.n)
}

func (r reader) lists() []list {
	all := []list{r.sessions(), r.timeline(), r.messages(), r.coaches(), r.prompts()}
	return append(all,
		collectionOf(r, "goals", r.s.Goals(), func(g *longterm.Goal) *string { return &g.ID },
			func(g *longterm.Goal, at time.Time) { g.Status, g.CreatedAt = longterm.GoalActive, at },
			func(g *longterm.Goal) { g.Status = longterm.GoalPaused }),
		collectionOf(r, "memories", r.s.Memories(), func(m *longterm.Memory) *string { return &m.ID },
			func(m *longterm.Memory, at time.Time) { m.Content, m.CreatedAt = "x", at },
			func(m *longterm.Memory) { m.SupersededBy = "another" }),
		collectionOf(r, "check-ins", r.s.CheckIns(), func(c *longterm.CheckIn) *string { return &c.ID },
			func(c *longterm.CheckIn, at time.Time) { c.Timestamp = at },
			func(c *longterm.CheckIn) { c.Note = "changed" }),
	)
}

func (r reader) make(id string) error {
	return second(r.s.CreateSession(r.ctx, r.user, conversation.NewSession{ID: id, Context: coach, CoachID: "c"}, noKey))
}

// tell appends one message.
func (r reader) tell(id string, at time.Time) (conversation.Message, error) {
	m := say("x")
	m[0].Timestamp = at
	a, err := r.s.Append(r.ctx, r.user, conversation.Append{SessionID: id, Messages: m})
	if err != nil {
		return conversation.Message{}, err
	}
	return a.Messages[0], nil
}

func (r reader) sessions() list {
	return list{
		name: "sessions",
		read: func(page conversation.Page) ([]string, conversation.Position, error) {
			sessions, next, err := r.s.Sessions(r.ctx, r.user, conversation.SessionFilter{}, page)
			return each(sessions, func(s conversation.Session) string { return s.ID }), next, err
		},
		add: func(at time.Time) (string, error) {
			id := r.next()
			if err := r.make(id); err != nil || at.Equal(Now) {
				return id, err
			}
			return id, second(r.tell(id, at))
		},
		change: func(id string) error {
			title := r.next()
			return second(r.s.UpdateSession(r.ctx, r.user, id, conversation.SessionChange{Title: &title}))
		},
		move:   func(id string) error { return second(r.tell(id, time.Time{})) },
		remove: func(id string) error { return second(r.s.BurySession(r.ctx, r.user, id, Now)) },
	}
}

func (r reader) timeline() list {
	l := r.messages()
	inSession := l.add
	l.name = "timeline"
	l.read = func(page conversation.Page) ([]string, conversation.Position, error) {
		messages, next, err := r.s.Timeline(r.ctx, r.user, conversation.Range{}, page)
		return each(messages, func(m conversation.Message) string { return m.ID }), next, err
	}
	l.add = func(at time.Time) (string, error) { // each second one in a session of its own, among those of before
		if *r.n%2 == 0 {
			return inSession(at)
		}
		id := r.next()
		if err := r.make(id); err != nil {
			return "", err
		}
		m, err := r.tell(id, at)
		return m.ID, err
	}
	return l
}

func (r reader) messages() list {
	return list{
		name: "messages",
		read: func(page conversation.Page) ([]string, conversation.Position, error) {
			messages, next, err := r.s.Messages(r.ctx, r.user, "s", page)
			return each(messages, func(m conversation.Message) string { return m.ID }), next, err
		},
		add: func(at time.Time) (string, error) {
			if _, err := r.s.Session(r.ctx, r.user, "s"); err != nil {
				if err := r.make("s"); err != nil {
					return "", err
				}
			}
			r.next()
			m, err := r.tell("s", at)
			return m.ID, err
		},
		remove: func(id string) error {
			sessions, err := r.s.SessionsOf(r.ctx, r.user, []string{id})
			if err != nil {
				return err
			}
			m, err := r.s.MessageOf(r.ctx, r.user, sessions[id], id)
			if err != nil {
				return err
			}
			return second(r.s.BuryMessage(r.ctx, r.user, m, nil, Now))
		},
	}
}

func (r reader) coaches() list {
	put := func(id string) error {
		return second(r.s.PutCoach(r.ctx, r.user, longterm.Coach{ID: id, Name: r.next()}))
	}
	return list{
		name: "coaches",
		read: func(page conversation.Page) ([]string, conversation.Position, error) {
			coaches, next, err := r.s.Coaches(r.ctx, r.user, page)
			return each(coaches, func(c longterm.Coach) string { return c.ID }), next, err
		},
		add:    func(time.Time) (string, error) { id := r.next(); return id, put(id) },
		change: put,
		remove: func(id string) error { return r.s.DeleteCoach(r.ctx, r.user, id) },
	}
}

func (r reader) prompts() list {
	return list{
		name: "prompts",
		read: func(page conversation.Page) ([]string, conversation.Position, error) {
			kept, next, err := r.s.KeptOf(r.ctx, r.user, "", page)
			return idsOf(kept), next, err
		},
		add: func(at time.Time) (string, error) {
			k := keptAt(at, r.next())
			return k.ID, r.s.Keep(r.ctx, r.user, k)
		},
	}
}

func collectionOf[T any](r reader, name string, c longterm.Collection[T], id func(*T) *string, set func(*T, time.Time), change func(*T)) list {
	return list{
		name: name,
		read: func(page conversation.Page) ([]string, conversation.Position, error) {
			records, next, err := c.List(r.ctx, r.user, page)
			return each(records, func(v T) string { return *id(&v) }), next, err
		},
		add: func(at time.Time) (string, error) {
			var v T
			set(&v, at)
			stored, _, err := c.Create(r.ctx, r.user, v, noKey)
			return *id(&stored), err
		},
		change: func(id string) error {
			return second(c.Update(r.ctx, r.user, id, func(v *T) error { change(v); return nil }))
		},
		remove: func(id string) error { return c.Delete(r.ctx, r.user, id) },
	}
}

func each[T any](items []T, id func(T) string) []string {
	ids := make([]string, len(items))
	for i, v := range items {
		ids[i] = id(v)
	}
	return ids
}
