package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
)

// exportPosition is a place between two pages of an export. The zero value is the beginning.
type exportPosition struct {
	// Part is the part of the export, and List the position in its list.
	Part int                   `json:"part"`
	List conversation.Position `json:"list,omitempty"`
	// Session is the session of the list's next page whose messages go on after Messages.
	Session  string                `json:"session,omitempty"`
	Messages conversation.Position `json:"messages,omitempty"`
}

// position returns the text of the place, for a cursor.
func (p exportPosition) position() conversation.Position {
	text, _ := json.Marshal(p) // texts and a number always have a form
	return conversation.Position(text)
}

// openExport returns the place of a cursor.
func (s exports) openExport(scope cursorScope, cursor string) (at exportPosition, err error) {
	text, err := s.cursors.open(scope, cursor)
	if err != nil {
		return at, fault.InvalidField("after", "is not the after of an export's last line")
	}
	if text == "" {
		return at, nil
	}
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return at, fmt.Errorf("read the place of an export: %w", err)
	}
	return at, nil
}

// exportPart reads a part of an export from a place in it. After each page but the last it yields the place.
type exportPart func(after exportPosition) iter.Seq2[exportLine, error]

// lines reads everything that is stored about the caller, a page at a time, from a place on. After each page and part
// it yields the place. It stops at the first error.
func (s exports) lines(ctx context.Context, c Caller, after exportPosition) iter.Seq2[exportLine, error] {
	return func(yield func(exportLine, error) bool) {
		for i, part := range s.parts(ctx, c) {
			if i < after.Part {
				continue
			}
			for l, err := range part(after) {
				l.next.Part = i
				if !yield(l, err) || err != nil {
					return
				}
			}
			after = exportPosition{Part: i + 1}
			if !yield(exportLine{next: after}, nil) {
				return
			}
		}
	}
}

// parts are the parts of an export in their order, which cursors rely on.
func (s exports) parts(ctx context.Context, c Caller) []exportPart {
	l, user := s.LongTerm, c.User
	return []exportPart{
		singletonLine[profileDoc](ctx, user, "profile", l.Profile),
		singletonLine[seedDoc](ctx, user, "seed", l.Seed),
		singletonLine[userSummaryDoc](ctx, user, "userSummary", l.UserSummary),
		singletonLine[preferencesDoc](ctx, user, "preferences", l.Preferences),
		s.spines(ctx, user),
		s.usage(ctx, user),
		listLines("coach", c.coachFor, of(ctx, user, l.Coaches.Coaches)),
		collectionLines[goal](ctx, user, "goal", l.Goals),
		collectionLines[checkIn](ctx, user, "checkIn", l.CheckIns),
		collectionLines[Memory](ctx, user, "memory", l.Memories),
		collectionLines[todo](ctx, user, "todo", l.Todos),
		listLines("document", shown[Document], func(p conversation.Page) ([]document.Document, conversation.Position, error) {
			return s.Documents.Documents(ctx, user, nil, nil, p)
		}),
		s.conversations(ctx, user),
		listLines("prompt", c.promptFor,
			func(p conversation.Page) ([]prompt.Record, conversation.Position, error) {
				p.Limit = exportedPrompts
				return s.Prompts.ListFull(ctx, user, p)
			}),
		s.held(ctx, user),
	}
}

// heldRecord is a record as it is stored.
type heldRecord struct {
	Key    string         `json:"key"`
	Record map[string]any `json:"record"`
}

// leftRecords counts the app's own records, which are not exported, by the part of their keys up to the first '#'.
type leftRecords struct {
	Records map[string]int `json:"records"`
}

// held reads what the other lists do not have, and counts what is the app's own, for each page with some.
func (s exports) held(ctx context.Context, user conversation.UserID) exportPart {
	list := listLines("", asIs, of(ctx, user, s.Held.Held))
	return func(after exportPosition) iter.Seq2[exportLine, error] {
		return func(yield func(exportLine, error) bool) {
			left := map[string]int{}
			counted := func() bool {
				all := left
				left = map[string]int{}
				return len(all) == 0 || yield(exportLine{kind: "left", record: leftRecords{all}}, nil)
			}
			for l, err := range list(after) {
				h, isRecord := l.record.(conversation.Held)
				switch {
				case isRecord && h.Kind == "":
					left[h.Key]++
					continue
				case isRecord:
					l.kind, l.record = h.Kind, heldRecord{h.Key, h.Record}
				case err == nil && !counted(): // the end of a page
					return
				}
				if !yield(l, err) || err != nil {
					return
				}
			}
			counted()
		}
	}
}

// promptFor returns a stored prompt as the caller may see it. Its text has the persona or the system role in it, which
// are the app's.
func (c Caller) promptFor(r prompt.Record) prompt.Record {
	if !c.isApp() {
		r.System, r.Messages, r.Text = nil, nil, ""
	}
	return r
}

// conversations reads the sessions, each followed by its messages.
func (s exports) conversations(ctx context.Context, user conversation.UserID) exportPart {
	return func(after exportPosition) iter.Seq2[exportLine, error] {
		return func(yield func(exportLine, error) bool) {
			for at := after; ; {
				page := conversation.Page{Limit: exportPage, After: at.List}
				found, next, err := s.Sessions.Sessions(ctx, user, conversation.SessionFilter{}, page)
				if err != nil {
					yield(exportLine{}, err)
					return
				}
				begun := slices.IndexFunc(found, func(one conversation.Session) bool { return one.ID == at.Session })
				for i := max(begun, 0); i < len(found); i++ {
					from := exportPosition{List: at.List, Session: found[i].ID}
					if i == begun {
						from.Messages = at.Messages
					}
					if !s.conversation(ctx, user, found[i], from, yield) {
						return
					}
				}
				if at = (exportPosition{List: next}); next == "" || !yield(exportLine{next: at}, nil) {
					return
				}
			}
		}
	}
}

// conversation yields a session and its messages, or from a place on only its messages. It reports whether the export
// goes on.
func (s exports) conversation(
	ctx context.Context, user conversation.UserID, of conversation.Session, from exportPosition,
	yield func(exportLine, error) bool,
) bool {
	if from.Messages == "" && !yield(exportLine{kind: "session", record: shown[session](of)}, nil) {
		return false
	}
	messages := listLines("message", shown[Message],
		func(p conversation.Page) ([]conversation.Message, conversation.Position, error) {
			return s.Messages.Messages(ctx, user, of.ID, p)
		})
	for m, err := range messages(exportPosition{List: from.Messages}) {
		if fault.Is(err, fault.NotFound) { // the session was deleted while the export ran
			return true
		}
		if m.kind == "" {
			m.next = exportPosition{List: from.List, Session: of.ID, Messages: m.next.List}
		}
		if !yield(m, err) || err != nil {
			return false
		}
	}
	return true
}

// usage reads what the user spent, which is one list.
func (s exports) usage(ctx context.Context, user conversation.UserID) exportPart {
	return listLines("usage", asIs,
		func(conversation.Page) ([]conversation.DayUsage, conversation.Position, error) {
			days, err := s.Usage.Usage(ctx, user)
			return days, "", err
		})
}

// spines reads the spines, also what no prompt may tell. They are one list.
func (s exports) spines(ctx context.Context, user conversation.UserID) exportPart {
	return listLines("spine", asIs, func(conversation.Page) ([]spine, conversation.Position, error) {
		found, preferences, err := s.Spines.Spines(ctx, user)
		whole := func(one longterm.Spine) spine { return toSpine(one, preferences) }
		return converted(found, whole), "", err
	})
}

// singletonLine reads the one record of a kind, if there is one.
func singletonLine[Doc, T any](
	ctx context.Context, user conversation.UserID, kind string, store longterm.Singleton[T],
) exportPart {
	return func(exportPosition) iter.Seq2[exportLine, error] {
		return func(yield func(exportLine, error) bool) {
			r, err := store.Get(ctx, user)
			if !fault.Is(err, fault.NotFound) {
				yield(exportLine{kind: kind, record: shown[Doc](r)}, err)
			}
		}
	}
}

// collectionLines reads the records of a collection.
func collectionLines[View, T any](
	ctx context.Context, user conversation.UserID, kind string, store longterm.Collection[T],
) exportPart {
	return listLines(kind, shown[View], of(ctx, user, store.List))
}

// How many records are read at once. Prompts are larger.
const (
	exportPage      = 200
	exportedPrompts = 10
)

// listLines reads a list to its end.
func listLines[T, V any](
	kind string, convert func(T) V, fetch func(conversation.Page) ([]T, conversation.Position, error),
) exportPart {
	return func(after exportPosition) iter.Seq2[exportLine, error] {
		return func(yield func(exportLine, error) bool) {
			for at := after.List; ; {
				items, next, err := fetch(conversation.Page{Limit: exportPage, After: at})
				if err != nil {
					yield(exportLine{}, err)
					return
				}
				for _, item := range items {
					if !yield(exportLine{kind: kind, record: convert(item)}, nil) {
						return
					}
				}
				if at = next; at == "" || !yield(exportLine{next: exportPosition{List: at}}, nil) {
					return
				}
			}
		}
	}
}
