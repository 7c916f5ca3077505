package dynamo

import (
	"maps"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/registry"
)

// Each kind of long-term record has an encoder and a decoder of its attributes. The stores add key, version and
// generation.

func encodeProfile(p longterm.Profile) item {
	it := item{}
	it.setString(attrName, p.Name)
	it.setString(attrEmail, p.Email)
	it.setTime(attrJoinedAt, p.CreatedAt)
	it.setString(attrAbout, p.About)
	return it
}

func decodeProfile(it item) longterm.Profile {
	return longterm.Profile{
		Name: it.string(attrName), Email: it.string(attrEmail), CreatedAt: it.time(attrJoinedAt), About: it.string(attrAbout),
	}
}

func encodeSeed(s longterm.Seed) item { return item{attrContent: stringAttr(s.Content)} }

func decodeSeed(it item) longterm.Seed { return longterm.Seed{Content: it.string(attrContent)} }

func encodeUserSummary(u longterm.UserSummary) item {
	it := item{}
	it.setStrings(attrPatterns, u.Patterns)
	it.setStrings(attrWins, u.Wins)
	it.setStrings(attrStruggles, u.Struggles)
	it.setTime(attrLastUpdated, u.LastUpdated)
	it.setTime(attrUpdatedAt, u.StoredAt)
	return it
}

func decodeUserSummary(it item) longterm.UserSummary {
	return longterm.UserSummary{
		Patterns: it.strings(attrPatterns), Wins: it.strings(attrWins), Struggles: it.strings(attrStruggles),
		LastUpdated: it.time(attrLastUpdated), StoredAt: it.time(attrUpdatedAt),
	}
}

func encodePreferences(p longterm.Preferences) item {
	var unshared []string
	for _, context := range slices.Sorted(maps.Keys(p.Unshared)) {
		if p.Unshared[context] {
			unshared = append(unshared, context)
		}
	}
	it := item{
		attrCrossContext: boolAttr(p.CrossContext), attrMemory: boolAttr(p.Memory), attrTimezone: stringAttr(p.Timezone),
	}
	it.setStrings(attrUnshared, unshared)
	var shared []string
	for _, context := range registry.Live().Unshared() {
		if !p.Unshared[context] {
			shared = append(shared, context)
		}
	}
	it.setStrings(attrShared, shared)
	return it
}

// decodePreferences reads a user's preferences. Of a context that the record does not name, the registry decides.
func decodePreferences(it item) longterm.Preferences {
	p := longterm.Preferences{
		CrossContext: it.bool(attrCrossContext), Memory: it.bool(attrMemory), Timezone: it.string(attrTimezone),
	}
	shared := it.strings(attrShared)
	for _, context := range slices.Concat(registry.Live().Unshared(), it.strings(attrUnshared)) {
		if !slices.Contains(shared, context) {
			p.Separate(context)
		}
	}
	return p
}

func encodeSpine(s longterm.Spine) item {
	it := item{attrContent: stringAttr(s.Text), attrTokens: intAttr(s.Tokens), attrVersion: intAttr(s.Version)}
	it.setStrings(attrPatterns, s.Patterns)
	it.setStrings(attrWins, s.Wins)
	it.setStrings(attrStruggles, s.Struggles)
	it.setStrings(attrContexts, s.Contexts)
	it.setStrings(attrUnshared, s.Unshared)
	it.setTime(attrCoveredTo, s.CoveredTo)
	it.setTime(attrUpdatedAt, s.UpdatedAt)
	it.setString(attrModel, s.Model)
	it.setString(attrPromptVersion, s.PromptVersion)
	return it
}

func decodeSpine(coachID string, it item) longterm.Spine {
	return longterm.Spine{
		CoachID: coachID, Text: it.string(attrContent), Tokens: int(it.int64(attrTokens)),
		Patterns: it.strings(attrPatterns), Wins: it.strings(attrWins), Struggles: it.strings(attrStruggles),
		Contexts: it.strings(attrContexts), Unshared: it.strings(attrUnshared), CoveredTo: it.time(attrCoveredTo),
		UpdatedAt: it.time(attrUpdatedAt), Model: it.string(attrModel), PromptVersion: it.string(attrPromptVersion),
		Version: it.int64(attrVersion),
	}
}

func encodeCoach(c longterm.Coach) item {
	it := item{}
	it.setString(attrName, c.Name)
	it.setString(attrPersona, c.Persona)
	it.setString(attrModel, c.Model)
	return it
}

func decodeCoach(id string, it item) longterm.Coach {
	return longterm.Coach{ID: id, Name: it.string(attrName), Persona: it.string(attrPersona), Model: it.string(attrModel)}
}

func encodeGoal(g longterm.Goal) item {
	it := item{
		attrTitle: stringAttr(g.Title), attrStatus: stringAttr(string(g.Status)),
		attrGoalType: stringAttr(string(g.GoalType)),
	}
	it.setTime(attrCreatedAt, g.CreatedAt)
	it.setTime(attrUpdatedAt, g.UpdatedAt)
	return it
}

func decodeGoal(it item) longterm.Goal {
	return longterm.Goal{
		ID: recordID(it), Title: it.string(attrTitle), Status: longterm.GoalStatus(it.string(attrStatus)),
		GoalType: longterm.GoalType(it.string(attrGoalType)), CreatedAt: it.time(attrCreatedAt),
		UpdatedAt: it.time(attrUpdatedAt),
	}
}

func encodeCheckIn(c longterm.CheckIn) item {
	it := item{attrTokens: intAttr(c.Tokens)}
	it.setTime(attrTimestamp, c.Timestamp)
	it.setString(attrNote, c.Note)
	return it
}

func decodeCheckIn(it item) longterm.CheckIn {
	return longterm.CheckIn{
		ID: recordID(it), Timestamp: it.time(attrTimestamp), Note: it.string(attrNote), Tokens: int(it.int64(attrTokens)),
	}
}

func encodeMemory(m longterm.Memory) item {
	it := item{
		attrType: stringAttr(string(m.Type)), attrContent: stringAttr(m.Content), attrPinned: boolAttr(m.Pinned),
		attrSource: stringAttr(string(m.Source)), attrTokens: intAttr(m.Tokens),
	}
	if m.Rated {
		it[attrConfidence] = floatAttr(m.Confidence)
	}
	it.setStrings(attrMessageIDs, m.MessageIDs)
	it.setTime(attrValidUntil, m.ValidUntil)
	it.setString(attrSupersededBy, m.SupersededBy)
	it.setString(attrEndedReason, string(m.EndedReason))
	it.setString(attrStatus, string(m.Status))
	it.setString(attrAbout, m.About)
	it.setString(attrUntil, m.Until.String())
	it.setTime(attrSaidAt, m.SaidAt)
	if !m.ExpiresAt.IsZero() {
		it[TTLAttribute] = intAttr(m.ExpiresAt.Unix())
	}
	it.setTime(attrCreatedAt, m.CreatedAt)
	it.setTime(attrUpdatedAt, m.UpdatedAt)
	it.setString(attrModel, m.Model)
	it.setString(attrPromptVersion, m.PromptVersion)
	return it
}

func decodeMemory(it item) longterm.Memory {
	var expires time.Time
	if it.has(TTLAttribute) {
		expires = time.Unix(it.int64(TTLAttribute), 0).UTC()
	}
	return longterm.Memory{
		ID: recordID(it), Type: longterm.MemoryType(it.string(attrType)), Content: it.string(attrContent),
		Pinned: it.bool(attrPinned), Source: longterm.MemorySource(it.string(attrSource)),
		Confidence: it.float64(attrConfidence), Rated: it.has(attrConfidence), MessageIDs: it.strings(attrMessageIDs),
		Status: longterm.MemoryStatus(it.string(attrStatus)), About: it.string(attrAbout),
		Until: it.moment(attrUntil), SaidAt: it.time(attrSaidAt),
		ValidUntil: it.time(attrValidUntil), SupersededBy: it.string(attrSupersededBy),
		EndedReason: longterm.EndedReason(it.string(attrEndedReason)), ExpiresAt: expires,
		CreatedAt: it.time(attrCreatedAt), UpdatedAt: it.time(attrUpdatedAt), Tokens: int(it.int64(attrTokens)),
		Model: it.string(attrModel), PromptVersion: it.string(attrPromptVersion),
	}
}

// moment returns the day or the time of an attribute, none where there is no attribute.
func (it item) moment(name string) longterm.Moment {
	m, _ := longterm.ParseMoment(it.string(name)) // no other text is written
	return m
}

func encodeTodo(t longterm.Todo) item {
	it := item{attrContent: stringAttr(t.Content), attrStatus: stringAttr(string(t.Status)), attrTokens: intAttr(t.Tokens)}
	it.setString(attrCoachID, t.CoachID)
	it.setString(attrBy, string(t.By))
	it.setString(attrDueOn, t.Due.String())
	it.setTime(attrCreatedAt, t.CreatedAt)
	it.setTime(attrUpdatedAt, t.UpdatedAt)
	it.setTime(attrCompletedAt, t.CompletedAt)
	it.setStrings(attrMessageIDs, t.MessageIDs)
	it.setString(attrModel, t.Model)
	it.setString(attrPromptVersion, t.PromptVersion)
	return it
}

func decodeTodo(it item) longterm.Todo {
	return longterm.Todo{
		ID: recordID(it), CoachID: it.string(attrCoachID), Content: it.string(attrContent),
		Status: longterm.TodoStatus(it.string(attrStatus)), By: longterm.TodoOwner(it.string(attrBy)),
		Due: it.moment(attrDueOn), CreatedAt: it.time(attrCreatedAt),
		UpdatedAt: it.time(attrUpdatedAt), CompletedAt: it.time(attrCompletedAt), Tokens: int(it.int64(attrTokens)),
		MessageIDs: it.strings(attrMessageIDs), Model: it.string(attrModel), PromptVersion: it.string(attrPromptVersion),
	}
}
