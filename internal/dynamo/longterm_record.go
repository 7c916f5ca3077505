package dynamo

import (
	"maps"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/registry"
)

// Each kind of long-term record has an encoder and a decoder of its attributes. The stores add key, version and
// generation.

func encodeProfile(p longterm.Profile) table.Item {
	it := table.Item{}
	it.SetString(table.AttrName, p.Name)
	it.SetString(table.AttrEmail, p.Email)
	it.SetTime(table.AttrJoinedAt, p.CreatedAt)
	it.SetString(table.AttrAbout, p.About)
	return it
}

func decodeProfile(it table.Item) longterm.Profile {
	return longterm.Profile{
		Name: it.String(table.AttrName), Email: it.String(table.AttrEmail), CreatedAt: it.Time(table.AttrJoinedAt),
		About: it.String(table.AttrAbout),
	}
}

func encodeSeed(s longterm.Seed) table.Item {
	return table.Item{table.AttrContent: table.StringAttr(s.Content)}
}

func decodeSeed(it table.Item) longterm.Seed {
	return longterm.Seed{Content: it.String(table.AttrContent)}
}

func encodeUserSummary(u longterm.UserSummary) table.Item {
	it := table.Item{}
	it.SetStrings(table.AttrPatterns, u.Patterns)
	it.SetStrings(table.AttrWins, u.Wins)
	it.SetStrings(table.AttrStruggles, u.Struggles)
	it.SetTime(table.AttrLastUpdated, u.LastUpdated)
	it.SetTime(table.AttrUpdatedAt, u.StoredAt)
	return it
}

func decodeUserSummary(it table.Item) longterm.UserSummary {
	return longterm.UserSummary{
		Patterns: it.Strings(table.AttrPatterns), Wins: it.Strings(table.AttrWins),
		Struggles:   it.Strings(table.AttrStruggles),
		LastUpdated: it.Time(table.AttrLastUpdated), StoredAt: it.Time(table.AttrUpdatedAt),
	}
}

func encodePreferences(p longterm.Preferences) table.Item {
	var unshared []string
	for _, context := range slices.Sorted(maps.Keys(p.Unshared)) {
		if p.Unshared[context] {
			unshared = append(unshared, context)
		}
	}
	it := table.Item{
		table.AttrCrossContext: table.BoolAttr(p.CrossContext), table.AttrMemory: table.BoolAttr(p.Memory),
		table.AttrTimezone: table.StringAttr(p.Timezone),
	}
	it.SetStrings(table.AttrUnshared, unshared)
	var shared []string
	for _, context := range registry.Live().Unshared() {
		if !p.Unshared[context] {
			shared = append(shared, context)
		}
	}
	it.SetStrings(table.AttrShared, shared)
	return it
}

// decodePreferences reads a user's preferences. Of a context that the record does not name, the registry decides.
func decodePreferences(it table.Item) longterm.Preferences {
	p := longterm.Preferences{
		CrossContext: it.Bool(table.AttrCrossContext), Memory: it.Bool(table.AttrMemory),
		Timezone: it.String(table.AttrTimezone),
	}
	shared := it.Strings(table.AttrShared)
	for _, context := range slices.Concat(registry.Live().Unshared(), it.Strings(table.AttrUnshared)) {
		if !slices.Contains(shared, context) {
			p.Separate(context)
		}
	}
	return p
}

func encodeSpine(s longterm.Spine) table.Item {
	it := table.Item{
		table.AttrContent: table.StringAttr(s.Text), table.AttrTokens: table.IntAttr(s.Tokens),
		table.AttrVersion: table.IntAttr(s.Version),
	}
	it.SetStrings(table.AttrPatterns, s.Patterns)
	it.SetStrings(table.AttrWins, s.Wins)
	it.SetStrings(table.AttrStruggles, s.Struggles)
	it.SetStrings(table.AttrContexts, s.Contexts)
	it.SetStrings(table.AttrUnshared, s.Unshared)
	it.SetTime(table.AttrCoveredTo, s.CoveredTo)
	it.SetTime(table.AttrUpdatedAt, s.UpdatedAt)
	it.SetString(table.AttrModel, s.Model)
	it.SetString(table.AttrPromptVersion, s.PromptVersion)
	return it
}

func decodeSpine(coachID string, it table.Item) longterm.Spine {
	return longterm.Spine{
		CoachID: coachID, Text: it.String(table.AttrContent), Tokens: int(it.Int64(table.AttrTokens)),
		Patterns: it.Strings(table.AttrPatterns), Wins: it.Strings(table.AttrWins),
		Struggles: it.Strings(table.AttrStruggles),
		Contexts:  it.Strings(table.AttrContexts), Unshared: it.Strings(table.AttrUnshared),
		CoveredTo: it.Time(table.AttrCoveredTo),
		UpdatedAt: it.Time(table.AttrUpdatedAt), Model: it.String(table.AttrModel),
		PromptVersion: it.String(table.AttrPromptVersion),
		Version:       it.Int64(table.AttrVersion),
	}
}

func encodeCoach(c longterm.Coach) table.Item {
	it := table.Item{}
	it.SetString(table.AttrName, c.Name)
	it.SetString(table.AttrPersona, c.Persona)
	it.SetString(table.AttrModel, c.Model)
	return it
}

func decodeCoach(id string, it table.Item) longterm.Coach {
	return longterm.Coach{
		ID: id, Name: it.String(table.AttrName), Persona: it.String(table.AttrPersona),
		Model: it.String(table.AttrModel),
	}
}

func encodeGoal(g longterm.Goal) table.Item {
	it := table.Item{
		table.AttrTitle: table.StringAttr(g.Title), table.AttrStatus: table.StringAttr(string(g.Status)),
		table.AttrGoalType: table.StringAttr(string(g.GoalType)),
	}
	it.SetTime(table.AttrCreatedAt, g.CreatedAt)
	it.SetTime(table.AttrUpdatedAt, g.UpdatedAt)
	return it
}

func decodeGoal(it table.Item) longterm.Goal {
	return longterm.Goal{
		ID: recordID(it), Title: it.String(table.AttrTitle), Status: longterm.GoalStatus(it.String(table.AttrStatus)),
		GoalType: longterm.GoalType(it.String(table.AttrGoalType)), CreatedAt: it.Time(table.AttrCreatedAt),
		UpdatedAt: it.Time(table.AttrUpdatedAt),
	}
}

func encodeCheckIn(c longterm.CheckIn) table.Item {
	it := table.Item{table.AttrTokens: table.IntAttr(c.Tokens)}
	it.SetTime(table.AttrTimestamp, c.Timestamp)
	it.SetString(table.AttrNote, c.Note)
	return it
}

func decodeCheckIn(it table.Item) longterm.CheckIn {
	return longterm.CheckIn{
		ID: recordID(it), Timestamp: it.Time(table.AttrTimestamp), Note: it.String(table.AttrNote),
		Tokens: int(it.Int64(table.AttrTokens)),
	}
}

func encodeMemory(m longterm.Memory) table.Item {
	it := table.Item{
		table.AttrType: table.StringAttr(string(m.Type)), table.AttrContent: table.StringAttr(m.Content),
		table.AttrPinned: table.BoolAttr(m.Pinned),
		table.AttrSource: table.StringAttr(string(m.Source)), table.AttrTokens: table.IntAttr(m.Tokens),
	}
	if m.Rated {
		it[table.AttrConfidence] = table.FloatAttr(m.Confidence)
	}
	it.SetStrings(table.AttrMessageIDs, m.MessageIDs)
	it.SetTime(table.AttrValidUntil, m.ValidUntil)
	it.SetString(table.AttrSupersededBy, m.SupersededBy)
	it.SetString(table.AttrEndedReason, string(m.EndedReason))
	it.SetString(table.AttrStatus, string(m.Status))
	it.SetString(table.AttrAbout, m.About)
	it.SetString(table.AttrUntil, m.Until.String())
	it.SetTime(table.AttrSaidAt, m.SaidAt)
	if !m.ExpiresAt.IsZero() {
		it[table.TTLAttribute] = table.IntAttr(m.ExpiresAt.Unix())
	}
	it.SetTime(table.AttrCreatedAt, m.CreatedAt)
	it.SetTime(table.AttrUpdatedAt, m.UpdatedAt)
	it.SetString(table.AttrModel, m.Model)
	it.SetString(table.AttrPromptVersion, m.PromptVersion)
	return it
}

func decodeMemory(it table.Item) longterm.Memory {
	var expires time.Time
	if it.Has(table.TTLAttribute) {
		expires = time.Unix(it.Int64(table.TTLAttribute), 0).UTC()
	}
	return longterm.Memory{
		ID: recordID(it), Type: longterm.MemoryType(it.String(table.AttrType)), Content: it.String(table.AttrContent),
		Pinned: it.Bool(table.AttrPinned), Source: longterm.MemorySource(it.String(table.AttrSource)),
		Confidence: it.Float64(table.AttrConfidence), Rated: it.Has(table.AttrConfidence),
		MessageIDs: it.Strings(table.AttrMessageIDs),
		Status:     longterm.MemoryStatus(it.String(table.AttrStatus)), About: it.String(table.AttrAbout),
		Until: momentIn(it, table.AttrUntil), SaidAt: it.Time(table.AttrSaidAt),
		ValidUntil: it.Time(table.AttrValidUntil), SupersededBy: it.String(table.AttrSupersededBy),
		EndedReason: longterm.EndedReason(it.String(table.AttrEndedReason)), ExpiresAt: expires,
		CreatedAt: it.Time(table.AttrCreatedAt), UpdatedAt: it.Time(table.AttrUpdatedAt),
		Tokens: int(it.Int64(table.AttrTokens)),
		Model:  it.String(table.AttrModel), PromptVersion: it.String(table.AttrPromptVersion),
	}
}

// moment returns the day or the time of an attribute, none where there is no attribute.
func momentIn(it table.Item, name string) longterm.Moment {
	m, _ := longterm.ParseMoment(it.String(name)) // no other text is written
	return m
}

func encodeTodo(t longterm.Todo) table.Item {
	it := table.Item{
		table.AttrContent: table.StringAttr(t.Content), table.AttrStatus: table.StringAttr(string(t.Status)),
		table.AttrTokens: table.IntAttr(t.Tokens),
	}
	it.SetString(table.AttrCoachID, t.CoachID)
	it.SetString(table.AttrBy, string(t.By))
	it.SetString(table.AttrDueOn, t.Due.String())
	it.SetTime(table.AttrCreatedAt, t.CreatedAt)
	it.SetTime(table.AttrUpdatedAt, t.UpdatedAt)
	it.SetTime(table.AttrCompletedAt, t.CompletedAt)
	it.SetStrings(table.AttrMessageIDs, t.MessageIDs)
	it.SetString(table.AttrModel, t.Model)
	it.SetString(table.AttrPromptVersion, t.PromptVersion)
	return it
}

func decodeTodo(it table.Item) longterm.Todo {
	return longterm.Todo{
		ID: recordID(it), CoachID: it.String(table.AttrCoachID), Content: it.String(table.AttrContent),
		Status: longterm.TodoStatus(it.String(table.AttrStatus)), By: longterm.TodoOwner(it.String(table.AttrBy)),
		Due: momentIn(it, table.AttrDueOn), CreatedAt: it.Time(table.AttrCreatedAt),
		UpdatedAt: it.Time(table.AttrUpdatedAt), CompletedAt: it.Time(table.AttrCompletedAt),
		Tokens:     int(it.Int64(table.AttrTokens)),
		MessageIDs: it.Strings(table.AttrMessageIDs), Model: it.String(table.AttrModel),
		PromptVersion: it.String(table.AttrPromptVersion),
	}
}
