package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
)

// ExportLimit bounds the exports of a user that run at once.
type ExportLimit interface {
	// BeginExport returns a RateLimited error with RetryAfter when there are as many as may be. The caller calls end when
	// the export has ended. An export that is never ended counts until the deadline of ctx.
	BeginExport(ctx context.Context, user conversation.UserID) (end func(context.Context) error, err error)
}

// ExportDeps are the stores that an export reads. All are required.
type ExportDeps struct {
	Sessions  conversation.SessionStore
	Messages  conversation.MessageStore
	LongTerm  LongTerm
	Spines    longterm.SpineReader
	Documents document.Reader
	Prompts   PromptLister
	Usage     UsageReader
	Held      HeldReader
	Limit     ExportLimit
}

// HeldReader lists the records in a user's partition that no other list of the export has.
type HeldReader interface {
	Held(ctx context.Context, user conversation.UserID, page conversation.Page) (
		[]conversation.Held, conversation.Position, error)
}

// UsageReader reads how many tokens of the models a user spent, by day.
type UsageReader interface {
	Usage(ctx context.Context, user conversation.UserID) ([]conversation.DayUsage, error)
}

// PromptLister lists the stored prompts of a user with their manifests and texts.
type PromptLister interface {
	ListFull(ctx context.Context, user conversation.UserID, page conversation.Page) (
		[]prompt.Record, conversation.Position, error)
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
		method: http.MethodGet, path: "/v1/export", id: "export", tag: longTermTag, summary: "Export everything, streaming",
		produces: ndjson, example: exportExample,
		detail: "Everything that is stored about the user, one record per line with its kind. What no operation returns, " +
			"such as the former titles of sessions, has its key and its record as they are stored. A line of the kind left " +
			"counts the records beside them that are the app's own. The last line has the kind end and " +
			"counts the lines before it. If the export fails, the last line has the kind error and a problem. Without the " +
			"scope " + ScopeApp + ", coaches have no persona and prompts no text. Where the answers of a user at once have " +
			"a bound, a user has one export at a time, and another is 429 with Retry-After.",
	}, s.export)
}

// exportLine is one line of an export.
type exportLine struct {
	kind   string
	record any
}

// MarshalJSON writes the record with its kind before its own fields.
func (l exportLine) MarshalJSON() ([]byte, error) {
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

// export reads the first record before it begins the stream, so that a failure of the store is an ordinary error.
func (s exports) export(ctx context.Context, c Caller, _ *noInput) (*streamOutput, error) {
	end, err := s.Limit.BeginExport(ctx, c.User)
	if err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(s.lines(ctx, c))
	first, err, ok := next()
	if err != nil {
		stop()
		s.end(ctx, end)
		return nil, err
	}
	return &streamOutput{ContentType: ndjson, CacheControl: "no-store, no-transform", Body: func(hc huma.Context) {
		defer s.end(ctx, end)
		defer stop()
		hc.SetStatus(http.StatusOK)
		if hc.Method() == http.MethodHead {
			return
		}
		out := &lineWriter{w: hc.BodyWriter()}
		defer s.recoverExport(ctx, out)
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

// endTimeout limits the call that ends an export.
const endTimeout = 3 * time.Second

// end gives the export's permit back, even if the client is gone. A permit that cannot be given back lapses.
func (s exports) end(ctx context.Context, end func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := end(ctx); err != nil {
		s.Log.WarnContext(ctx, "end export", "error", err.Error())
	}
}

// recoverExport ends an export that panicked with an error line, because a client could take a cut stream for a whole
// one.
func (s exports) recoverExport(ctx context.Context, out *lineWriter) {
	if v := recover(); v != nil {
		s.logPanic(ctx, "export", v)
		out.send("error", problemOf(fault.New(fault.Internal, "")))
	}
}

// lineWriter writes one record per line.
type lineWriter struct {
	w    io.Writer
	sent int
}

// send reports whether the line was sent.
func (o *lineWriter) send(kind string, record any) bool {
	text, err := exportLine{kind, record}.MarshalJSON()
	if err != nil {
		return false
	}
	if _, err := o.w.Write(append(text, '\n')); err != nil {
		return false
	}
	o.sent++
	return flush(o.w) == nil
}

// lines reads everything that is stored about the caller, a page at a time.
func (s exports) lines(ctx context.Context, c Caller) iter.Seq2[exportLine, error] {
	l, user := s.LongTerm, c.User
	return concat(
		singletonLine(ctx, user, "profile", profile(s.server, l.Profile)),
		singletonLine(ctx, user, "seed", seed(s.server, l.Seed)),
		singletonLine(ctx, user, "userSummary", userSummary(s.server, l.UserSummary)),
		singletonLine(ctx, user, "preferences", preferences(s.server, l.Preferences)),
		s.spines(ctx, user),
		s.usage(ctx, user),
		listLines("coach", c.coachFor, func(p conversation.Page) ([]longterm.Coach, conversation.Position, error) {
			return l.Coaches.Coaches(ctx, user, p)
		}),
		collectionLines(ctx, user, "goal", goals(s.server, l.Goals)),
		collectionLines(ctx, user, "checkIn", checkIns(s.server, l.CheckIns, nil)),
		collectionLines(ctx, user, "memory", memories(s.server, l.Memories, nil)),
		collectionLines(ctx, user, "todo", todos(s.server, l.Todos, nil)),
		listLines("document", toDocument, func(p conversation.Page) ([]document.Document, conversation.Position, error) {
			return s.Documents.Documents(ctx, user, nil, nil, p)
		}),
		s.conversations(ctx, user),
		listLines("prompt", c.promptFor,
			func(p conversation.Page) ([]prompt.Record, conversation.Position, error) {
				p.Limit = exportedPrompts
				return s.Prompts.ListFull(ctx, user, p)
			}),
		s.held(ctx, user),
	)
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

// held reads what the other lists do not have, and counts what is the app's own.
func (s exports) held(ctx context.Context, user conversation.UserID) iter.Seq2[exportLine, error] {
	return func(yield func(exportLine, error) bool) {
		left := leftRecords{map[string]int{}}
		fetch := func(p conversation.Page) ([]conversation.Held, conversation.Position, error) {
			return s.Held.Held(ctx, user, p)
		}
		for l, err := range listLines("", asIs[conversation.Held], fetch) {
			h, _ := l.record.(conversation.Held)
			switch {
			case err == nil && h.Kind == "":
				left.Records[h.Key]++
				continue
			case !yield(exportLine{h.Kind, heldRecord{h.Key, h.Record}}, err) || err != nil:
				return
			}
		}
		if len(left.Records) > 0 {
			yield(exportLine{"left", left}, nil)
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
func (s exports) conversations(ctx context.Context, user conversation.UserID) iter.Seq2[exportLine, error] {
	sessions := listLines("session", toSession,
		func(p conversation.Page) ([]conversation.Session, conversation.Position, error) {
			return s.Sessions.Sessions(ctx, user, conversation.SessionFilter{}, p)
		})
	return func(yield func(exportLine, error) bool) {
		for l, err := range sessions {
			if !yield(l, err) || err != nil {
				return
			}
			id := l.record.(session).SessionID
			messages := listLines("message", toMessage,
				func(p conversation.Page) ([]conversation.Message, conversation.Position, error) {
					return s.Messages.Messages(ctx, user, id, p)
				})
			for m, err := range messages {
				// The session was deleted while the export ran.
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

// usage reads what the user spent, which is one list.
func (s exports) usage(ctx context.Context, user conversation.UserID) iter.Seq2[exportLine, error] {
	return listLines("usage", asIs,
		func(conversation.Page) ([]conversation.DayUsage, conversation.Position, error) {
			days, err := s.Usage.Usage(ctx, user)
			return days, "", err
		})
}

// spines reads the spines, also what no prompt may tell. They are one list.
func (s exports) spines(ctx context.Context, user conversation.UserID) iter.Seq2[exportLine, error] {
	return listLines("spine", asIs, func(conversation.Page) ([]spine, conversation.Position, error) {
		found, preferences, err := s.Spines.Spines(ctx, user)
		whole := func(one longterm.Spine) spine { return toSpine(one, preferences) }
		return converted(found, whole), "", err
	})
}

// singletonLine reads the one record of a kind, if there is one.
func singletonLine[T, In, Doc any](
	ctx context.Context, user conversation.UserID, kind string, k singleton[T, In, Doc],
) iter.Seq2[exportLine, error] {
	return func(yield func(exportLine, error) bool) {
		r, err := k.store.Get(ctx, user)
		if !fault.Is(err, fault.NotFound) {
			yield(exportLine{kind, k.toDoc(r)}, err)
		}
	}
}

// collectionLines reads the records of a collection.
func collectionLines[T, N, P, V any](
	ctx context.Context, user conversation.UserID, kind string, k collection[T, N, P, V],
) iter.Seq2[exportLine, error] {
	return listLines(kind, k.toView, func(p conversation.Page) ([]T, conversation.Position, error) {
		return k.store.List(ctx, user, p)
	})
}

// How many records are read at once. Prompts are larger.
const (
	exportPage      = 200
	exportedPrompts = 10
)

// listLines reads a list to its end.
func listLines[T, V any](
	kind string, convert func(T) V, fetch func(conversation.Page) ([]T, conversation.Position, error),
) iter.Seq2[exportLine, error] {
	return func(yield func(exportLine, error) bool) {
		for at := conversation.Position(""); ; {
			items, next, err := fetch(conversation.Page{Limit: exportPage, After: at})
			if err != nil {
				yield(exportLine{}, err)
				return
			}
			for _, item := range items {
				if !yield(exportLine{kind, convert(item)}, nil) {
					return
				}
			}
			if at = next; at == "" {
				return
			}
		}
	}
}

// concat yields one sequence after the other. It stops at the first error.
func concat(parts ...iter.Seq2[exportLine, error]) iter.Seq2[exportLine, error] {
	return func(yield func(exportLine, error) bool) {
		for _, part := range parts {
			for l, err := range part {
				if !yield(l, err) || err != nil {
					return
				}
			}
		}
	}
}
