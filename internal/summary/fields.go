package summary

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// TriggerReason says why a summary was written. It is a field of conversation summaries.
type TriggerReason string

// The reasons for a summary.
const (
	Completed         TriggerReason = "completed"
	Left              TriggerReason = "left"
	NavigatedAway     TriggerReason = "navigated_away"
	MessageCount      TriggerReason = "message_count"
	Idle              TriggerReason = "idle"
	AttributesChanged TriggerReason = "attributes_changed"
)

// rating is how the model rates a conversation.
type rating struct {
	Confidence        float64 `json:"confidence"`
	HasGoals          bool    `json:"hasGoals"`
	HasProgress       bool    `json:"hasProgress"`
	HasEmotionalState bool    `json:"hasEmotionalState"`
}

func (r rating) fields() map[string]any {
	return map[string]any{
		"confidence": min(max(r.Confidence, 0), 1),
		"hasGoals":   r.HasGoals, "hasProgress": r.HasProgress, "hasEmotionalState": r.HasEmotionalState,
	}
}

// fields are the fields of the session's record type: what the summary itself has, the attributes, and the session's
// id. An attribute takes the place of what the model wrote.
func fields(s conversation.Session, appContext conversation.AppContext, own map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, own)
	maps.Copy(out, ownAttributes(s, appContext))
	if appContext.Summary.IDField != "" {
		out[appContext.Summary.IDField] = s.ID
	}
	return out
}

// ownAttributes are the attributes of a session that are fields of its summary.
func ownAttributes(s conversation.Session, appContext conversation.AppContext) map[string]any {
	out := map[string]any{}
	for name, value := range s.Attributes {
		if _, ok := fieldOf(appContext, name); ok && value != nil {
			out[name] = value
		}
	}
	return out
}

func fieldOf(appContext conversation.AppContext, attribute string) (registry.Field, bool) {
	name, _, _ := strings.Cut(attribute, ".")
	fields := appContext.Summary.Fields
	i := slices.IndexFunc(fields, func(f registry.Field) bool { return f.Name == name || f.Name == attribute })
	if i < 0 {
		return registry.Field{}, false
	}
	return fields[i], true
}

// subject is the id of what the session's summary is about: the program or workout that its attributes name, else the
// session.
func subject(s conversation.Session, appContext conversation.AppContext) string {
	switch id := s.Attributes[appContext.Summary.Subject].(type) {
	case string:
		if id != "" {
			return id
		}
	case float64:
		return strconv.FormatFloat(id, 'f', -1, 64)
	}
	return s.ID
}

// The two kinds of digests. A summary of messages has a digest of the attributes that are its fields. A summary that
// was made from the attributes of a session has a digest of all of them.
const (
	fieldsDigest     = "fields:"
	attributesDigest = "attributes:"
)

// digest identifies the values of attributes.
func digest(attributes map[string]any) string {
	text, err := json.Marshal(attributes) // sorts the names
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// digestOf is the digest of a session's attributes for a new summary. It is empty for a summary of messages without
// fields.
func digestOf(s conversation.Session, appContext conversation.AppContext, ofAttributes bool) string {
	if ofAttributes {
		return attributesDigest + digest(s.Attributes)
	}
	if own := ownAttributes(s, appContext); len(own) > 0 {
		return fieldsDigest + digest(own)
	}
	return ""
}

// madeOfAttributes reports whether a session's summary was made from its attributes.
func madeOfAttributes(s conversation.Session) bool {
	return s.Summary != nil && strings.HasPrefix(s.Summary.Digest, attributesDigest)
}

// IsOutdated reports whether the attributes of a session have changed since its summary was made, or whether a
// completed session has attributes to summarise and nothing else.
func IsOutdated(s conversation.Session) bool {
	appContext, err := conversation.AppContextOf(s.Context)
	if err != nil {
		return false
	}
	if s.Summary == nil {
		return s.Status == conversation.Completed && s.Summarized.Seq >= s.LastSeq &&
			len(describe(s.Attributes, time.UTC)) > 0
	}
	return digestOf(s, appContext, madeOfAttributes(s)) != s.Summary.Digest
}

// occurredAt is the time of a summary that covers a session through its last message. A session without messages
// occurred when its attribute completedAt says, if that is a time before the session's completion, and else when it
// was completed.
func occurredAt(s conversation.Session, appContext conversation.AppContext) time.Time {
	at := s.LastActiveAt()
	if at.IsZero() {
		at = s.CreatedAt
	}
	if text, ok := s.Attributes["completedAt"].(string); ok && s.LastMessageAt.IsZero() {
		_, isField := fieldOf(appContext, "completedAt")
		if t, err := time.Parse(time.RFC3339, text); err == nil && isField && t.Before(at) {
			return conversation.Milliseconds(t)
		}
	}
	return at
}

// Details are the fields of the summary that its text does not mention, as a sentence for prompts: "PRs: exercise
// Deadlift, weight 180; metrics: distance km 10." Their times are in a zone. It is empty if there are none.
func (s Summary) Details(zone *time.Location) string {
	appContext, err := conversation.AppContextOf(s.Context)
	if err != nil {
		return ""
	}
	known := sync.OnceValue(func() map[string]bool { return wordsOf(s.Text) }) // most summaries have no fields
	var details []string
	for _, field := range appContext.Summary.Fields {
		for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
			f, ok := fieldOf(appContext, name)
			if !ok || f != field || f.Label == "" || mentions(known(), f.Name, s.Fields[name], zone) {
				continue
			}
			_, rest, _ := strings.Cut(name, ".")
			label := strings.TrimSpace(f.Label + " " + separateWords(rest))
			if value := describeValue(f.Name, s.Fields[name], zone); value != "" {
				details = append(details, label+": "+value)
			}
		}
	}
	if len(details) == 0 {
		return ""
	}
	text := strings.Join(details, "; ")
	return strings.TrimSuffix(upperFirst(truncate.Prose(text, maxDetails-1)), ".") + "."
}

// maxDetails limits the details of a summary in prompts, in characters.
const maxDetails = 300

// mentions reports whether all words and numbers of a named value, as details write them, are among known ones. A flag
// is never mentioned.
func mentions(known map[string]bool, name string, value any, zone *time.Location) bool {
	switch v := value.(type) {
	case map[string]any:
		for inner, value := range v {
			if !mentions(known, inner, value, zone) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool { return !mentions(known, name, v, zone) })
	case bool:
		return false
	}
	for word := range wordsOf(describeValue(name, value, zone)) {
		if !known[word] {
			return false
		}
	}
	return true
}

// wordsOf returns the words and numbers of a text in lower case.
func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '.'
	}) {
		words[strings.Trim(word, ".")] = true
	}
	return words
}

// describe writes attributes as lines of text, "workout name: Fran", in the order of their names, with times in a zone.
// Empty values are left out.
func describe(attributes map[string]any, zone *time.Location) []string {
	return describePairs(attributes, ": ", zone)
}

func describePairs(object map[string]any, separator string, zone *time.Location) []string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if value := describeValue(name, object[name], zone); value != "" {
			pairs = append(pairs, untrusted.OneLine(separateWords(name))+separator+value)
		}
	}
	return pairs
}

// describeValue writes one value as a line of text. A number is a percentage if the name ends in "Rate". A time is
// local, to the minute.
func describeValue(name string, value any, zone *time.Location) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return conversation.LocalTime(untrusted.OneLine(v), zone)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []any:
		return describeList(name, v, zone)
	case map[string]any:
		return strings.Join(describePairs(v, " ", zone), ", ")
	case float64:
		if strings.HasSuffix(name, "Rate") {
			return describeRate(v)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// describeRate writes a rate, which is a share of 1 or a percentage.
func describeRate(rate float64) string {
	if rate <= 1 {
		rate *= 100
	}
	return strconv.FormatFloat(rate, 'f', -1, 32) + "%"
}

func describeList(name string, list []any, zone *time.Location) string {
	var items []string
	separator := ", "
	for _, item := range list {
		if _, ok := item.(map[string]any); ok {
			separator = " and "
		}
		if text := describeValue(name, item, zone); text != "" {
			items = append(items, text)
		}
	}
	return strings.Join(items, separator)
}

// separateWords writes a camel-case name as words: "workoutName" is "workout name".
func separateWords(name string) string {
	var b strings.Builder
	previous := ' '
	for _, r := range name {
		switch {
		case r == '.' || r == '_' || r == '-':
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(previous):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		previous = r
	}
	return b.String()
}

func upperFirst(text string) string {
	for i, r := range text {
		return string(unicode.ToUpper(r)) + text[i+len(string(r)):]
	}
	return text
}
