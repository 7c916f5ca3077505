package adopt

import (
	"fmt"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// Array is what is known of an adopted session beside what every session has. It is the layout of the session's record.
type Array struct {
	Placement migration.Placement
	// Entries is how many entries the array of the record has. It is negative where there is no array.
	Entries int
	// EmbeddedSeq is the seq of the last message of a dual session that only the array has.
	EmbeddedSeq int
}

// The entries of a record that has no array: attributes without messages, no attributes, and something else in the
// place of either.
const (
	noMessages   = -1
	noAttributes = -2
	notAnArray   = -3
)

// arrayOf returns what is known of the array of a session. That of a session of the shared store has no entries.
func arrayOf(s conversation.Session) Array {
	if a, ok := s.Adopted.(Array); ok {
		return a
	}
	return Array{Placement: migration.InStore}
}

// PlacementOf returns where the messages of a session are.
func PlacementOf(s conversation.Session) migration.Placement { return arrayOf(s).Placement }

func isEmbedded(s conversation.Session) bool { return PlacementOf(s) == migration.InArray }

// placed returns a session in a placement.
func placed(s conversation.Session, a Array) conversation.Session {
	if s.Adopted = a; a.Placement == migration.InStore {
		s.Adopted = nil
	}
	return s
}

// isAppsOwn reports whether the record of a session is an app's own, which Throughline has not changed.
func isAppsOwn(s conversation.Session) bool {
	return isEmbedded(s) && s.Version == 0
}

// ownPath is the path of an attribute of Throughline's in the record of an embedded session.
func ownPath(name string) string { return attrOwn + "." + name }

// HasCopies reports whether the shared store has messages of the session, too.
func (a Array) HasCopies() bool { return a.Placement != migration.InArray }

// Path returns where an attribute of Throughline's is in the record.
func (a Array) Path(name string) string {
	if a.Placement == migration.InArray {
		return ownPath(name)
	}
	return table.SharedLayout{}.Path(name)
}

// IsUnchanged is the condition that the session is as the writer has read it. The app changes the length of its array.
func (a Array) IsUnchanged(s conversation.Session) table.Condition {
	switch {
	case isAppsOwn(s):
		return a.IsIncarnation(s).And(a.hasEntries())
	case a.Placement == migration.InArray:
		return table.Is(ownPath(table.AttrVersion), s.Version).
			And(table.Is(table.AttrPlacement, a.Placement), a.IsIncarnation(s),
				a.hasEntries())
	}
	return table.IsUnchangedIn(string(a.Placement), s).And(a.hasEntries())
}

// IsIncarnation is the condition that the record still is this session. An app's own record has nothing to tell by.
func (a Array) IsIncarnation(s conversation.Session) table.Condition {
	switch {
	case isAppsOwn(s):
		return table.Exists().And(table.Lacks(table.AttrPlacement))
	case a.Placement == migration.InArray:
		return table.Is(table.AttrGeneration, s.Generation).
			And(table.Is(ownPath(table.AttrSessionCreatedAt), s.CreatedAt.UnixMilli()))
	}
	return table.SharedLayout{}.IsIncarnation(s)
}

// hasEntries is the condition that the array of a session is as long as it was.
func (a Array) hasEntries() table.Condition {
	switch a.Entries {
	case noAttributes:
		return table.Lacks(table.AttrAttributes)
	case noMessages:
		return table.Lacks(arrayPath).And(table.Has(table.AttrAttributes))
	case notAnArray:
		return table.Exists()
	}
	return table.Field(arrayPath).Size().Equal(table.Value(a.Entries))
}

// SetOwn sets those of OwnAttributes that have changed. With the first one of its own, an app's record becomes one that
// Throughline has changed, and gets them all.
func (a Array) SetOwn(u table.Update, before, after conversation.Session, names ...string) table.Update {
	own := table.OwnAttributes(after)
	if isAppsOwn(before) {
		return u.Set(attrOwn, own.Attribute()).
			Set(table.AttrPlacement, migration.InArray).
			Set(table.AttrGeneration, after.Generation)
	}
	for _, name := range names {
		u = u.SetOrRemove(a.Path(name), own[name], own.Has(name))
	}
	return u
}

// SetAttributes changes the attributes of a session one by one, so that the array and what else the app has in them
// stay as they are.
func (a Array) SetAttributes(u table.Update, _, after conversation.Session, changed map[string]any,
) (table.Update, error) {
	if len(changed) == 0 {
		return u, nil
	}
	all := table.Item{}
	if err := all.SetDocument(table.AttrAttributes, after.Attributes); err != nil {
		return u, err
	}
	switch {
	case a.Entries == noAttributes:
		return u.Set(table.AttrAttributes, all[table.AttrAttributes]), nil
	case a.Entries == notAnArray:
		return u, errNotAnArray()
	case len(changed) > table.MaxPaths:
		return u, fault.InvalidField("attributes",
			fmt.Sprintf("may change at most %d at once in a session that has not been migrated", table.MaxPaths))
	}
	return table.SetEach(u, all.Nested(table.AttrAttributes), changed), nil
}

// attributesAtTop returns the attributes outside of the app's record, in the record of a session that is not embedded.
func attributesAtTop(user conversation.UserID, s conversation.Session) table.Item {
	it := table.SharedAttributes(user, s)
	if seq := arrayOf(s).EmbeddedSeq; seq > 0 {
		it.Set(attrEmbeddedSeq, seq)
	}
	return it
}

// keptAttributes are the attributes at the top of a dual or shared session's record that an embedded session keeps, in
// one map. derivedAttributes are the others of Throughline's, which follow from the array or are of the indexes.
var (
	keptAttributes = slices.DeleteFunc(
		slices.Concat(table.NamesOf[conversation.Session](), table.NamesOf[conversation.SessionSummary](),
			[]string{table.AttrSummaryIndexedAt}),
		func(name string) bool {
			return name == table.AttrGeneration || slices.Contains(derivedAttributes, name)
		},
	)
	derivedAttributes = []string{
		table.AttrMessageCount, table.AttrLastSeq, table.AttrUserSeq, table.AttrUrgentSeq, table.AttrStartedAt,
		table.AttrLastMessageAt, table.AttrActiveAt,
		table.AttrCoachKey, table.AttrDueAt, table.AttrDueShard, table.AttrClaimedVersion, table.AttrClaimedBy,
		table.AttrClaimedAt,
		table.AttrFailures, table.AttrDueSince,
		table.AttrIndexingUntil, table.AttrSummaryAskedAt, attrEmbeddedSeq, table.AttrOutgrown, table.AttrOrigin,
		table.AttrCreation,
	}
)
