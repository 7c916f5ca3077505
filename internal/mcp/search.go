package mcp

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/secret"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

const (
	defaultFound = 10
	maxFound     = 50
	// maxQuery is the longest query in characters, as in the HTTP API.
	maxQuery = 8192
	// maxText is the most bytes of one stored text that an answer has.
	maxText     = 4 << 10
	defaultDays = 7
	maxDays     = 365
)

type searchInput struct {
	Query    string   `json:"query" jsonschema:"What to look for, in words."`
	Kinds    []string `json:"kinds,omitempty" jsonschema:"Only these kinds of records. Default: all."`
	Contexts []string `json:"contexts,omitempty" jsonschema:"Only sessions of these contexts. Leaves facts out."`
	From     string   `json:"from,omitempty" jsonschema:"The earliest time, RFC 3339."`
	To       string   `json:"to,omitempty" jsonschema:"The first time after the span, RFC 3339."`
	Limit    *int     `json:"limit,omitempty" jsonschema:"The most records. Default: 10."`
}

// found is a message, a summary, a memory or a document.
type found struct {
	Kind       string  `json:"kind" jsonschema:"message, summary, memory or document."`
	ID         string  `json:"id,omitempty" jsonschema:"Of a memory or a message; of a document its namespace and key."`
	Text       string  `json:"text" jsonschema:"The stored text."`
	Truncated  bool    `json:"truncated,omitempty" jsonschema:"Whether the stored text is longer."`
	Score      float64 `json:"score" jsonschema:"The estimated probability that it helps to answer the query."`
	Type       string  `json:"type,omitempty" jsonschema:"The type of a memory."`
	About      string  `json:"about,omitempty" jsonschema:"Whom a memory concerns. Absent for the user."`
	Role       string  `json:"role,omitempty" jsonschema:"Who wrote a message."`
	Context    string  `json:"context,omitempty" jsonschema:"The surface of the session."`
	SessionID  string  `json:"sessionId,omitempty"`
	OccurredAt string  `json:"occurredAt,omitempty" jsonschema:"When it was said."`
}

type searchOutput struct {
	Notice   string   `json:"notice"`
	Items    []found  `json:"items" jsonschema:"The most relevant first."`
	Degraded []string `json:"degraded,omitempty" jsonschema:"The sources that did not answer."`
}

type recentInput struct {
	Contexts []string `json:"contexts,omitempty" jsonschema:"Only sessions of these contexts. Default: all."`
	Days     *int     `json:"days,omitempty" jsonschema:"How far back. Default: 7."`
	Limit    *int     `json:"limit,omitempty" jsonschema:"The most sessions. Default: 5."`
}

// activity is what one session came to.
type activity struct {
	Context    string `json:"context"`
	SessionID  string `json:"sessionId"`
	Text       string `json:"text" jsonschema:"The session's summary."`
	OccurredAt string `json:"occurredAt"`
	Age        string `json:"age" jsonschema:"How long ago, in words."`
	InProgress bool   `json:"inProgress,omitempty" jsonschema:"Whether the session goes on."`
}

type recentOutput struct {
	Notice   string     `json:"notice"`
	Items    []activity `json:"items" jsonschema:"The newest first."`
	Degraded []string   `json:"degraded,omitempty"`
}

func (h *handler) addSearch(s *sdk.Server) {
	add(h, s, tool{
		name: "search", title: "Search memory", hints: hints{reads: true},
		does: "Find what this user said, did or wants, across all conversations: messages, summaries, documents and " +
			"facts in one order, the most relevant first. The ids of facts are those that update_memory and forget take.",
		limit: func(p map[string]*jsonschema.Schema) {
			length(p["query"], 1, maxQuery)
			oneOf(p["kinds"], recall.Kinds())
			oneOf(p["contexts"], conversation.Contexts())
			between(p["limit"], 1, maxFound)
			p["from"].Format, p["to"].Format = "date-time", "date-time"
		},
	}, h.search)
	add(h, s, tool{
		name: "recent_activity", title: "Recent activity", hints: hints{reads: true},
		does: "What the user did last: the newest summaries of sessions across all surfaces, the newest first.",
		limit: func(p map[string]*jsonschema.Schema) {
			oneOf(p["contexts"], conversation.Contexts())
			between(p["days"], 1, maxDays)
			between(p["limit"], 1, recall.MaxSummaries)
		},
	}, h.recent)
}

func (h *handler) search(ctx context.Context, c Caller, in searchInput) (searchOutput, error) {
	from, err := parseTime("from", in.From)
	if err != nil {
		return searchOutput{}, err
	}
	to, err := parseTime("to", in.To)
	if err != nil {
		return searchOutput{}, err
	}
	limit := valueOr(in.Limit, defaultFound)
	got, err := h.Search.Records(ctx, c.User, recall.RecordQuery{
		MessageQuery: recall.MessageQuery{Query: in.Query, Contexts: in.Contexts, From: from, To: to, Limit: &limit},
		Kinds:        in.Kinds,
	})
	if err != nil {
		return searchOutput{}, err
	}
	records := secret.Without(got.Records, recall.Record.Text)
	out := searchOutput{Notice: notice, Items: make([]found, len(records)), Degraded: degraded(got.Degraded)}
	for i, r := range records {
		out.Items[i] = toFound(r)
	}
	return out, nil
}

func toFound(r recall.Record) found {
	out := found{Score: r.Score}
	out.Text, out.Truncated = shown(r.Text())
	switch {
	case r.Message != nil:
		m := r.Message
		out.Kind, out.ID, out.Role = recall.MessageKind, m.ID, string(m.Role)
		out.Context, out.SessionID = m.Context, m.SessionID
		out.OccurredAt = conversation.FormatTime(m.Timestamp)
	case r.Summary != nil:
		s := r.Summary
		out.Kind, out.Context, out.SessionID, out.OccurredAt = recall.SummaryKind, s.Context, s.SessionID, s.OccurredAt
	case r.Memory != nil:
		m := r.Memory
		out.Kind, out.ID, out.Type, out.About = recall.MemoryKind, m.ID, string(m.Type), untrusted.OneLine(m.About)
		out.OccurredAt = conversation.FormatTime(m.Said())
	case r.Document != nil:
		d := r.Document
		place := append(slices.Clone([]string(d.Namespace)), d.Key)
		out.Kind, out.ID = recall.DocumentKind, untrusted.OneLine(strings.Join(place, "/"))
		out.OccurredAt = conversation.FormatTime(d.UpdatedAt)
	}
	return out
}

func (h *handler) recent(ctx context.Context, c Caller, in recentInput) (recentOutput, error) {
	const day = 24 * time.Hour
	got, err := h.Search.Recent(ctx, c.User, recall.RecentQuery{
		Contexts: in.Contexts, Within: time.Duration(valueOr(in.Days, defaultDays)) * day,
		Limit: valueOr(in.Limit, recall.MaxSummaries/2),
	})
	if err != nil {
		return recentOutput{}, err
	}
	summaries := secret.Without(got.Summaries, func(s recall.SummaryHit) string { return s.Text })
	out := recentOutput{Notice: notice, Items: make([]activity, len(summaries)), Degraded: degraded(got.Degraded)}
	for i, s := range summaries {
		text, _ := shown(s.Text)
		out.Items[i] = activity{
			Context: s.Context, SessionID: s.SessionID, Text: text, OccurredAt: s.OccurredAt, Age: s.AgeLabel,
			InProgress: s.InProgress,
		}
	}
	return out, nil
}

// shown returns a stored text as an answer has it, and whether it is cut.
func shown(text string) (string, bool) {
	clean := untrusted.Clean(text)
	if len(clean) <= maxText {
		return clean, false
	}
	return truncate.Bytes(clean, maxText), true
}

// degraded names the sources that did not answer, and why.
func degraded(sources []recall.Degradation) []string {
	var out []string
	for _, d := range sources {
		out = append(out, d.Source+": "+d.Reason)
	}
	return out
}

func parseTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fault.InvalidField(field, "must be an RFC 3339 time, such as 2026-02-05T18:30:00Z")
	}
	return at, nil
}

func valueOr(given *int, otherwise int) int {
	if given == nil {
		return otherwise
	}
	return *given
}
