package extraction

import (
	"slices"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/secret"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// openLoop stores a promise as a todo of the session's coach, unless there is one with the same content,
// open, or settled since the promise was made.
func (p *planner) openLoop(l openLoop) {
	ids, at := p.evidence(l.MessageIDs)
	content := truncate.Ellipsis(untrusted.OneLine(l.Content), maxContentRunes)
	if l.Confidence < minConfidence || content == "" || len(ids) == 0 || secret.Has(content) ||
		isTakenBack(p, ids, at) || p.forgotten[forgottenKey(todoKey, content, "")] {
		return
	}
	for i, t := range slices.Concat(p.newTodos, p.todos) {
		isOpen := i < len(p.newTodos) || p.isOpen(t)
		if isOpen && longterm.Normalize(t.Content) == longterm.Normalize(content) {
			return
		}
	}
	isSettled := func(t longterm.Todo) bool {
		return t.Status != longterm.Pending && p.visible[t.ID] && !at.After(t.UpdatedAt) &&
			longterm.Normalize(t.Content) == longterm.Normalize(content)
	}
	if slices.ContainsFunc(slices.Concat(p.known.Todos, p.known.PastTodos), isSettled) {
		return
	}
	due, _ := longterm.ParseMoment(l.Due) // a text that is no day says nothing
	todo := &longterm.Todo{
		ID: longterm.NewTodoID(at, p.random), CoachID: p.coachID, Content: content, Status: longterm.Pending, Due: due,
		CreatedAt: at, UpdatedAt: at, Tokens: p.tokens.Count(content), MessageIDs: ids,
		Model: p.model, PromptVersion: promptVersion(),
	}
	if l.Every.IsKnown() {
		todo.Every = l.Every
	}
	if l.By == longterm.ByAssistant {
		todo.By = l.By
	}
	p.newTodos = append(p.newTodos, todo)
}

// closeLoop ends a todo at the time of the message that says so: it is done, or it was dropped or moved and is no win.
// One that the user asks to forget goes with the messages that say it.
// A message from before the todo ends nothing. What recurs and was done, or was moved once, is due again.
func (p *planner) closeLoop(l closedLoop) {
	ids, at := p.evidence(l.MessageIDs)
	to, isMovedOnce := l.movedOnce(p.opened)
	for _, t := range p.todos {
		if t.ID != p.ids[l.ID] || !p.isOpen(t) || len(ids) == 0 || at.Before(t.CreatedAt) {
			continue
		}
		t.UpdatedAt = at
		if l.Outcome == outcomeForgotten {
			p.forgetMessages = slices.Concat(p.forgetMessages, t.MessageIDs, ids)
		}
		switch {
		case t.Every != "" && isMovedOnce:
			next := t.DueAfter(at.In(p.zone).AddDate(0, 0, -1)).Start(p.zone)
			if !to.IsZero() && to.Start(p.zone).Before(next) { // it stands for the one before
				next = at.In(p.zone)
			}
			*t = t.Again(next)
		case l.Outcome != outcomeDone:
			t.Status, t.EndedBy = longterm.TodoCancelled, ids
		case t.Every != "":
			*t = t.DoneAt(at.In(p.zone))
		default:
			t.Status, t.CompletedAt, t.EndedBy = longterm.TodoCompleted, at, ids
		}
		p.changed[t.ID] = true
	}
}

// movedOnce reports whether a promise is moved, and what the same messages open in its place does not recur. It returns
// the day of that.
func (l closedLoop) movedOnce(opened []openLoop) (to longterm.Moment, isOnce bool) {
	at := slices.IndexFunc(opened, func(o openLoop) bool {
		isOf := func(id string) bool { return slices.Contains(l.MessageIDs, id) }
		return !o.Every.IsKnown() && slices.ContainsFunc(o.MessageIDs, isOf)
	})
	if l.Outcome != outcomeMoved || at < 0 {
		return to, false
	}
	to, _ = longterm.ParseMoment(opened[at].Due) // a text that is no day says nothing
	return to, true
}

// isOpen reports whether a known todo is an open loop that the session may speak of: one of its coach, or of another
// one unless the user keeps contexts apart.
func (p *planner) isOpen(t *longterm.Todo) bool {
	return t.Status == longterm.Pending && p.visible[t.ID] && (t.CoachID == p.coachID || !p.isApart)
}
