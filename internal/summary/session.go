package summary

import (
	"crypto/sha256"
	"fmt"

	"github.com/throughline/throughline/internal/conversation"
)

// Of is the summary that a session carries, as far as the session knows it; false where there is none. Its time is that
// of the session's last message, which the summary covers or is about to.
func Of(s conversation.Session) (Summary, bool) {
	surface, err := conversation.SurfaceOf(s.Context)
	if err != nil || s.Summary == nil {
		return Summary{}, false
	}
	return Summary{
		RecordType: surface.Writes, SubjectID: subject(s, surface), SessionID: s.ID, Context: s.Context, CoachID: s.CoachID,
		Text: s.Summary.Text, Kind: s.Summary.Kind, InProgress: s.Status != conversation.Completed,
		CoveredThrough: s.Summary.CoveredThrough, OccurredAt: s.LastMessageAt, UpdatedAt: s.Summary.UpdatedAt,
		Fields: fields(s, surface), Generation: s.Generation,
	}, true
}

// subject is what the context keeps one summary of: the program or workout that the session's attributes name, else
// the session itself (design 3).
func subject(s conversation.Session, surface conversation.Surface) string {
	if surface.SubjectAttribute != "" {
		id := identifier(s.Attributes[surface.SubjectAttribute])
		if conversation.ValidID(id) {
			return id
		}
		if id != "" {
			return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id))) // a key holds nothing but ids
		}
	}
	return s.ID
}

// identifier writes an attribute that names a thing: a text or a number.
func identifier(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case nil, bool, []any, map[string]any:
		return ""
	}
	return fmt.Sprint(value)
}

// fields are the record type's own: what its context takes from the session's attributes (design 3.1).
func fields(s conversation.Session, surface conversation.Surface) map[string]any {
	out := make(map[string]any, len(surface.FieldAttributes))
	for _, name := range surface.FieldAttributes {
		if value, ok := s.Attributes[name]; ok && value != nil {
			out[name] = value
		}
	}
	return out
}
