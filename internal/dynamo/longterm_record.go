package dynamo

import (
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/longterm"
)

// Each record of long-term memory has an encoder of its own attributes, without key, version and generation, and the
// decoder that reads them back.

func encodeProfile(p longterm.Profile) item {
	it := item{}
	it.setText(attrName, p.Name)
	it.setText(attrEmail, p.Email)
	it.setTime(attrJoinedAt, p.CreatedAt)
	it.setText(attrAbout, p.About)
	return it
}

func decodeProfile(it item) longterm.Profile {
	return longterm.Profile{
		Name: it.text(attrName), Email: it.text(attrEmail), CreatedAt: it.time(attrJoinedAt), About: it.text(attrAbout),
	}
}

func encodeSeed(s longterm.Seed) item { return item{attrContent: text(s.Content)} }

func decodeSeed(it item) longterm.Seed { return longterm.Seed{Content: it.text(attrContent)} }

func encodeUserSummary(u longterm.UserSummary) item {
	it := item{}
	it.setTexts(attrPatterns, u.Patterns)
	it.setTexts(attrWins, u.Wins)
	it.setTexts(attrStruggles, u.Struggles)
	it.setTime(attrLastUpdated, u.LastUpdated)
	return it
}

func decodeUserSummary(it item) longterm.UserSummary {
	return longterm.UserSummary{
		Patterns: it.texts(attrPatterns), Wins: it.texts(attrWins), Struggles: it.texts(attrStruggles),
		LastUpdated: it.time(attrLastUpdated),
	}
}

func encodePreferences(p longterm.Preferences) item {
	var unshared []string
	for _, context := range slices.Sorted(maps.Keys(p.Unshared)) {
		if p.Unshared[context] {
			unshared = append(unshared, context)
		}
	}
	it := item{attrCrossContext: flag(p.CrossContext), attrMemory: flag(p.Memory), attrTimezone: text(p.Timezone)}
	it.setTexts(attrUnshared, unshared)
	return it
}

func decodePreferences(it item) longterm.Preferences {
	p := longterm.Preferences{
		CrossContext: it.flag(attrCrossContext), Memory: it.flag(attrMemory), Timezone: it.text(attrTimezone),
	}
	for _, context := range it.texts(attrUnshared) {
		if p.Unshared == nil {
			p.Unshared = map[string]bool{}
		}
		p.Unshared[context] = true
	}
	return p
}

func decodeSpine(coachID string, it item) longterm.Spine {
	return longterm.Spine{CoachID: coachID, Text: it.text(attrContent), UpdatedAt: it.time(attrUpdatedAt)}
}

func encodeCoach(c longterm.Coach) item {
	it := item{}
	it.setText(attrName, c.Name)
	it.setText(attrPersona, c.Persona)
	it.setText(attrModel, c.Model)
	return it
}

func decodeCoach(id string, it item) longterm.Coach {
	return longterm.Coach{ID: id, Name: it.text(attrName), Persona: it.text(attrPersona), Model: it.text(attrModel)}
}

func encodeGoal(g longterm.Goal) item {
	it := item{attrTitle: text(g.Title), attrStatus: text(string(g.Status)), attrGoalType: text(string(g.GoalType))}
	it.setTime(attrCreatedAt, g.CreatedAt)
	it.setTime(attrUpdatedAt, g.UpdatedAt)
	return it
}

func decodeGoal(it item) longterm.Goal {
	return longterm.Goal{
		ID: idIn(it), Title: it.text(attrTitle), Status: longterm.GoalStatus(it.text(attrStatus)),
		GoalType: longterm.GoalType(it.text(attrGoalType)), CreatedAt: it.time(attrCreatedAt),
		UpdatedAt: it.time(attrUpdatedAt),
	}
}

func encodeCheckIn(c longterm.CheckIn) item {
	it := item{attrTokens: whole(c.Tokens)}
	it.setTime(attrTimestamp, c.Timestamp)
	it.setText(attrNote, c.Note)
	return it
}

func decodeCheckIn(it item) longterm.CheckIn {
	return longterm.CheckIn{
		ID: idIn(it), Timestamp: it.time(attrTimestamp), Note: it.text(attrNote), Tokens: int(it.whole(attrTokens)),
	}
}

func encodeMemory(m longterm.Memory) item {
	it := item{
		attrType: text(string(m.Type)), attrContent: text(m.Content), attrPinned: flag(m.Pinned),
		attrSource: text(string(m.Source)), attrTokens: whole(m.Tokens),
	}
	if m.Rated {
		it[attrConfidence] = number(m.Confidence)
	}
	it.setTexts(attrMessageIDs, m.MessageIDs)
	it.setTime(attrValidUntil, m.ValidUntil)
	it.setText(attrSupersededBy, m.SupersededBy)
	it.setTime(attrCreatedAt, m.CreatedAt)
	it.setTime(attrUpdatedAt, m.UpdatedAt)
	return it
}

func decodeMemory(it item) longterm.Memory {
	return longterm.Memory{
		ID: idIn(it), Type: longterm.MemoryType(it.text(attrType)), Content: it.text(attrContent),
		Pinned: it.flag(attrPinned), Source: longterm.MemorySource(it.text(attrSource)),
		Confidence: it.number(attrConfidence), Rated: it.has(attrConfidence), MessageIDs: it.texts(attrMessageIDs),
		ValidUntil: it.time(attrValidUntil), SupersededBy: it.text(attrSupersededBy),
		CreatedAt: it.time(attrCreatedAt), UpdatedAt: it.time(attrUpdatedAt), Tokens: int(it.whole(attrTokens)),
	}
}

func encodeTodo(t longterm.Todo) item {
	it := item{attrContent: text(t.Content), attrStatus: text(string(t.Status)), attrTokens: whole(t.Tokens)}
	it.setText(attrCoachID, t.CoachID)
	it.setTime(attrCreatedAt, t.CreatedAt)
	it.setTime(attrUpdatedAt, t.UpdatedAt)
	it.setTime(attrCompletedAt, t.CompletedAt)
	return it
}

func decodeTodo(it item) longterm.Todo {
	return longterm.Todo{
		ID: idIn(it), CoachID: it.text(attrCoachID), Content: it.text(attrContent),
		Status: longterm.TodoStatus(it.text(attrStatus)), CreatedAt: it.time(attrCreatedAt),
		UpdatedAt: it.time(attrUpdatedAt), CompletedAt: it.time(attrCompletedAt), Tokens: int(it.whole(attrTokens)),
	}
}
