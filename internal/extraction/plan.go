package extraction

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

const (
	// minConfidence is the least confidence of what is kept, minPinned that of what every prompt has.
	minConfidence, minPinned = 0.6, 0.75
	// maxFacts, maxEnded, maxOpened and maxClosed limit what one batch changes, so that it fits one transaction. maxEnded
	// counts the memories that facts supersede, too. The rules tell the model the same limits.
	maxFacts, maxEnded, maxOpened, maxClosed = 12, 5, 4, 4
	// maxContentRunes limits the content of a memory or todo, maxAboutRunes whom a memory is about, in characters.
	maxContentRunes, maxAboutRunes = 400, 100
	// maxEvidence is how many messages a memory names: the first one and the newest.
	maxEvidence = 8
	// maxPinned is how many pinned memories there may be for an extracted one to be pinned, too. Pinned memories never
	// make room for others, so the rest of the room is left to the others and to what the app pins.
	maxPinned = 150
)

// planner turns an answer of the model into changes of what is known. It has no effect of its own, so that the same
// answer can be applied again to what is known after a conflict.
type planner struct {
	coachID string
	// messages are the batch's, by id. ids has the real ids by the short ones of the question.
	messages map[string]conversation.Message
	ids      map[string]string
	model    string
	known    Known
	// visible has the ids of the memories that may be compared with what the session says.
	visible map[string]bool
	// forgotten has the contents that the user has deleted, as forgottenKey has them.
	forgotten map[string]bool
	now       time.Time // in the user's zone
	zone      *time.Location
	tokens    llm.Counter
	random    io.Reader
	// isApart says that the user keeps contexts or sessions apart. Then other coaches' loops are not compared.
	isApart bool

	memories, newMemories []*longterm.Memory
	todos, newTodos       []*longterm.Todo
	changed               map[string]bool
	forget                []longterm.Memory
	endings               int
}

// plan returns the changes that follow from an answer. What it cannot store of too long an answer are the last facts,
// those about safety last of all.
func (p *planner) plan(a answer) (Changes[longterm.Memory], Changes[longterm.Todo]) {
	p.changed, p.model = map[string]bool{}, a.model
	p.memories, p.todos = pointers(p.known.Memories), pointers(p.known.Todos)
	p.newMemories, p.newTodos, p.forget, p.endings = nil, nil, nil, 0
	facts := slices.Clone(a.facts)
	slices.SortStableFunc(facts, func(a, b fact) int { return priority(b.isSafety()) - priority(a.isSafety()) })
	for _, f := range facts[:min(len(facts), maxFacts)] {
		p.addFact(f)
	}
	for _, e := range a.ended {
		p.endMemory(e)
	}
	for _, l := range a.closed[:min(len(a.closed), maxClosed)] {
		p.closeLoop(l)
	}
	for _, l := range a.opened[:min(len(a.opened), maxOpened)] {
		p.openLoop(l)
	}
	memories := slices.DeleteFunc(p.memories, func(m *longterm.Memory) bool { return !p.changed[m.ID] })
	todos := slices.DeleteFunc(p.todos, func(t *longterm.Todo) bool { return !p.changed[t.ID] })
	return Changes[longterm.Memory]{values(p.newMemories), values(memories)},
		Changes[longterm.Todo]{values(p.newTodos), values(todos)}
}

// pointers returns pointers to copies of the values.
func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i, v := range list {
		out[i] = &v
	}
	return out
}

func values[T any](list []*T) []T {
	var out []T
	for _, v := range list {
		out = append(out, *v)
	}
	return out
}

// evidence returns the ids of the batch's messages among the short ids of an answer, each once, and the time of the
// newest of them. Ids that the model has made up are left out.
func (p *planner) evidence(short []string) (ids []string, at time.Time) {
	for _, name := range short {
		m, ok := p.messages[p.ids[name]]
		if !ok || slices.Contains(ids, m.ID) {
			continue
		}
		ids = append(ids, m.ID)
		if m.Timestamp.After(at) {
			at = m.Timestamp
		}
	}
	return ids, at
}

// addFact stores a fact as a new memory, or as evidence of one that says the same, and ends those that it takes the
// place of. A fact without a message of the batch is left out: nothing shows that the user has said it.
func (p *planner) addFact(f fact) {
	ids, at := p.evidence(f.MessageIDs)
	f.Content = truncate.Ellipsis(untrusted.OneLine(f.Content), maxContentRunes)
	until, _ := longterm.ParseMoment(f.Until) // a text that is no day says nothing
	if f.Confidence < minConfidence || f.Content == "" || len(ids) == 0 || until.IsOver(p.now) || hasSecret(f.Content) {
		return
	}
	same, exists := p.memoryOf(f.Repeats)
	if f.Repeats != "" && p.ids[f.Repeats] != "" && !exists {
		return // the user has deleted what the fact repeats while the model worked
	}
	if !exists {
		same = p.equalMemory(f)
	}
	if same != nil {
		p.repeat(same, f, until, ids, at)
	} else {
		same = p.newMemory(f, until, ids, at)
		if p.forgotten[forgottenKey(memoryKey, same.Content, same.About)] || p.known.hasForgotten(*same) {
			return
		}
		p.newMemories = append(p.newMemories, same)
	}
	for _, name := range f.Supersedes {
		if old, ok := p.memoryOf(name); ok {
			p.supersede(old, same, at)
		}
	}
}

func (p *planner) newMemory(f fact, until longterm.Moment, ids []string, at time.Time) *longterm.Memory {
	m := &longterm.Memory{
		ID: longterm.NewMemoryID(at, p.random), Type: f.Type, Content: f.Content, Pinned: p.pins(f),
		Source: longterm.Extracted, About: truncate.Ellipsis(untrusted.OneLine(f.About), maxAboutRunes), Until: until,
		Confidence: min(f.Confidence, 1), Rated: true, MessageIDs: ids, SaidAt: at, CreatedAt: at, UpdatedAt: at,
		Tokens: p.tokens.Count(f.Content), Model: p.model, PromptVersion: promptVersion(),
	}
	if f.Status == longterm.Planned || f.Status == longterm.Reported {
		m.Status = f.Status
	}
	return m
}

// pins reports whether every prompt has a fact: it is about safety, as the model says or by its type, no plan, and sure
// enough.
func (p *planner) pins(f fact) bool {
	isSafety := f.isSafety() || registry.Live().IsSafetyType(string(f.Type))
	return isSafety && f.Status != longterm.Planned && f.Confidence >= minPinned && p.mayPin()
}

func (p *planner) mayPin() bool {
	n := 0
	for _, m := range slices.Concat(p.memories, p.newMemories) {
		if m.Pinned {
			n++
		}
	}
	return n < maxPinned
}

// isComparable reports whether a known memory is valid and may be compared with what the session says.
func (p *planner) isComparable(m *longterm.Memory) bool { return p.visible[m.ID] && m.Valid(p.now) }

// validMemories returns the memories that the model may compare with the messages.
func (p *planner) validMemories() []longterm.Memory {
	return slices.DeleteFunc(slices.Clone(p.known.Memories), func(m longterm.Memory) bool { return !p.isComparable(&m) })
}

// pendingLoops returns the open loops that the session may speak of.
func (p *planner) pendingLoops() []longterm.Todo {
	return slices.DeleteFunc(slices.Clone(p.known.Todos), func(t longterm.Todo) bool { return !p.isOpen(&t) })
}

// memoryOf returns the known memory of a short id, if it may be compared and is valid.
func (p *planner) memoryOf(short string) (*longterm.Memory, bool) {
	for _, m := range p.memories {
		if m.ID == p.ids[short] && p.isComparable(m) {
			return m, true
		}
	}
	return nil, false
}

// equalMemory returns a valid memory with the content of a fact about the same person, nil where there is none.
func (p *planner) equalMemory(f fact) *longterm.Memory {
	want := longterm.Normalize(f.Content)
	valid := slices.DeleteFunc(slices.Clone(p.memories), func(m *longterm.Memory) bool { return !p.isComparable(m) })
	for _, m := range slices.Concat(p.newMemories, valid) {
		isOther := m.About != "" && f.About != "" && !longterm.IsSameSubject(m.About, f.About)
		if longterm.Normalize(m.Content) == want && !isOther {
			return m
		}
	}
	return nil
}

// repeat adds evidence to a memory, and the end that was said last. The app's own memories stay as they are.
func (p *planner) repeat(m *longterm.Memory, f fact, until longterm.Moment, ids []string, at time.Time) {
	if m.Source != longterm.Extracted {
		return
	}
	for _, id := range ids {
		if slices.Contains(m.MessageIDs, id) {
			continue
		}
		if m.MessageIDs = append(slices.Clone(m.MessageIDs), id); len(m.MessageIDs) > maxEvidence {
			m.MessageIDs = slices.Delete(m.MessageIDs, 1, 2)
		}
		p.changed[m.ID] = true
	}
	if m.Rated && f.Confidence > m.Confidence {
		m.Confidence, p.changed[m.ID] = min(f.Confidence, 1), true
	}
	if !m.Pinned && p.pins(f) {
		m.Pinned, p.changed[m.ID] = true, true
	}
	if !at.After(m.Said()) {
		return
	}
	m.SaidAt, m.UpdatedAt, p.changed[m.ID] = at, at, true
	if !until.IsZero() {
		m.Until = until
	}
}

// supersede ends an old memory in favour of another, which was said at that time. Sessions may be read in another order
// than that in which the user spoke: of the two the one that was said last stays. What the app has pinned stays beside
// the other.
func (p *planner) supersede(old, by *longterm.Memory, at time.Time) {
	if old == by || p.endings == maxEnded {
		return
	}
	said, replaced := old.Said(), by.Said()
	if at.After(replaced) {
		replaced = at
	}
	if said.After(replaced) {
		old, by, replaced = by, old, said
	}
	if old.Pinned && old.Source != longterm.Extracted {
		return
	}
	p.end(old, longterm.EndedReplaced, replaced)
	old.SupersededBy = by.ID
}

// endMemory ends a memory that no fact takes the place of, where a message that is newer than the memory says so. What
// the user asks to forget is deleted, also what the app has pinned.
func (p *planner) endMemory(e ending) {
	ids, at := p.evidence(e.MessageIDs)
	m, ok := p.memoryOf(e.ID)
	if !ok || len(ids) == 0 || m.Said().After(at) || p.endings == maxEnded {
		return
	}
	switch e.Reason {
	case longterm.EndedForgotten:
		gone := *m
		gone.MessageIDs = append(slices.Clone(m.MessageIDs), ids...)
		gone.ValidUntil, gone.EndedReason = at, e.Reason
		p.forget = append(p.forget, gone)
		p.end(m, e.Reason, at)
		delete(p.changed, m.ID)
	case longterm.EndedOver, longterm.EndedFalse:
		if !m.Pinned || m.Source == longterm.Extracted {
			p.end(m, e.Reason, at)
		}
	}
}

func (p *planner) end(m *longterm.Memory, reason longterm.EndedReason, at time.Time) {
	m.ValidUntil, m.EndedReason, p.changed[m.ID] = at, reason, true
	p.endings++
}

// openLoop stores a promise as a todo of the session's coach, unless there is one with the same content.
func (p *planner) openLoop(l openLoop) {
	ids, at := p.evidence(l.MessageIDs)
	content := truncate.Ellipsis(untrusted.OneLine(l.Content), maxContentRunes)
	if l.Confidence < minConfidence || content == "" || len(ids) == 0 || hasSecret(content) ||
		p.forgotten[forgottenKey(todoKey, content, "")] {
		return
	}
	for _, t := range slices.Concat(p.todos, p.newTodos) {
		if p.isOpen(t) && longterm.Normalize(t.Content) == longterm.Normalize(content) {
			return
		}
	}
	due, _ := longterm.ParseMoment(l.Due) // a text that is no day says nothing
	todo := &longterm.Todo{
		ID: longterm.NewTodoID(at, p.random), CoachID: p.coachID, Content: content, Status: longterm.Pending, Due: due,
		CreatedAt: at, UpdatedAt: at, Tokens: p.tokens.Count(content), MessageIDs: ids,
		Model: p.model, PromptVersion: promptVersion(),
	}
	if l.By == longterm.ByAssistant {
		todo.By = l.By
	}
	p.newTodos = append(p.newTodos, todo)
}

// closeLoop ends a todo at the time of the message that says so: it is done, or it was dropped or moved and is no win.
// A message from before the todo ends nothing.
func (p *planner) closeLoop(l closedLoop) {
	ids, at := p.evidence(l.MessageIDs)
	for _, t := range p.todos {
		if t.ID != p.ids[l.ID] || !p.isOpen(t) || len(ids) == 0 || at.Before(t.CreatedAt) {
			continue
		}
		t.Status, t.UpdatedAt = longterm.TodoCancelled, at
		if l.Outcome == outcomeDone {
			t.Status, t.CompletedAt = longterm.TodoCompleted, at
		}
		p.changed[t.ID] = true
	}
}

// isOpen reports whether a todo is an open loop that the session may speak of: one of its coach, or of another one
// unless the user keeps contexts apart.
func (p *planner) isOpen(t *longterm.Todo) bool {
	return t.Status == longterm.Pending && (t.CoachID == p.coachID || !p.isApart)
}

// The kinds of records that a user can delete for good.
const (
	memoryKey = "memory"
	todoKey   = "todo"
)

// forgottenKey is the key by which a deleted content is recognised, about somebody.
func forgottenKey(kind, content, about string) string {
	return strings.Join([]string{kind, longterm.Normalize(content), longterm.Normalize(about)}, "\n")
}
