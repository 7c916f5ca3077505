package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
)

// Snapshotter reads a user's live long-term memory in one query; the export takes the spines from it.
type Snapshotter interface {
	LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error)
}

// ExportDeps are the stores that an export reads. All are needed.
type ExportDeps struct {
	Sessions conversation.SessionStore
	Messages conversation.MessageStore
	LongTerm LongTerm
	Spines   Snapshotter
	Prompts  PromptLister
}

// PromptLister lists the prompts that are kept of a user, whole.
type PromptLister interface {
	ListFull(ctx context.Context, user conversation.UserID, page conversation.Page) ([]prompt.Record, conversation.Position, error)
}

// exports serves /v1/export.
type exports struct {
	*server
	ExportDeps
}

const (
	ndjson        = "application/x-ndjson"
	exportExample = `{"kind":"profile","name":"Ann"}
{"kind":"session","sessionId":"ses_1","context":"coach_conversation","coachId":"c1"}
{"kind":"message","messageId":"msg_1","sessionId":"ses_1","role":"user","content":"Hello"}
{"kind":"end","records":3}
`
)

func (s exports) register() {
	register(s.server, operation{
		method: http.MethodGet, path: "/v1/export", id: "export", tag: recordTag, summary: "Export everything, streaming",
		produces: ndjson, example: exportExample,
		detail: "Everything held about the user, one record a line with its kind. The last line is of kind end and counts " +
			"the records before it; a line of kind error, with a problem, says that the export broke off.",
	}, s.export)
}

// line is one record of an export.
type line struct {
	kind   string
	record any
}

// MarshalJSON writes the record with its kind before its own fields.
func (l line) MarshalJSON() ([]byte, error) {
	kind, err := json.Marshal(l.kind)
	if err != nil {
		return nil, err
	}
	var fields bytes.Buffer
	encoder := json.NewEncoder(&fields)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(l.record); err != nil {
		return nil, fmt.Errorf("encode %s: %w", l.kind, err)
	}
	rest := bytes.TrimPrefix(bytes.TrimSpace(fields.Bytes()), []byte("{"))
	out := append([]byte(`{"kind":`), kind...)
	if len(rest) > 1 {
		out = append(out, ',')
	}
	return append(out, rest...), nil
}

// export opens the stream only when the first record is there, so that a store that cannot be read is an ordinary
// error.
func (s exports) export(ctx context.Context, c Caller, _ *nothing) (*streamOutput, error) {
	next, stop := iter.Pull2(s.lines(ctx, c.User))
	first, err, ok := next()
	if err != nil {
		stop()
		return nil, err
	}
	return &streamOutput{ContentType: ndjson, CacheControl: "no-store, no-transform", Body: func(hc huma.Context) {
		defer stop()
		hc.SetStatus(http.StatusOK)
		if hc.Method() == http.MethodHead {
			return
		}
		out := &lineWriter{w: hc.BodyWriter()}
		defer s.surviveExport(ctx, out)
		for l := first; ok; l, err, ok = next() {
			if err != nil {
				out.send("error", s.report(ctx, "export", err))
				return
			}
			if !out.send(l.kind, l.record) {
				return
			}
		}
		out.send("end", map[string]int{"records": out.sent})
	}}, nil
}

// surviveExport ends an export that panicked with an error line, since a cut stream could pass for a whole one.
func (s exports) surviveExport(ctx context.Context, out *lineWriter) {
	if v := recover(); v != nil {
		s.log.ErrorContext(ctx, "export panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		out.send("error", problemOf(fault.New(fault.Internal, "")))
	}
}

// lineWriter writes one record a line.
type lineWriter struct {
	w interface {
		Write(p []byte) (int, error)
	}
	sent int
}

// send reports whether the client still takes lines.
func (o *lineWriter) send(kind string, record any) bool {
	text, err := line{kind, record}.MarshalJSON()
	if err != nil {
		return false
	}
	if _, err := o.w.Write(append(text, '\n')); err != nil {
		return false
	}
	o.sent++
	return flush(o.w) == nil
}

// lines walks everything held about a user, a page at a time.
func (s exports) lines(ctx context.Context, user conversation.UserID) iter.Seq2[line, error] {
	l := s.LongTerm
	return chain(
		record(ctx, user, "profile", profile(s.server, l.Profile)),
		record(ctx, user, "seed", seed(s.server, l.Seed)),
		record(ctx, user, "userSummary", userSummary(s.server, l.UserSummary)),
		record(ctx, user, "preferences", preferences(s.server, l.Preferences)),
		s.spines(ctx, user),
		pages("coach", viewCoach, func(p conversation.Page) ([]longterm.Coach, conversation.Position, error) {
			return l.Coaches.Coaches(ctx, user, p)
		}),
		all(ctx, user, "goal", goals(s.server, l.Goals)),
		all(ctx, user, "checkIn", checkIns(s.server, l.CheckIns, nil)),
		all(ctx, user, "memory", memories(s.server, l.Memories, nil)),
		all(ctx, user, "todo", todos(s.server, l.Todos, nil)),
		s.conversations(ctx, user),
		pages("prompt", func(r prompt.Record) prompt.Record { return r }, func(p conversation.Page) ([]prompt.Record, conversation.Position, error) {
			p.Limit = exportedPrompts
			return s.Prompts.ListFull(ctx, user, p)
		}),
	)
}

// conversations are the sessions, each with its messages behind it.
func (s exports) conversations(ctx context.Context, user conversation.UserID) iter.Seq2[line, error] {
	sessions := pages("session", viewSession, func(p conversation.Page) ([]conversation.Session, conversation.Position, error) {
		return s.Sessions.Sessions(ctx, user, conversation.SessionFilter{}, p)
	})
	return func(yield func(line, error) bool) {
		for l, err := range sessions {
			if !yield(l, err) || err != nil {
				return
			}
			id := l.record.(session).SessionID
			messages := pages("message", viewMessage, func(p conversation.Page) ([]conversation.Message, conversation.Position, error) {
				return s.Messages.Messages(ctx, user, id, p)
			})
			for m, err := range messages {
				// A session that is deleted while the export runs is no longer held.
				if fault.Is(err, fault.NotFound) {
					break
				}
				if !yield(m, err) {
					return
				}
			}
		}
	}
}

type spine struct {
	CoachID   string `json:"coachId"`
	Text      string `json:"text"`
	UpdatedAt *stamp `json:"updatedAt,omitempty"`
}

func (s exports) spines(ctx context.Context, user conversation.UserID) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		snapshot, err := s.Spines.LongTerm(ctx, user)
		if err != nil {
			yield(line{}, err)
			return
		}
		for _, coach := range slices.Sorted(maps.Keys(snapshot.Spines)) {
			one := snapshot.Spines[coach]
			if !yield(line{"spine", spine{one.CoachID, one.Text, stampOf(one.UpdatedAt)}}, nil) {
				return
			}
		}
	}
}

// record is the one record of a kind, if there is one.
func record[T, D any](ctx context.Context, user conversation.UserID, kind string, k singleton[T, D]) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		r, err := k.store.Get(ctx, user)
		if !fault.Is(err, fault.NotFound) {
			yield(line{kind, k.view(r)}, err)
		}
	}
}

// all are the records of a collection.
func all[T, N, P, V any](ctx context.Context, user conversation.UserID, kind string, k collection[T, N, P, V]) iter.Seq2[line, error] {
	return pages(kind, k.view, func(p conversation.Page) ([]T, conversation.Position, error) { return k.store.List(ctx, user, p) })
}

// exportPage is how many records are read at once; prompts are larger.
const (
	exportPage      = 200
	exportedPrompts = 10
)

// pages walks a list to its end.
func pages[T, V any](kind string, view func(T) V, fetch func(conversation.Page) ([]T, conversation.Position, error)) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		for at := conversation.Position(""); ; {
			items, next, err := fetch(conversation.Page{Limit: exportPage, After: at})
			if err != nil {
				yield(line{}, err)
				return
			}
			for _, item := range items {
				if !yield(line{kind, view(item)}, nil) {
					return
				}
			}
			if at = next; at == "" {
				return
			}
		}
	}
}

// chain walks one sequence after the other, and stops at the first error.
func chain(parts ...iter.Seq2[line, error]) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		for _, part := range parts {
			for l, err := range part {
				if !yield(l, err) || err != nil {
					return
				}
			}
		}
	}
}
