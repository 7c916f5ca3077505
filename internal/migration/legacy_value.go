package migration

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// roles are the names that apps and model services give to roles.
var roles = map[string]conversation.Role{
	"user": conversation.RoleUser, "human": conversation.RoleUser,
	"assistant": conversation.RoleAssistant, "ai": conversation.RoleAssistant, "bot": conversation.RoleAssistant,
	"coach": conversation.RoleAssistant, "model": conversation.RoleAssistant,
	"system": conversation.RoleSystem,
}

// roleOf returns the role that an entry's value means. Every unknown one is system, which no prompt shows. A value
// that is not the role's own name is kept.
func roleOf(v any, kept map[string]any) conversation.Role {
	name, _ := v.(string)
	role, known := roles[strings.ToLower(strings.TrimSpace(name))]
	if !known {
		role = conversation.RoleSystem
	}
	if v != nil && name != string(role) {
		kept[keptRole] = v
	}
	return role
}

// contentOf returns the text of an entry's content: a text as it is, a list of parts as the text of its parts, a line
// each, and anything else as its JSON. A value that is no text is kept as JSON.
func contentOf(v any, kept map[string]any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		kept[keptContent] = jsonOf(v)
		return partsText(v)
	}
	text := jsonOf(v)
	kept[keptContent] = text
	return text
}

// partsText returns the texts of a list of parts. A part is a text, or a map with its text as text or content.
func partsText(parts []any) string {
	lines := make([]string, 0, len(parts))
	for _, p := range parts {
		if text, ok := partText(p); ok {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

func partText(part any) (string, bool) {
	fields, ok := part.(map[string]any)
	if !ok {
		text, isText := part.(string)
		return text, isText
	}
	for _, name := range []string{"text", fieldContent} {
		if text, isText := fields[name].(string); isText {
			return text, true
		}
	}
	return "", false
}

// jsonOf returns a document as JSON, for people: without the escapes of HTML.
func jsonOf(v any) string {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null" // not a document
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// Known times are in these years, so that the times beside them fit keys too. Numbers below secondsBelow are seconds
// since 1970, the others milliseconds.
const (
	minYear, maxYear = 2, 9998
	secondsBelow     = 1e11
)

// zoned are the layouts of times with a zone, plain those without one, which are in UTC. Go accepts a fraction of a
// second after the seconds of a layout.
var (
	zoned = []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700"}
	plain = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"}
)

// TimeOf reads the time of an entry, to the millisecond: a number, a text of a number, or an ISO time.
func TimeOf(v any) (time.Time, bool) {
	at, ok := exactTime(v)
	if at = conversation.Milliseconds(at); !ok || !inRange(at) {
		return time.Time{}, false
	}
	return at, true
}

func inRange(at time.Time) bool { return at.Year() >= minYear && at.Year() <= maxYear }

func exactTime(v any) (time.Time, bool) {
	switch v := v.(type) {
	case float64:
		return epoch(v)
	case string:
		text := strings.TrimSpace(v)
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return epoch(n)
		}
		for _, layouts := range [][]string{zoned, plain} {
			for _, layout := range layouts {
				if at, err := time.Parse(layout, text); err == nil {
					return at, true
				}
			}
		}
	}
	return time.Time{}, false
}

func epoch(n float64) (time.Time, bool) {
	if math.IsNaN(n) || math.Abs(n) > 1e15 {
		return time.Time{}, false
	}
	if math.Abs(n) < secondsBelow {
		n *= 1000
	}
	return time.UnixMilli(int64(math.Round(n))), true
}

// denotes reports whether an entry's value is that very time.
func denotes(v any, at time.Time) bool {
	exact, ok := exactTime(v)
	return ok && exact.Equal(at)
}
