package dynamo_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// state is what a client can read of a user.
type state struct {
	Sessions map[string]sessionState
	// Records are goals, todos, memories, check-ins, coaches, documents and singletons, by kind and name.
	Records map[string]string
}

type sessionState struct {
	Context, Title, Summary, Attribute string
	Status                             conversation.Status
	Count, LastSeq, Covered            int
	Messages                           []string // "seq role content"
}

func newState() state { return state{map[string]sessionState{}, map[string]string{}} }

func (s state) clone() state { return state{maps.Clone(s.Sessions), maps.Clone(s.Records)} }

func diffStates(want, got state) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

func (s state) changeSession(id string, change func(*sessionState)) {
	session := s.Sessions[id]
	session.Messages = slices.Clone(session.Messages)
	change(&session)
	s.Sessions[id] = session
}

// addMessage adds a message. What the user says in a completed session makes it active again.
func (s *sessionState) addMessage(role conversation.Role, content string) {
	if role == conversation.RoleUser && s.Status == conversation.Completed {
		s.Status = conversation.Active
	}
	s.LastSeq++
	s.Count++
	s.Messages = append(s.Messages, fmt.Sprintf("%d %s %s", s.LastSeq, role, content))
}

// readState reads everything with a store that has no cache, and compares what different reads return for the same
// records.
func (sim *simulation) readState() state {
	got := newState()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failures []error
	read := func(do func() error) {
		wg.Go(func() {
			if err := do(); err != nil && !fault.Is(err, fault.NotFound) {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, err)
			}
		})
	}
	add := func(name, id, value string) {
		mu.Lock()
		defer mu.Unlock()
		if _, twice := got.Records[name]; twice {
			failures = append(failures, fmt.Errorf("%s is listed twice", name))
		}
		got.Records[name] = value
		sim.saveID(name, id)
	}
	read(func() error { return sim.readSessions(got) })
	sim.readSingletons(read, add)
	live := make([][]string, len(collections()))
	for i, c := range collections() {
		read(func() (err error) {
			live[i], err = c.list(sim, add)
			return err
		})
	}
	var snap longterm.Snapshot
	read(func() (err error) {
		snap, err = sim.reader.PromptSource.LongTerm(sim.t.Context(), sim.user)
		return err
	})
	wg.Wait()
	for _, err := range failures {
		sim.rt.Fatalf("read: %v", err)
	}
	sim.checkSnapshot(snap, live, got)
	return got
}

func (sim *simulation) readSessions(got state) error {
	ctx, page := sim.t.Context(), conversation.Page{Limit: 200}
	sessions, _, err := sim.reader.Sessions.Sessions(ctx, sim.user, conversation.SessionFilter{}, page)
	if err != nil {
		return err
	}
	all := 0
	for _, s := range sessions {
		messages, _, err := sim.reader.Messages.Messages(ctx, sim.user, s.ID, page)
		if err != nil {
			return err
		}
		read := sessionState{
			Context: s.Context, Title: s.Title, Status: s.Status, Count: s.MessageCount, LastSeq: s.LastSeq,
		}
		read.Attribute, _ = s.Attributes["k"].(string)
		if s.Summary != nil {
			read.Summary, read.Covered = s.Summary.Text, s.Summary.CoveredThrough
		}
		for _, m := range messages {
			read.Messages = append(read.Messages, fmt.Sprintf("%d %s %s", m.Seq, m.Role, m.Content))
			sim.saveID("message/"+m.Content, m.ID)
		}
		if _, twice := got.Sessions[s.ID]; twice {
			return fmt.Errorf("session %s is listed twice", s.ID)
		}
		got.Sessions[s.ID] = read
		all += len(messages)
	}
	timeline, _, err := sim.reader.Messages.Timeline(ctx, sim.user, conversation.Range{}, page)
	if err == nil && len(timeline) != all {
		return fmt.Errorf("the timeline has %d messages, the sessions have %d", len(timeline), all)
	}
	return err
}

func (sim *simulation) readSingletons(read func(func() error), add func(name, id, value string)) {
	ctx := sim.t.Context()
	readOne := func(name string, get func() (string, error)) {
		read(func() error {
			value, err := get()
			if err == nil && value != "" {
				add(name, "", value)
			}
			return err
		})
	}
	readOne("profile", func() (string, error) {
		p, err := sim.reader.Profiles.Get(ctx, sim.user)
		return p.Name, err
	})
	readOne("seed", func() (string, error) {
		s, err := sim.reader.Seeds.Get(ctx, sim.user)
		return s.Content, err
	})
	readOne("preferences", func() (string, error) {
		p, err := sim.reader.Preferences.Get(ctx, sim.user)
		if p.Timezone == "UTC" { // the default
			return "", err
		}
		return p.Timezone, err
	})
	read(func() error {
		coaches, _, err := sim.reader.Coaches.Coaches(ctx, sim.user, conversation.Page{Limit: 200})
		for _, c := range coaches {
			add("coach/"+c.ID, c.ID, c.Name)
		}
		return err
	})
	read(func() error {
		documents, _, err := sim.reader.Documents.Documents(ctx, sim.user, nil, nil, conversation.Page{Limit: 200})
		for _, d := range documents {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(d.Value), `{"name":"`), `"`)
			add("document/"+d.Key, d.Key, name)
		}
		return err
	})
}

// checkSnapshot checks that the long-term records of a prompt are those that the lists show as live. live has the names
// of each collection's live records, those of the check-ins last.
func (sim *simulation) checkSnapshot(snap longterm.Snapshot, live [][]string, got state) {
	var inPrompt, latest []string
	for _, g := range snap.Goals {
		inPrompt = append(inPrompt, "goal/"+g.Title)
	}
	for _, t := range snap.Todos {
		inPrompt = append(inPrompt, "todo/"+t.Content)
	}
	for _, m := range snap.Memories {
		inPrompt = append(inPrompt, "memory/"+m.Content)
	}
	for _, c := range snap.Coaches {
		inPrompt = append(inPrompt, "coach/"+c.ID)
	}
	if snap.Profile != nil {
		inPrompt = append(inPrompt, "profile")
	}
	if snap.Seed != nil {
		inPrompt = append(inPrompt, "seed")
	}
	if snap.LatestCheckIn != nil {
		latest = append(latest, "check-in/"+snap.LatestCheckIn.Note)
	}
	var listed []string
	for name := range got.Records {
		if name == "profile" || name == "seed" || strings.HasPrefix(name, "coach/") {
			listed = append(listed, name)
		}
	}
	for _, names := range live[:len(live)-1] {
		listed = append(listed, names...)
	}
	slices.Sort(inPrompt)
	slices.Sort(listed)
	if !slices.Equal(inPrompt, listed) {
		sim.rt.Fatalf("a prompt reads %v, the lists have %v", inPrompt, listed)
	}
	// After the latest check-in was deleted, there is none.
	checkIns, none := live[len(live)-1], sim.checkInDeleted && latest == nil
	if !none && !slices.Equal(latest, checkIns[:min(1, len(checkIns))]) {
		sim.rt.Fatalf("a prompt reads %v, the check-ins are %v", latest, checkIns)
	}
}

// collection is a collection of long-term records with names, which are live or past.
type collection struct {
	kind   string
	create func(context.Context, dynamotest.Stores, conversation.UserID, entry, conversation.Idempotency) (string, error)
	update func(ctx context.Context, s dynamotest.Stores, user conversation.UserID, id string, e entry) error
	delete func(ctx context.Context, s dynamotest.Stores, user conversation.UserID, id string) error
	// list adds all records, and returns the names of the live ones in their order.
	list func(sim *simulation, add func(name, id, value string)) ([]string, error)
}

// entry is a record of a collection. source is the message that a memory was extracted from.
type entry struct {
	name, source string
	live         bool
	at           time.Time
}

// createdAt returns the stored time of creation, or the entry's for a new record.
func (e entry) createdAt(stored time.Time) time.Time {
	if stored.IsZero() {
		return e.at
	}
	return stored
}

func (e entry) value() string {
	if e.live {
		return "live"
	}
	return "past"
}

// collections returns all collections. The check-ins are last: only the newest of them is live.
func collections() []collection {
	return []collection{
		collectionOf[longterm.Goal]{
			kind:   "goal",
			of:     func(s dynamotest.Stores) longterm.Collection[longterm.Goal] { return s.Goals },
			fields: func(g *longterm.Goal) (*string, *string) { return &g.ID, &g.Title },
			set: func(g *longterm.Goal, e entry) {
				g.Status = longterm.GoalPaused
				if e.live {
					g.Status = longterm.GoalActive
				}
				g.CreatedAt = e.createdAt(g.CreatedAt)
			},
			isLive: func(g longterm.Goal) bool { return g.Status == longterm.GoalActive },
		}.collection(),
		collectionOf[longterm.Todo]{
			kind:   "todo",
			of:     func(s dynamotest.Stores) longterm.Collection[longterm.Todo] { return s.Todos },
			fields: func(t *longterm.Todo) (*string, *string) { return &t.ID, &t.Content },
			set: func(t *longterm.Todo, e entry) {
				t.Status, t.CompletedAt = longterm.TodoCompleted, start.Add(-longterm.WinWindow)
				if e.live {
					t.Status, t.CompletedAt = longterm.Pending, time.Time{}
				}
				t.CreatedAt = e.createdAt(t.CreatedAt)
			},
			isLive: func(t longterm.Todo) bool { return t.Status == longterm.Pending },
		}.collection(),
		collectionOf[longterm.Memory]{
			kind:   "memory",
			of:     func(s dynamotest.Stores) longterm.Collection[longterm.Memory] { return s.Memories },
			fields: func(m *longterm.Memory) (*string, *string) { return &m.ID, &m.Content },
			set: func(m *longterm.Memory, e entry) {
				// So long ago that no prompt tells that it has ended.
				m.SupersededBy, m.ValidUntil, m.CreatedAt = "another", start.AddDate(-1, 0, 0), e.createdAt(m.CreatedAt)
				if e.live {
					m.SupersededBy, m.ValidUntil = "", time.Time{}
				}
				if e.source != "" {
					m.Source, m.MessageIDs = longterm.Extracted, []string{e.source}
				}
			},
			isLive: func(m longterm.Memory) bool { return m.SupersededBy == "" },
		}.collection(),
		collectionOf[longterm.CheckIn]{
			kind:   "check-in",
			of:     func(s dynamotest.Stores) longterm.Collection[longterm.CheckIn] { return s.CheckIns },
			fields: func(c *longterm.CheckIn) (*string, *string) { return &c.ID, &c.Note },
			set:    func(c *longterm.CheckIn, e entry) { c.Timestamp = e.createdAt(c.Timestamp) },
			isLive: func(longterm.CheckIn) bool { return true },
		}.collection(),
	}
}

// collectionOf says how a type of records is stored, named, and made live or past.
type collectionOf[T any] struct {
	kind   string
	of     func(dynamotest.Stores) longterm.Collection[T]
	fields func(*T) (id, name *string)
	set    func(*T, entry)
	isLive func(T) bool
}

func (c collectionOf[T]) collection() collection {
	return collection{
		kind: c.kind,
		create: func(ctx context.Context, s dynamotest.Stores, user conversation.UserID, e entry,
			key conversation.Idempotency,
		) (string, error) {
			var v T
			_, name := c.fields(&v)
			*name = e.name
			c.set(&v, e)
			stored, _, err := c.of(s).Create(ctx, user, v, key)
			id, _ := c.fields(&stored)
			return *id, err
		},
		update: func(ctx context.Context, s dynamotest.Stores, user conversation.UserID, id string, e entry) error {
			return errorOf(c.of(s).Update(ctx, user, id, func(v *T) error { c.set(v, e); return nil }))
		},
		delete: func(ctx context.Context, s dynamotest.Stores, user conversation.UserID, id string) error {
			return c.of(s).Delete(ctx, user, id)
		},
		list: func(sim *simulation, add func(name, id, value string)) (names []string, err error) {
			all, _, err := c.of(sim.reader).List(sim.t.Context(), sim.user, conversation.Page{Limit: 200})
			for _, v := range all {
				id, name := c.fields(&v)
				e := entry{live: c.isLive(v)}
				add(c.kind+"/"+*name, *id, e.value())
				if e.live {
					names = append(names, c.kind+"/"+*name)
				}
			}
			return names, err
		},
	}
}
