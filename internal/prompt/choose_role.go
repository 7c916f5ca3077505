package prompt

import (
	"cmp"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// chooseRole tells who the model is: the request's role, or the recipe's, or the coach's persona; and the recipe's
// rules behind it.
func chooseRole(v *view, _ *Slot) []*entry {
	role := &entry{kind: "role", id: v.CoachID, text: v.SystemRole}
	if !says(role.text) {
		role.text = v.recipe.Role
	}
	if role.text == "" {
		role.text = persona(v.coach)
	}
	entries := []*entry{role}
	if v.recipe.Rules != "" {
		entries = append(entries, &entry{kind: "rules", id: v.recipe.Name, text: v.recipe.Rules, place: 1, ours: true, fixed: true})
	}
	return entries
}

// persona is a coach's own text with its name.
func persona(c longterm.Coach) string {
	text := strings.TrimSpace(c.Persona)
	if !says(text) {
		text = longterm.DefaultCoach.Persona
	}
	name := oneLine(clean(c.Name))
	if !says(name) || name == longterm.DefaultCoach.Name || strings.Contains(text, name) {
		return text
	}
	if !strings.HasSuffix(name, ".") { // as "Dr. K." does
		name += "."
	}
	return "Your name is " + name + " " + text
}

// chooseCurrent is the current message, whole and last.
func chooseCurrent(v *view, _ *Slot) []*entry {
	return []*entry{{
		kind: kindMessage, id: cmp.Or(v.MessageID, "current"), sessionID: v.SessionID, context: v.Context, at: v.now,
		role: conversation.User, text: v.Message, tokens: v.messageTokens,
	}}
}

// chooseExpertise tells the modules of the agent; an agent without any gets no block
// (working-context-builder, AC 5).
func chooseExpertise(v *view, _ *Slot) []*entry {
	var entries []*entry
	for i, name := range v.agent.Expertise {
		entries = append(entries, &entry{kind: "module", id: name, text: module(name), place: i, ours: true, fixed: true})
	}
	return entries
}

// chooseInstruction is the recipe's last word, and the tools that it offers.
func chooseInstruction(v *view, _ *Slot) []*entry {
	var entries []*entry
	if v.recipe.Instruction != "" {
		entries = append(entries, &entry{kind: "instruction", id: v.recipe.Name, text: v.recipe.Instruction, ours: true, fixed: true})
	}
	for _, name := range v.recipe.Tools {
		entries = append(entries, &entry{kind: "tool", id: name, text: sentTools[name], apart: true})
	}
	return entries
}
