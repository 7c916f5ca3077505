package httpapi

import (
	"bytes"
	"cmp"
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
	// Size is how many bytes an answer has at most, give or take a page; 150 MiB by default.
	Size int64
}

// exportSize is how much of an export one answer has: a function streams 200 MB at most (AWS Lambda Developer Guide,
// "Response streaming"). exportReserve is the time before its deadline at which an answer ends.
const (
	exportSize    = 150 << 20
	exportReserve = 20 * time.Second
)

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
	register(s.server, op("GET /v1/export", "export", longTermTag, "Export everything, streaming",
		"Everything that is stored about the user, one record per line with its kind. What no operation returns, "+
			"such as the summaries of sessions, has its key and its record as they are stored. A line of the kind left "+
			"counts the records beside them that are the app's own. The last line has the kind end and counts the lines "+
			"before it in this answer, or, where there is more than one answer holds, the kind cursor: ask again with its "+
			"after. If the export fails, the last line has the kind error and a problem. Without the scope "+ScopeApp+
			", coaches have no persona and prompts no text. Where the answers of a user at once have a bound, a user has "+
			"one export at a time, and another is 429 with Retry-After.",
	).streams(ndjson, exportExample, exportSchema), s.export)
}

// exportSchema is the schema of the lines together, which are no JSON value.
func exportSchema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// exportLine is one line of an export. Without a kind it is no line but a place where another answer can go on.
type exportLine struct {
	kind   string
	record any
	next   exportPosition
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

// exportInput says where an export goes on.
type exportInput struct {
	After string `query:"after" maxLength:"8192" doc:"The after of the line with the kind cursor, where an export ended."`
}

// export reads the first record before it begins the stream, so that a failure of the store is an ordinary error.
func (s exports) export(ctx context.Context, c Caller, in *exportInput) (*streamOutput, error) {
	scope := cursorScope{user: c.User, path: http.MethodGet + " /v1/export"}
	after, err := s.openExport(scope, in.After)
	if err != nil {
		return nil, err
	}
	end, err := s.Limit.BeginExport(ctx, c.User)
	if err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(s.lines(ctx, c, after))
	first, err, ok := next()
	for ok && err == nil && first.kind == "" { // a place before the first record
		first, err, ok = next()
	}
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
			switch {
			case l.kind != "":
				if !out.send(l.kind, l.record) {
					return
				}
			case s.isFull(ctx, out):
				out.send("cursor", map[string]string{"after": s.cursors.seal(scope, l.next.position())})
				return
			}
		}
		out.send("end", map[string]int{"records": out.sent})
	}}, nil
}

// isFull reports whether an answer has as much as one answer may have, or as its time allows.
func (s exports) isFull(ctx context.Context, out *lineWriter) bool {
	deadline, ok := ctx.Deadline()
	return out.size >= cmp.Or(s.Size, exportSize) || (ok && time.Until(deadline) < exportReserve)
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
	size int64
}

// send reports whether the line was sent.
func (o *lineWriter) send(kind string, record any) bool {
	text, err := exportLine{kind: kind, record: record}.MarshalJSON()
	if err != nil {
		return false
	}
	n, err := o.w.Write(append(text, '\n'))
	if err != nil {
		return false
	}
	o.sent++
	o.size += int64(n)
	return flush(o.w) == nil
}
