package table

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

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
	IsUnchanged(s conversation.Session) expression.ConditionBuilder
	// IsIncarnation is the condition that the record still is this session, whatever was written to it since, and not a
	// later one of the same id.
	IsIncarnation(s conversation.Session) expression.ConditionBuilder
}

// recordUpdates change what Throughline knows of a session.
type recordUpdates interface {
	// Path returns where an attribute of Throughline's is in the record.
	Path(name string) string
	// SetOwn sets attributes of Throughline's, as OwnAttributes has them of the session after the change.
	SetOwn(u expression.UpdateBuilder, before, after conversation.Session, names ...string) expression.UpdateBuilder
	// SetAttributes sets those of the client's attributes that were changed. It returns an Invalid or a Conflict error
	// where the record does not allow that.
	SetAttributes(u expression.UpdateBuilder, before, after conversation.Session, changed map[string]any,
	) (expression.UpdateBuilder, error)
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
func (SharedLayout) IsUnchanged(s conversation.Session) expression.ConditionBuilder {
	return IsUnchangedIn(SharedPlacement, s)
}

// IsUnchangedIn is the condition that a session with its attributes at the top of its record is as it was read. Appends
// and edits raise the version, and an erasure or a deletion makes it another incarnation. A step of the migration
// changes the placement.
func IsUnchangedIn(placement string, s conversation.Session) expression.ConditionBuilder {
	return Field(AttrVersion).Equal(Value(IntAttr(s.Version))).
		And(Field(AttrPlacement).Equal(Value(StringAttr(placement))), SharedLayout{}.IsIncarnation(s))
}

// IsIncarnation implements Layout.
func (SharedLayout) IsIncarnation(s conversation.Session) expression.ConditionBuilder {
	return Field(AttrGeneration).Equal(Value(IntAttr(s.Generation))).
		And(Field(AttrSessionCreatedAt).Equal(Value(IntAttr(s.CreatedAt.UnixMilli()))))
}

// SetOwn implements Layout.
func (l SharedLayout) SetOwn(u expression.UpdateBuilder, _, after conversation.Session, names ...string,
) expression.UpdateBuilder {
	own := OwnAttributes(after)
	for _, name := range names {
		u = SetOrRemove(u, name, own[name], own.Has(name))
	}
	return u
}

// SetAttributes implements Layout.
func (SharedLayout) SetAttributes(u expression.UpdateBuilder, before, after conversation.Session,
	changed map[string]any,
) (expression.UpdateBuilder, error) {
	if len(changed) == 0 {
		return u, nil
	}
	all := Item{}
	if err := all.SetDocument(AttrAttributes, after.Attributes); err != nil {
		return u, err
	}
	if before.Attributes == nil || len(changed) > MaxPaths {
		return u.Set(Field(AttrAttributes), Value(all[AttrAttributes])), nil
	}
	return SetEach(u, all.Nested(AttrAttributes), changed), nil
}

// MaxPaths is how many attributes of an app one update changes by their names. An expression has at most 4 KB.
const MaxPaths = 100

// SetEach changes the attributes of a session one by one, so that what else the app has in them stays as it is.
func SetEach(u expression.UpdateBuilder, attributes Item, changed map[string]any) expression.UpdateBuilder {
	for name := range changed {
		path := Field(AttrAttributes).AppendName(literal(name))
		if v, ok := attributes[name]; ok {
			u = u.Set(path, Value(v))
		} else {
			u = u.Remove(path)
		}
	}
	return u
}

// IsUnchanged is the condition that a session is as the writer has read it (Layout).
func IsUnchanged(s conversation.Session) expression.ConditionBuilder {
	return LayoutOf(s).IsUnchanged(s)
}

// IsIncarnation is the condition that a record still is this session (Layout).
func IsIncarnation(s conversation.Session) expression.ConditionBuilder {
	return LayoutOf(s).IsIncarnation(s)
}

// SharedPlacement is the placement in the records of sessions that are in the shared store. Only Throughline writes it,
// so a record with it is no app's.
const SharedPlacement = "shared"

// IsOfSharedStore reports whether the record of a session is one of the shared store.
func IsOfSharedStore(session Item) bool { return session.String(AttrPlacement) == SharedPlacement }
