package extraction

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

const (
	// minConfidence is the least confidence of what is kept.
	minConfidence = 0.6
	// maxFacts, maxOpened and maxClosed limit what one batch changes, so that it fits one transaction.
	maxFacts, maxOpened, maxClosed = 8, 6, 6
	// maxContentBytes limits the content of a memory or todo.
	maxContentBytes = 400
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
	now       time.Time
	tokens    llm.Counter
	random    io.Reader

	memories, newMemories []*longterm.Memory
	todos, newTodos       []*longterm.Todo
	changed               map[string]bool
}

// plan returns the changes that follow from an answer.
func (p *planner) plan(a answer) (Changes[longterm.Memory], Changes[longterm.Todo]) {
	p.changed, p.model = map[string]bool{}, a.model
	p.memories, p.todos = pointers(p.known.Memories), pointers(p.known.Todos)
	p.newMemories, p.newTodos = nil, nil
	for _, f := range a.Facts[:min(len(a.Facts), maxFacts)] {
		p.addFact(f)
	}
	for _, l := range a.ClosedLoops[:min(len(a.ClosedLoops), maxClosed)] {
		p.closeLoop(l)
	}
	for _, l := range a.OpenLoops[:min(len(a.OpenLoops), maxOpened)] {
		p.openLoop(l)
	}
	memories := Changes[longterm.Memory]{New: values(p.newMemories)}
	for _, m := range p.memories {
		if p.changed[m.ID] {
			memories.Changed = append(memories.Changed, *m)
		}
	}
	todos := Changes[longterm.Todo]{New: values(p.newTodos)}
	for _, t := range p.todos {
		if p.changed[t.ID] {
			todos.Changed = append(todos.Changed, *t)
		}
	}
	return memories, todos
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

// addFact stores a fact as a new memory, or as evidence of one that says the same, and ends the one that it supersedes.
// A fact without a message of the batch is left out: nothing shows that the user has said it.
func (p *planner) addFact(f fact) {
	ids, at := p.evidence(f.MessageIDs)
	content := truncate.Bytes(untrusted.OneLine(f.Content), maxContentBytes)
	isType := f.Type == longterm.ProfileMemory || f.Type == longterm.PeopleMemory || f.Type == longterm.ProjectMemory
	if f.Confidence < minConfidence || content == "" || len(ids) == 0 || !isType {
		return
	}
	same, exists := p.memoryOf(f.Repeats)
	if f.Repeats != "" && p.ids[f.Repeats] != "" && !exists {
		return // the user has deleted what the fact repeats while the model worked
	}
	if !exists {
		same = p.equalMemory(content)
	}
	old, _ := p.memoryOf(f.Supersedes)
	if same != nil {
		p.repeat(same, f, ids, at)
		p.supersede(old, same)
		return
	}
	if p.forgotten[forgottenKey(memoryKey, content)] {
		return
	}
	m := &longterm.Memory{
		ID: longterm.NewMemoryID(at, p.random), Type: f.Type, Content: content, Pinned: f.Safety && p.mayPin(),
		Source: longterm.Extracted, Confidence: min(f.Confidence, 1), Rated: true, MessageIDs: ids, CreatedAt: at,
		UpdatedAt: at, Tokens: p.tokens.Count(content), Model: p.model, PromptVersion: promptVersion,
	}
	p.newMemories = append(p.newMemories, m)
	p.supersede(old, m)
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

// pendingLoops returns the open loops of the session's coach.
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

// equalMemory returns a valid memory with the same content, nil where there is none.
func (p *planner) equalMemory(content string) *longterm.Memory {
	want := longterm.Normalize(content)
	for _, m := range p.newMemories {
		if longterm.Normalize(m.Content) == want {
			return m
		}
	}
	for _, m := range p.memories {
		if p.isComparable(m) && longterm.Normalize(m.Content) == want {
			return m
		}
	}
	return nil
}

// repeat adds evidence to a memory. The app's own memories stay as they are.
func (p *planner) repeat(m *longterm.Memory, f fact, ids []string, at time.Time) {
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
	if f.Safety && !m.Pinned && p.mayPin() {
		m.Pinned, p.changed[m.ID] = true, true
	}
	if at.After(m.UpdatedAt) {
		m.UpdatedAt = at
	}
}

// supersede ends an old memory in favour of a newer one. Sessions may be read in another order than that in which the
// user spoke: of the two the one that was said last stays. What the app has pinned stays beside the other.
func (p *planner) supersede(old, by *longterm.Memory) {
	if old == nil || old == by {
		return
	}
	if saidAt(*old).After(saidAt(*by)) {
		old, by = by, old
	}
	if old.Pinned && old.Source != longterm.Extracted {
		return
	}
	old.ValidUntil, old.SupersededBy = saidAt(*by), by.ID
	p.changed[old.ID] = true
}

// saidAt is when a memory was last said.
func saidAt(m longterm.Memory) time.Time {
	if m.UpdatedAt.After(m.CreatedAt) {
		return m.UpdatedAt
	}
	return m.CreatedAt
}

// openLoop stores a promise as a todo of the session's coach, unless there is one with the same content.
func (p *planner) openLoop(l openLoop) {
	ids, at := p.evidence(l.MessageIDs)
	content := truncate.Bytes(untrusted.OneLine(l.Content), maxContentBytes)
	if l.Confidence < minConfidence || content == "" || len(ids) == 0 || p.forgotten[forgottenKey(todoKey, content)] {
		return
	}
	for _, t := range slices.Concat(p.todos, p.newTodos) {
		if p.isOpen(t) && longterm.Normalize(t.Content) == longterm.Normalize(content) {
			return
		}
	}
	p.newTodos = append(p.newTodos, &longterm.Todo{
		ID: longterm.NewTodoID(at, p.random), CoachID: p.coachID, Content: content, Status: longterm.Pending,
		CreatedAt: at, UpdatedAt: at, Tokens: p.tokens.Count(content), MessageIDs: ids,
		Model: p.model, PromptVersion: promptVersion,
	})
}

// closeLoop completes a todo at the time of the message that says so. A message from before the todo closes nothing.
func (p *planner) closeLoop(l closedLoop) {
	ids, at := p.evidence(l.MessageIDs)
	for _, t := range p.todos {
		if t.ID == p.ids[l.ID] && p.isOpen(t) && len(ids) > 0 && !at.Before(t.CreatedAt) {
			t.Status, t.CompletedAt, t.UpdatedAt = longterm.TodoCompleted, at, at
			p.changed[t.ID] = true
		}
	}
}

// isOpen reports whether a todo is an open loop of the session's coach.
func (p *planner) isOpen(t *longterm.Todo) bool {
	return t.Status == longterm.Pending && t.CoachID == p.coachID
}

// The kinds of records that a user can delete for good.
const (
	memoryKey = "memory"
	todoKey   = "todo"
)

// forgottenKey is how a deleted content is told again.
func forgottenKey(kind, content string) string {
	return strings.Join([]string{kind, longterm.Normalize(content)}, "\n")
}
