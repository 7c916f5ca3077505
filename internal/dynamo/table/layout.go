package table

import (
	"github.com/throughline/throughline/internal/conversation"
)

// Layout is how the record of a session is laid out. An adopted session has its own, as its Adopted. All others have
// SharedLayout.
type Layout interface {
	recordConditions
	recordUpdates
}

// recordConditions are the conditions by which a writer of a session knows its record again.
type recordConditions interface {
	// IsUnchanged is the condition that a session is as the writer has read it, but for its summary and watermarks.
	IsUnchanged(s conversation.Session) Condition
	// IsIncarnation is the condition that the record still is this session, whatever was written to it since, and not a
	// later one of the same id.
	IsIncarnation(s conversation.Session) Condition
}

// recordUpdates change what Throughline knows of a session.
type recordUpdates interface {
	// Path returns where an attribute of Throughline's is in the record.
	Path(name string) string
	// SetOwn sets attributes of Throughline's, as OwnAttributes has them of the session after the change.
	SetOwn(u Update, before, after conversation.Session, names ...string) Update
	// SetAttributes sets those of the client's attributes that were changed. It returns an Invalid or a Conflict error
	// where the record does not allow that.
	SetAttributes(u Update, before, after conversation.Session, changed map[string]any,
	) (Update, error)
}

// LayoutOf returns the layout of a session's record.
func LayoutOf(s conversation.Session) Layout {
	if l, ok := s.Adopted.(Layout); ok {
		return l
	}
	return SharedLayout{}
}

// SharedLayout is the layout of a record of Throughline's, which has all attributes at its top.
type SharedLayout struct{}

// Path implements Layout.
func (SharedLayout) Path(name string) string { return name }

// IsUnchanged implements Layout.
func (SharedLayout) IsUnchanged(s conversation.Session) Condition {
	return IsUnchangedIn(SharedPlacement, s)
}

// IsUnchangedIn is the condition that a session with its attributes at the top of its record is as it was read. Appends
// and edits raise the version, and an erasure or a deletion makes it another incarnation. A step of the migration
// changes the placement.
func IsUnchangedIn(placement string, s conversation.Session) Condition {
	return Is(AttrVersion, s.Version).
		And(Is(AttrPlacement, placement), SharedLayout{}.IsIncarnation(s))
}

// IsIncarnation implements Layout.
func (SharedLayout) IsIncarnation(s conversation.Session) Condition {
	return Is(AttrGeneration, s.Generation).And(Is(AttrSessionCreatedAt, s.CreatedAt.UnixMilli()))
}

// SetOwn implements Layout.
func (l SharedLayout) SetOwn(u Update, _, after conversation.Session, names ...string) Update {
	return u.Apply(Encode(after), names...)
}

// SetAttributes implements Layout.
func (SharedLayout) SetAttributes(u Update, before, after conversation.Session, changed map[string]any,
) (Update, error) {
	if len(changed) == 0 {
		return u, nil
	}
	all := Item{}
	if err := all.SetDocument(AttrAttributes, after.Attributes); err != nil {
		return u, err
	}
	if before.Attributes == nil || len(changed) > MaxPaths {
		return u.Set(AttrAttributes, all[AttrAttributes]), nil
	}
	return SetEach(u, all.Nested(AttrAttributes), changed), nil
}

// MaxPaths is how many attributes of an app one update changes by their names. An expression has at most 4 KB.
const MaxPaths = 100

// SetEach changes the attributes of a session one by one, so that what else the app has in them stays as it is.
func SetEach(u Update, attributes Item, changed map[string]any) Update {
	for name := range changed {
		path := Field(AttrAttributes).AppendName(literal(name))
		if v, ok := attributes[name]; ok {
			u.built = u.built.Set(path, Value(v))
		} else {
			u.built = u.built.Remove(path)
		}
	}
	return u
}

// IsUnchanged is the condition that a session is as the writer has read it (Layout).
func IsUnchanged(s conversation.Session) Condition {
	return LayoutOf(s).IsUnchanged(s)
}

// IsIncarnation is the condition that a record still is this session (Layout).
func IsIncarnation(s conversation.Session) Condition {
	return LayoutOf(s).IsIncarnation(s)
}

// SharedPlacement is the placement in the records of sessions that are in the shared store. Only Throughline writes it,
// so a record with it is no app's.
const SharedPlacement = "shared"

// IsOfSharedStore reports whether the record of a session is one of the shared store.
func IsOfSharedStore(session Item) bool { return session.String(AttrPlacement) == SharedPlacement }
