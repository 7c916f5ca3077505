package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// timestamp is a time as the API writes it: RFC 3339, UTC, milliseconds. It reads any offset and any precision and
// keeps what it read, so that times are compared before they are cut to milliseconds.
type timestamp time.Time

// timeRule describes a valid time. It follows "must be".
const timeRule = "an RFC 3339 time from 0001-01-01T00:00:00.001Z to 9999-12-31T23:59:59.999Z, " +
	"such as 2026-02-05T18:30:00.000Z"

// timePattern is the form of a time. Go's parser alone would accept more (https://go.dev/issue/54580).
const timePattern = `^(000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?` +
	`([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`

// timeForm is timePattern, compiled when the first time is read.
var timeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(timePattern) })

// MarshalText, UnmarshalText, UnmarshalJSON and Schema make a timestamp a date-time in JSON, in a query and in the
// OpenAPI document.
func (t timestamp) MarshalText() ([]byte, error) {
	return []byte(conversation.FormatTime(time.Time(t))), nil
}

// UnmarshalText accepts T and Z in either case (RFC 3339, section 5.6). It accepts the years 1 to 9999 only, because
// stored times sort as text. The first millisecond of the year 1 is Go's zero time and means "no time".
func (t *timestamp) UnmarshalText(text []byte) error {
	var parsed time.Time
	err := parsed.UnmarshalText(bytes.ToUpper(text))
	stored := conversation.Milliseconds(parsed)
	latest := parsed.Add(time.Millisecond - 1).UTC()
	if err != nil || !timeForm().Match(text) || stored.IsZero() || stored.Year() < 1 || latest.Year() > 9999 {
		return errors.New("must be " + timeRule)
	}
	*t = timestamp(parsed.UTC())
	return nil
}

// UnmarshalJSON reads an impossible time, such as the 30th of February, as the zero time, which Resolve reports.
func (t *timestamp) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	if t.UnmarshalText([]byte(value)) != nil {
		*t = timestamp{}
	}
	return nil
}

// Schema puts the format and the pattern into extensions, where huma does not check them. Huma's check of the format
// refuses lower case and accepts commas, and it would compile the pattern for each field of each request and answer,
// which takes start-up time. UnmarshalText checks both.
func (timestamp) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Extensions: map[string]any{"format": "date-time", "pattern": timePattern},
		PatternDescription: timeRule, Description: strings.ToUpper(timeRule[:1]) + timeRule[1:] + ".",
		Examples: []any{"2026-02-05T18:30:00.000Z"},
	}
}

func (t timestamp) time() time.Time { return time.Time(t) }

// newTimestamp returns nil for the zero time, which is written as null or not at all.
func newTimestamp(t time.Time) *timestamp {
	if t.IsZero() {
		return nil
	}
	out := timestamp(t)
	return &out
}

// exactTime returns the time as the client sent it, or the zero time for nil.
func exactTime(t *timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.time()
}

// Resolve reports a text in a body that is not a time. In a query, UnmarshalText has done so.
func (t *timestamp) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	if !t.time().IsZero() || strings.HasPrefix(at.String(), "query") {
		return nil
	}
	return []error{&huma.ErrorDetail{Location: at.String(), Message: "must be " + timeRule}}
}

// checkSpan refuses a span that ends before it begins. A zero time is open.
func checkSpan(from, to time.Time) error {
	if from.IsZero() || to.IsZero() || !to.Before(from) {
		return nil
	}
	return fault.InvalidField("to", "lies before from")
}
