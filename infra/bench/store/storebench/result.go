package storebench

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/report"
)

// turnMessages is a turn: what the user says and what the assistant answers.
const turnMessages = 2

// PageMessages is a full page of GET /v1/sessions/{sessionId}/messages.
const PageMessages = 50

// Settings say how much is measured.
type Settings struct {
	// Lengths are the sessions' lengths in messages, ascending; 0 is a session that is still empty.
	Lengths []int `json:"lengths"`
	// Repeats is how often each contender does each thing at each length.
	Repeats int `json:"repeats"`
	// Seed makes the messages; the same seed makes the same ones.
	Seed uint64 `json:"seed"`
}

// Kind is what was measured.
type Kind string

// The kinds of work.
const (
	Turn   Kind = "turn"        // two messages stored
	Newest Kind = "newest page" // the latest messages, with no cursor
	Last   Kind = "last page"   // the end of a session, reached by a cursor from its beginning
)

// The contenders.
const (
	BareTurn      = "bare transaction"
	BareTurnKeyed = "bare transaction, key record"
	BareQuery     = "bare query"
	Warm          = "Throughline, warm"
	WarmKeyed     = "Throughline, warm, with key"
	Cold          = "Throughline, cold"
	ColdKeyed     = "Throughline, cold, with key"
	Array         = "embedded array"
)

// Row is one contender at one length.
type Row struct {
	Kind      Kind   `json:"kind"`
	Contender string `json:"contender"`
	// Length is the session's length in messages. Messages is how many messages one operation stored or returned.
	Length   int `json:"length"`
	Messages int `json:"messages"`
	Repeats  int `json:"repeats"`
	// Calls and Units are means over the repeats.
	Calls      float64 `json:"calls"`
	MostCalls  int     `json:"mostCalls"`
	WriteUnits float64 `json:"writeUnits"`
	ReadUnits  float64 `json:"readUnits"`
	MedianMS   float64 `json:"medianMs"`
	P95MS      float64 `json:"p95Ms"`
}

// Units returns the row's read and write units together.
func (r Row) Units() float64 { return r.WriteUnits + r.ReadUnits }

// ArrayEnd is the length at which the embedded array cannot grow.
type ArrayEnd struct {
	// Messages and Bytes are the item's size after the last turn that DynamoDB accepted.
	Messages int    `json:"messages"`
	Bytes    int    `json:"bytes"`
	Error    string `json:"error"`
}

// Result is everything that one run measured.
type Result struct {
	Settings Settings `json:"settings"`
	Rows     []Row    `json:"rows"`
	ArrayEnd ArrayEnd `json:"arrayEnd"`
	// Wrong counts the messages that paging through whole sessions missed, repeated or misplaced.
	Wrong int `json:"wrong"`
}

// Row returns one contender's row of a kind at a length.
func (r Result) Row(k Kind, contender string, length int) (Row, bool) {
	for _, row := range r.Rows {
		if row.Kind == k && row.Contender == contender && row.Length == length {
			return row, true
		}
	}
	return Row{}, false
}

// lengths returns the lengths at which a kind of work was measured. An empty session has no pages.
func (r Result) lengths(k Kind) []int {
	var out []int
	for _, length := range r.Settings.Lengths {
		if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Kind == k && row.Length == length }) {
			out = append(out, length)
		}
	}
	return out
}

// samples are the repeats of one contender at one length.
type samples struct {
	kind      Kind
	contender string
	next      step
	messages  int
	wall      []time.Duration
	calls     int
	mostCalls int
	units     capacity.Units
}

// measure takes the contender's next step.
func (s *samples) measure(ctx context.Context) error {
	all, messages, err := s.next(ctx)
	s.messages = messages
	for _, u := range all {
		s.wall = append(s.wall, u.Wall)
		s.calls += u.Calls
		s.mostCalls = max(s.mostCalls, u.Calls)
		s.units = s.units.Add(u.Units)
	}
	return err
}

func (s *samples) row(length int) Row {
	n := float64(len(s.wall))
	return Row{
		Kind: s.kind, Contender: s.contender, Length: length, Messages: s.messages, Repeats: len(s.wall),
		Calls: float64(s.calls) / n, MostCalls: s.mostCalls, WriteUnits: s.units.Write / n, ReadUnits: s.units.Read / n,
		MedianMS: milliseconds(report.Median(s.wall)), P95MS: milliseconds(report.Quantile(s.wall, 0.95)),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
