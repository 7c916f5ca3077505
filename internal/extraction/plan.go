package extraction

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
)

const (
	// minConfidence is the least confidence of what is kept, minPinned that of what every prompt has.
	minConfidence, minPinned = 0.6, 0.75
	// maxWrites is how many writes of records one transaction has for the items of an answer. The others of the 100 that
	// DynamoDB allows are for the session and for the records that make room: one for each new record, and spare ones.
	maxWrites = 64
	// writesOfNew is how many writes a new memory or todo takes: its own, the check that it was not deleted, and the move
	// of another to the past. writesOfEnded are those of one that becomes past, writesOfForgotten of one that is deleted.
	writesOfNew, writesOfEnded, writesOfForgotten = 4, 2, 3
	// maxSuperseded limits how many memories one fact takes the place of.
	maxSuperseded = 20
	// maxContentRunes limits the content of a memory or todo, maxAboutRunes whom a memory is about, in characters.
	maxContentRunes, maxAboutRunes = 400, 100
	// maxEvidence is how many messages a memory names: the first one and the newest.
	maxEvidence = 32
	// maxPinned is how many pinned memories may hold for an extracted one to be pinned, too. Pinned memories never
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
	// visible has the ids of the memories and todos that may be compared with what the session says.
	visible map[string]bool
	// forgotten has the contents that the user has deleted, as forgottenKey has them.
	forgotten map[string]bool
	now       time.Time // in the user's zone
	zone      *time.Location
	tokens    llm.Counter
	random    io.Reader
	// reviews says that new memories wait for the user, but for those about safety.
	reviews bool
	// past are the memories that have ended and that the answer may name: all, to be forgotten, where a message asks to
	// forget something (isWish), and otherwise those that have ended since messages that are read late were said.
	past   []longterm.Memory
	isWish bool
	// wishes are messages that ask to forget something and were said after messages that are read late.
	wishes []conversation.Message
	// isApart says that the user keeps contexts or sessions apart. Then other coaches' loops are not compared.
	isApart bool
	// replacedBy has the memories that had replaced others when the model was asked, by the ids of these.
	replacedBy map[string]string
	// facts and opened are those of the answer.
	facts  []fact
	opened []openLoop

	memories, newMemories []*longterm.Memory
	todos, newTodos       []*longterm.Todo
	changed               map[string]bool
	forget, denied        []longterm.Memory
	forgetMessages        []string
	writes                int
}

// plan returns the changes that follow from an answer, and what of it is left for the next transaction: one holds a
// limited number of writes. Wishes to forget come first, and then facts about safety.
func (p *planner) plan(a answer) (b Batch, rest answer) {
	p.changed, p.model = map[string]bool{}, a.model
	p.memories, p.todos = pointers(p.known.Memories), pointers(p.known.Todos)
	p.newMemories, p.newTodos, p.forget, p.denied, p.writes = nil, nil, nil, nil, 0
	p.forgetMessages = linesOf(a.forgetMessages, p.ids)
	facts, ended := slices.Clone(a.facts), slices.Clone(a.ended)
	slices.SortStableFunc(facts, func(a, b fact) int { return priority(b.isSafety()) - priority(a.isSafety()) })
	isWish := func(e ending) bool { return e.Reason == longterm.EndedForgotten }
	slices.SortStableFunc(ended, func(a, b ending) int { return priority(isWish(b)) - priority(isWish(a)) })
	wishes := 0
	for wishes < len(ended) && isWish(ended[wishes]) {
		wishes++
	}
	rest = answer{model: a.model}
	rest.ended = apply(p, ended[:wishes], func(ending) int { return writesOfForgotten }, p.endMemory)
	rest.facts = apply(p, facts, func(f fact) int { return writesOfNew + writesOfEnded*len(f.Supersedes) }, p.addFact)
	rest.ended = append(rest.ended, apply(p, ended[wishes:], func(ending) int { return writesOfEnded }, p.endMemory)...)
	rest.closed = apply(p, a.closed, func(closedLoop) int { return writesOfEnded }, p.closeLoop)
	rest.opened = apply(p, a.opened, func(openLoop) int { return writesOfNew }, p.openLoop)
	memories := slices.DeleteFunc(p.memories, func(m *longterm.Memory) bool { return !p.changed[m.ID] })
	todos := slices.DeleteFunc(p.todos, func(t *longterm.Todo) bool { return !p.changed[t.ID] })
	return Batch{
		Known:    p.known,
		Memories: Changes[longterm.Memory]{values(p.newMemories), values(memories)},
		Todos:    Changes[longterm.Todo]{values(p.newTodos), values(todos)}, Forgotten: p.forget,
		ForgottenMessages: p.forgetMessages, PromisedAt: promisedAt(p.newTodos, p.forgetMessages), Denied: p.denied,
		Zone: p.zone,
	}, rest
}

// promisedAt returns when the first of the forgotten messages was said that new todos are from: "forget Noel, and
// remind me of the rent".
func promisedAt(todos []*longterm.Todo, forgotten []string) (at time.Time) {
	isForgotten := func(id string) bool { return slices.Contains(forgotten, id) }
	for _, t := range todos {
		if slices.ContainsFunc(t.MessageIDs, isForgotten) && (at.IsZero() || t.CreatedAt.Before(at)) {
			at = t.CreatedAt
		}
	}
	return at
}

// apply applies items in order, as many as the transaction has room for, and returns the others.
func apply[T any](p *planner, items []T, writes func(T) int, do func(T)) (rest []T) {
	for i, item := range items {
		if p.writes += writes(item); p.writes > maxWrites {
			return slices.Clone(items[i:])
		}
		do(item)
	}
	return nil
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

// isTakenBack reports whether the user asked to forget all lines that say something, after they said it: in the same
// batch, or in one that was read before, as the lines of an import may be read late. What the asking line says is kept.
func isTakenBack(p *planner, ids []string, at time.Time) bool {
	isKept := func(id string) bool {
		return !slices.Contains(p.forgetMessages, id) || conversation.AsksToForget(p.messages[id].Content)
	}
	wishes := slices.Clip(p.wishes)
	for _, id := range p.forgetMessages {
		wishes = append(wishes, p.messages[id])
	}
	isLater := func(m conversation.Message) bool { return m.Timestamp.After(at) }
	return !slices.ContainsFunc(ids, isKept) && slices.ContainsFunc(wishes, isLater)
}

// linesOf returns the ids of the messages that the short ids of an answer name, earlier lines among them.
func linesOf(short []string, of map[string]string) (ids []string) {
	for _, name := range short {
		if id := of[name]; strings.HasPrefix(name, messageLetter) && id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// isComparable reports whether a known memory is valid and may be compared with what the session says.
// One that waits is compared, too, so that it is not noted twice.
func (p *planner) isComparable(m *longterm.Memory) bool { return p.visible[m.ID] && m.HeldAt(p.now) }

// validMemories returns the memories that the model may compare with the messages.
func (p *planner) validMemories() []longterm.Memory {
	return slices.DeleteFunc(slices.Clone(p.known.Memories), func(m longterm.Memory) bool { return !p.isComparable(&m) })
}

// supersededBy returns the memories that a fact takes the place of. For one that was deleted while the model worked
// these are those that it had replaced: they hold again.
func (p *planner) supersededBy(s statement) (out []*longterm.Memory) {
	for _, name := range s.Supersedes {
		if old := p.memoryOf(name); old != nil {
			out = append(out, old)
			continue
		}
		for _, m := range p.memories {
			if by := p.replacedBy[m.ID]; by != "" && by == p.ids[name] && p.isComparable(m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// pendingLoops returns the open loops that the session may speak of.
func (p *planner) pendingLoops() []longterm.Todo {
	return slices.DeleteFunc(slices.Clone(p.known.Todos), func(t longterm.Todo) bool { return !p.isOpen(&t) })
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
