package dynamo

import (
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/registry"
)

// The tags of long-term records say how they are stored. The stores add key, version and generation. What a tag cannot
// say is here.

func encodePreferences(p longterm.Preferences) table.Item {
	it := table.Encode(p)
	var unshared, shared []string
	for _, context := range slices.Sorted(maps.Keys(p.Unshared)) {
		if p.Unshared[context] {
			unshared = append(unshared, context)
		}
	}
	it.SetStrings(table.AttrUnshared, unshared)
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
	p := table.Decode[longterm.Preferences](it)
	shared := it.Strings(table.AttrShared)
	for _, context := range slices.Concat(registry.Live().Unshared(), it.Strings(table.AttrUnshared)) {
		if !slices.Contains(shared, context) {
			p.Separate(context)
		}
	}
	return p
}

func decodeSpine(coachID string, it table.Item) longterm.Spine {
	s := table.Decode[longterm.Spine](it)
	s.CoachID = coachID
	return s
}

func decodeCoach(id string, it table.Item) longterm.Coach {
	c := table.Decode[longterm.Coach](it)
	c.ID = id
	return c
}

func encodeMemory(m longterm.Memory) table.Item {
	it := table.Encode(m)
	if !m.Rated {
		delete(it, table.AttrConfidence)
	}
	it.SetString(table.AttrFrom, m.From.String())
	it.SetString(table.AttrUntil, m.Until.String())
	it.SetString(table.AttrSaidUntil, m.SaidUntil.String())
	return it
}

func decodeMemory(it table.Item) longterm.Memory {
	m := table.Decode[longterm.Memory](it)
	m.ID, m.Rated = recordID(it), it.Has(table.AttrConfidence)
	m.From, m.Until = momentIn(it, table.AttrFrom), momentIn(it, table.AttrUntil)
	m.SaidUntil = momentIn(it, table.AttrSaidUntil)
	return m
}

// momentIn returns the day or the time of an attribute, none where there is no attribute.
func momentIn(it table.Item, name string) longterm.Moment {
	m, _ := longterm.ParseMoment(it.String(name)) // no other text is written
	return m
}

func encodeTodo(t longterm.Todo) table.Item {
	it := table.Encode(t)
	it.SetString(table.AttrDueOn, t.Due.String())
	return it
}

func decodeTodo(it table.Item) longterm.Todo {
	t := table.Decode[longterm.Todo](it)
	t.ID, t.Due = recordID(it), momentIn(it, table.AttrDueOn)
	return t
}
