package httpapi

import (
	"encoding/json"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/longterm"
)

// moment is a day or a time in JSON.
type moment longterm.Moment

// UnmarshalJSON reads what is neither as the zero value, which Resolve reports.
func (m *moment) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	parsed, _ := longterm.ParseMoment(strings.ToUpper(value))
	*m = moment(parsed)
	return nil
}

// Schema describes both forms.
func (moment) Schema(huma.Registry) *huma.Schema {
	longest := 40
	return &huma.Schema{
		Type: huma.TypeString, MaxLength: &longest, Description: "A day, such as 2026-11-20, or an RFC 3339 time.",
		PatternDescription: "a day such as 2026-11-20, or an RFC 3339 time",
		Pattern: `^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])` +
			`([Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d))?$`,
		Examples: []any{"2026-11-20"},
	}
}

// Resolve reports a text that is neither a day nor a time.
func (m *moment) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	if !longterm.Moment(*m).IsZero() {
		return nil
	}
	return []error{&huma.ErrorDetail{Location: at.String(), Message: longterm.ErrMoment.Error()}}
}
