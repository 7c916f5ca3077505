package choose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/untrusted"
)

// chooseNow chooses the local date and time to the minute, the time since the last message, and the thread's status.
func chooseNow(c *chooser, _ *Slot) []*Candidate {
	last := "none before this one"
	if n := len(c.Timeline); n > 0 {
		last = calendar.Since(c.Timeline[n-1].Timestamp, c.Now, c.Zone)
	}
	fields := []Field{
		{Label: "Local time", Value: c.localTime()},
		{Label: "Last message", Value: last},
		{Label: "Thread", Value: c.History.Status()},
	}
	if days := recentDays(c); days != "" {
		fields = append(fields, Field{Label: "The messages before this one", Value: "of " + days})
	}
	return []*Candidate{{Kind: "now", ID: "now", At: c.Now, Fields: fields}}
}

// localTime is the local date and time to the minute. No prompt has a finer one.
func (c *chooser) localTime() string {
	return c.Now.In(c.Zone).Format("Monday, 2 January 2006, 15:04") + " (" + c.Zone.String() + ")"
}

// recentDays says of which days the messages in recent_messages are, because they carry no times. It returns nothing if
// all are of today.
func recentDays(c *chooser) string {
	chosen, _ := c.scope()
	if len(chosen) == 0 || !c.has(block.Recent) {
		return ""
	}
	first, last := chosen[0].Timestamp, chosen[len(chosen)-1].Timestamp
	if calendar.Label(first, c.Now, c.Zone) == "today" {
		return ""
	}
	day := calendar.Day(first, c.Now, c.Zone) + ", "
	if calendar.IsSameDay(first, last, c.Zone) {
		return day + calendar.Span(first, last, c.Zone)
	}
	return day + calendar.Clock(first, c.Zone) + ", to " + calendar.Day(last, c.Now, c.Zone) + ", " +
		calendar.Clock(last, c.Zone)
}

// maxAttributes and maxAttribute limit the number of a session's attributes and their characters.
const (
	maxAttributes = 12
	maxAttribute  = 120
)

// chooseState chooses the state of the session itself. Only the now block has times (prompt-assembly-map,
// "Duplications / Contradictions").
func chooseState(c *chooser, _ *Slot) []*Candidate {
	fields := []Field{{Label: "Screen", Value: ContextLabel(c.Context)}}
	fields = addField(fields, "Title", excerpt(c.Session.Title, maxAttribute))
	fields = addField(fields, "Mode", c.Session.Mode)
	if c.Session.Status != "" && c.Session.Status != conversation.Active {
		fields = addField(fields, "Status", string(c.Session.Status))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Session.Attributes)) {
		if value, ok := c.scalar(c.Session.Attributes[name]); ok && len(fields) < maxAttributes {
			fields = addAttribute(fields, excerpt(name, 40), excerpt(value, maxAttribute))
		}
	}
	return []*Candidate{{
		Kind: "session_state", ID: c.Session.ID, SessionID: c.Session.ID, Context: c.Context,
		Fields: fields,
	}}
}

// addAttribute adds a field whose label is stored text, if there is anything to see of both.
func addAttribute(fields []Field, label, value string) []Field {
	if !untrusted.HasVisible(label) || !untrusted.HasVisible(value) {
		return fields
	}
	return append(fields, Field{Label: label, Value: value, Stored: true})
}

// scalar writes a value that is not an object, or a list of such values. A time is local, to the minute.
func (c *chooser) scalar(value any) (string, bool) {
	switch x := value.(type) {
	case nil, map[string]any:
		return "", false
	case string:
		return conversation.LocalTime(x, c.Zone), true
	case []any:
		var parts []string
		for _, item := range x {
			if text, ok := c.scalar(item); ok {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", "), len(parts) > 0
	default:
		return fmt.Sprint(x), true
	}
}

// chooseRole chooses the role text (the request's, else the recipe's, else the coach's persona) and the recipe's
// rules. Only the app can write a role text, so it is written verbatim.
func chooseRole(c *chooser, _ *Slot) []*Candidate {
	role := &Candidate{Kind: "role", ID: c.CoachID, Text: c.SystemRole, Trusted: true}
	if !untrusted.HasVisible(role.Text) {
		role.Text = c.Role
	}
	if role.Text == "" {
		role.Text = Persona(c.Coach)
	}
	candidates := []*Candidate{role}
	if c.Rules != "" {
		candidates = append(candidates,
			&Candidate{Kind: "rules", ID: c.Recipe, Text: c.Rules, Position: 1, Trusted: true, Constant: true})
	}
	return candidates
}

// noTags takes the brackets of tags out of a name, which people may have chosen.
var noTags = strings.NewReplacer("<", "", ">", "")

// Persona is a coach's text, verbatim, with its name in front if the text does not have it. A text that begins with
// structure of its own, such as a heading, begins a paragraph.
func Persona(c longterm.Coach) string {
	text := c.Persona
	if !untrusted.HasVisible(text) {
		text = longterm.CoachOf(c.ID).Persona
	}
	name := untrusted.BreakTokens(noTags.Replace(untrusted.FoldLines(untrusted.Clean(c.Name))))
	if !untrusted.HasVisible(name) || name == longterm.DefaultCoach.Name || strings.Contains(text, name) {
		return text
	}
	if !strings.HasSuffix(name, ".") { // as "Dr. K." does
		name += "."
	}
	separator := " "
	if first, _ := utf8.DecodeRuneInString(text); !unicode.IsLetter(first) {
		separator = "\n\n"
	}
	return "Your name is " + name + separator + text
}

// chooseCurrent chooses the current message.
func chooseCurrent(c *chooser, _ *Slot) []*Candidate {
	e := &Candidate{
		Kind: KindMessage, ID: cmp.Or(c.MessageID, "current"), SessionID: c.Session.ID, Context: c.Context, At: c.Now,
		Role: conversation.RoleUser, Text: c.Message, Tokens: c.MessageTokens,
	}
	if c.Current != nil {
		e.Files = c.files(c.Current)
	}
	return []*Candidate{e}
}

// chooseExpertise chooses the agent's modules. An agent without modules gets no block (working-context-builder, AC 5).
func chooseExpertise(c *chooser, _ *Slot) []*Candidate {
	var candidates []*Candidate
	for i, module := range c.Modules {
		candidates = append(candidates,
			&Candidate{Kind: "module", ID: module.ID, Text: module.Text, Position: i, Trusted: true, Constant: true})
	}
	return candidates
}

// chooseInstruction chooses the recipe's last text and its tools.
func chooseInstruction(c *chooser, _ *Slot) []*Candidate {
	var candidates []*Candidate
	if c.Instruction != "" {
		candidates = append(candidates,
			&Candidate{Kind: "instruction", ID: c.Recipe, Text: c.Instruction, Trusted: true, Constant: true})
	}
	for _, tool := range c.Tools {
		candidates = append(candidates, &Candidate{Kind: "tool", ID: tool.ID, Text: tool.Text, CountOnly: true})
	}
	return candidates
}

// Older chooses the text with which the scoping strategy replaces older messages.
func Older(c *chooser, slot *Slot) []*Candidate {
	_, older := c.scope()
	if older == "" {
		return nil
	}
	e := c.summaryCandidate(&c.Session, c.Session.LastMessageAt)
	e.Text, e.Tokens = older, 0
	return []*Candidate{capChars(e, slot)}
}

// Status chooses the local time and the thread's status.
func Status(c *chooser, _ *Slot) []*Candidate {
	text := "It is " + c.localTime() + ". " + c.History.Status()
	return []*Candidate{{Kind: "now", ID: "now", At: c.Now, Text: text, Trusted: true}}
}
