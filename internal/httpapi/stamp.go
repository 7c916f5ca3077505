package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// stamp is a time as the API writes it: RFC 3339, UTC, milliseconds. It reads any offset and any precision, and keeps
// what it read, so that times are compared as they were sent before they are cut to what is stored.
type stamp time.Time

// stampRule says in words what a time has to be.
const stampRule = "an RFC 3339 time from 0001-01-01T00:00:00.001Z to 9999-12-31T23:59:59.999Z, such as 2026-02-05T18:30:00.000Z"

// MarshalText, UnmarshalText, UnmarshalJSON and Schema make a stamp a date-time in JSON, in a query and in the document.
func (s stamp) MarshalText() ([]byte, error) {
	return []byte(conversation.FormatTime(time.Time(s))), nil
}

// UnmarshalText takes the two letters in either case (RFC 3339, section 5.6), and as text times have to sort as they
// follow each other, which those of the years 1 to 9999 do. Their first millisecond is left out: it stands for no time.
func (s *stamp) UnmarshalText(text []byte) error {
	var t time.Time
	err := t.UnmarshalText(bytes.ToUpper(text)) // unlike time.Parse, it takes what the RFC does and nothing else
	stored := conversation.Milliseconds(t)
	if err != nil || stored.IsZero() || stored.Year() < 1 || t.Add(time.Millisecond-1).UTC().Year() > 9999 {
		return errors.New("must be " + stampRule)
	}
	*s = stamp(t.UTC())
	return nil
}

// UnmarshalJSON reads what is no time, such as the 30th of February, as none: check knows the name of its field.
func (s *stamp) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	if s.UnmarshalText([]byte(value)) != nil {
		*s = stamp{}
	}
	return nil
}

// Schema names the format where huma does not look for it: its own check refuses lower case, and takes commas.
func (stamp) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Extensions: map[string]any{"format": "date-time"}, PatternDescription: stampRule,
		Description: strings.ToUpper(stampRule[:1]) + stampRule[1:] + ".",
		Pattern:     `^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`,
		Examples:    []any{"2026-02-05T18:30:00.000Z"},
	}
}

func (s stamp) time() time.Time { return time.Time(s) }

// stampOf writes a time, and null (or nothing) where there is none.
func stampOf(t time.Time) *stamp {
	if t.IsZero() {
		return nil
	}
	s := stamp(t)
	return &s
}

// sent is the time of an optional stamp as it was sent, zero where there is none.
func sent(s *stamp) time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.time()
}

// timeOf is the time of an optional stamp as it is stored, zero where there is none.
func timeOf(s *stamp) time.Time { return conversation.Milliseconds(sent(s)) }

// check says that a field's text is no time.
func (s *stamp) check(field string) []fault.Field {
	if s == nil || !s.time().IsZero() {
		return nil
	}
	return []fault.Field{{Field: field, Message: "must be " + stampRule}}
}
