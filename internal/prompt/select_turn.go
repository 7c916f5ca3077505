package prompt

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
	"github.com/throughline/throughline/internal/untrusted"
)

// selectNow selects the local date and time to the minute, the time since the last message, and the thread's status.
func selectNow(sel *selection, _ *Slot) []*entry {
	fields := []field{{
		label: "Local time",
		value: sel.now.In(sel.zone).Format("Monday, 2 January 2006, 15:04") + " (" + sel.zone.String() + ")",
	}}
	last := "none before this one"
	if at := sel.lastMessage(); !at.IsZero() {
		last = sinceText(at, sel.now, sel.zone)
	}
	fields = append(fields, field{label: "Last message", value: last},
		field{label: "Thread", value: sel.history.status()})
	if days := recentDays(sel); days != "" {
		fields = append(fields, field{label: "The messages before this one", value: "of " + days})
	}
	return []*entry{{kind: "now", id: "now", at: sel.now, fields: fields}}
}

// recentDays says of which days the messages in recent_messages are, because they carry no times. It returns nothing if
// all are of today.
func recentDays(sel *selection) string {
	chosen, _ := sel.scope()
	if len(chosen) == 0 || !sel.recipe.has(blockRecent) {
		return ""
	}
	first, last := chosen[0].Timestamp, chosen[len(chosen)-1].Timestamp
	if dayLabel(first, sel.now, sel.zone) == "today" {
		return ""
	}
	day := dayText(first, sel.now, sel.zone) + ", "
	if isoDate(first, sel.zone) == isoDate(last, sel.zone) {
		return day + clockSpan(first, last, sel.zone)
	}
	return day + clockTime(first, sel.zone) + ", to " + dayText(last, sel.now, sel.zone) + ", " + clockTime(last, sel.zone)
}

// maxAttributes and maxAttribute limit the number of a session's attributes and their characters.
const (
	maxAttributes = 12
	maxAttribute  = 120
)

// selectState selects the state of the session itself. Only the now block has times (prompt-assembly-map,
// "Duplications / Contradictions").
func selectState(sel *selection, _ *Slot) []*entry {
	fields := []field{{label: "Screen", value: contextLabel(sel.Context)}}
	fields = addField(fields, "Title", excerpt(sel.session.Title, maxAttribute))
	fields = addField(fields, "Mode", sel.session.Mode)
	if sel.session.Status != "" && sel.session.Status != conversation.Active {
		fields = addField(fields, "Status", string(sel.session.Status))
	}
	for _, name := range slices.Sorted(maps.Keys(sel.session.Attributes)) {
		if value, ok := scalar(sel.session.Attributes[name]); ok && len(fields) < maxAttributes {
			fields = addAttribute(fields, excerpt(name, 40), excerpt(value, maxAttribute))
		}
	}
	return []*entry{{
		kind: "session_state", id: sel.SessionID, sessionID: sel.SessionID, context: sel.Context,
		fields: fields,
	}}
}

// addAttribute adds a field whose label is stored text, if there is anything to see of both.
func addAttribute(fields []field, label, value string) []field {
	if !hasVisibleText(label) || !hasVisibleText(value) {
		return fields
	}
	return append(fields, field{label: label, value: value, stored: true})
}

// scalar writes a value that is not an object, or a list of such values.
func scalar(value any) (string, bool) {
	switch x := value.(type) {
	case nil, map[string]any:
		return "", false
	case []any:
		var parts []string
		for _, item := range x {
			if text, ok := scalar(item); ok {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", "), len(parts) > 0
	default:
		return fmt.Sprint(x), true
	}
}

// selectRole selects the role text (the request's, else the recipe's, else the coach's persona) and the recipe's
// rules. Only the app can write a role text, so it is written verbatim.
func selectRole(sel *selection, _ *Slot) []*entry {
	role := &entry{kind: "role", id: sel.CoachID, text: sel.SystemRole, trusted: true}
	if !hasVisibleText(role.text) {
		role.text = sel.recipe.Role
	}
	if role.text == "" {
		role.text = persona(sel.coach)
	}
	entries := []*entry{role}
	if sel.recipe.Rules != "" {
		entries = append(entries,
			&entry{kind: "rules", id: sel.recipe.Name, text: sel.recipe.Rules, position: 1, trusted: true, constant: true})
	}
	return entries
}

// persona is a coach's text, verbatim, with its name in front if the text does not have it. A text that begins with
// structure of its own, such as a heading, begins a paragraph.
func persona(c longterm.Coach) string {
	text := c.Persona
	if !hasVisibleText(text) {
		text = longterm.DefaultCoach.Persona
	}
	name := oneLine(untrusted.Clean(c.Name))
	if !hasVisibleText(name) || name == longterm.DefaultCoach.Name || strings.Contains(text, name) {
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

// selectCurrent selects the current message.
func selectCurrent(sel *selection, _ *Slot) []*entry {
	return []*entry{{
		kind: kindMessage, id: cmp.Or(sel.MessageID, "current"), sessionID: sel.SessionID, context: sel.Context, at: sel.now,
		role: conversation.RoleUser, text: sel.Message, tokens: sel.messageTokens,
	}}
}

// selectExpertise selects the agent's modules. An agent without modules gets no block (working-context-builder, AC 5).
func selectExpertise(sel *selection, _ *Slot) []*entry {
	var entries []*entry
	for i, name := range sel.agent.Expertise {
		entries = append(entries,
			&entry{kind: "module", id: name, text: expertiseText(name), position: i, trusted: true, constant: true})
	}
	return entries
}

// selectInstruction selects the recipe's last text and its tools.
func selectInstruction(sel *selection, _ *Slot) []*entry {
	var entries []*entry
	if sel.recipe.Instruction != "" {
		entries = append(entries,
			&entry{kind: "instruction", id: sel.recipe.Name, text: sel.recipe.Instruction, trusted: true, constant: true})
	}
	for _, name := range sel.recipe.Tools {
		entries = append(entries, &entry{kind: "tool", id: name, text: toolJSON[name], countOnly: true})
	}
	return entries
}
