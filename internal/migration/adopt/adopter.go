package adopt

import (
	"context"
	"maps"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration"
)

// Adopter serves the sessions of an app's own records. It is safe for concurrent use.
type Adopter struct {
	db     *dynamo.DB
	stages *stageCache
	// countTokens counts the tokens of messages that the app wrote. It is nil where nobody does.
	countTokens func(string) int
}

// Of returns the adopter of a DB. One that has none gets one, so it has to be called before the DB is used.
func Of(db *dynamo.DB) *Adopter {
	if a, ok := db.Adoption().(*Adopter); ok {
		return a
	}
	a := &Adopter{db: db, stages: &stageCache{initial: migration.Shared}}
	db.Adopt(a)
	return a
}

// WithLegacy adopts the sessions of an app's own records, in the stage that the table's record says.
func WithLegacy() dynamo.Option { return func(db *dynamo.DB) { Of(db) } }

// WithInitialStage does so, and sets the stage of the migration of a table that has no record of it. The default is
// shared.
func WithInitialStage(s migration.Stage) dynamo.Option {
	return func(db *dynamo.DB) { Of(db).stages.initial = s }
}

// WithTokens does so, and sets what counts the tokens of messages that the app wrote, when they are moved to the shared
// store.
func WithTokens(count func(string) int) dynamo.Option {
	return func(db *dynamo.DB) { Of(db).countTokens = count }
}

// Session decodes the record of an adopted session. An app's own record has no generation: an erasure deletes it as
// long as it is not done.
func (a *Adopter) Session(record, generation table.Item) (conversation.Session, bool) {
	context, id, ok := table.ParseSessionSK(record.String(table.AttrSK))
	if !ok {
		return conversation.Session{}, false
	}
	if record.Has(table.AttrPlacement) {
		ok = record.Int64(table.AttrGeneration) >= generation.Int64(table.AttrGeneration)
	} else {
		ok = !generation.Bool(table.AttrErasing)
	}
	if !ok {
		return conversation.Session{}, false
	}
	s := conversation.Session{ID: id, Context: context}
	if migration.Placement(record.String(table.AttrPlacement)) != migration.InBoth {
		if s = decodeEmbedded(record, s); isAppsOwn(s) {
			s.Generation = generation.Int64(table.AttrGeneration)
		}
		return s, true
	}
	s = table.DecodeOwn(record)
	s.ID, s.Context, s.Generation = id, context, record.Int64(table.AttrGeneration)
	s.Attributes = attributesOnly(record)
	s.Adopted = Array{
		Placement: migration.InBoth, Entries: len(entriesIn(record)), EmbeddedSeq: int(record.Int64(attrEmbeddedSeq)),
	}
	return s, true
}

// Encode adds the array to the record of a new session, and what Throughline knows of the session.
func (a *Adopter) Encode(record table.Item, user conversation.UserID, s conversation.Session) {
	setArray(record)
	record.Set(table.AttrPlacement, PlacementOf(s))
	if isEmbedded(s) {
		record[attrOwn] = table.OwnAttributes(s).Attribute()
	} else {
		maps.Copy(record, attributesAtTop(user, s))
	}
}

// Edited returns a session as it is read beside an array.
func (a *Adopter) Edited(s conversation.Session, change conversation.SessionChange) conversation.Session {
	if array := arrayOf(s); array.Entries == noAttributes && len(change.Attributes) > 0 {
		array.Entries = noMessages
		s.Adopted = array
	}
	if len(s.Attributes) == 0 {
		s.Attributes = nil
	}
	return s
}

// Placed returns the array that a new session begins with, nil for one of the shared store.
func (a *Adopter) Placed(ctx context.Context, user conversation.UserID) (conversation.Adopted, error) {
	state, err := a.migrationState(ctx)
	if p := state.Of(user).Placement(); err == nil && p != migration.InStore {
		return Array{Placement: p}, nil
	}
	return nil, err
}

// IsMigrated reports whether the shared store has the user's history.
func (a *Adopter) IsMigrated(ctx context.Context, user conversation.UserID) (bool, error) {
	state, err := a.migrationState(ctx)
	return state.IsMoved(user), err
}

// IsInIndexes reports whether the indexes have all sessions of the user. They lack embedded ones.
func (a *Adopter) IsInIndexes(ctx context.Context, user conversation.UserID) (bool, error) {
	state, err := a.migrationState(ctx)
	return state.Of(user) == migration.Shared, err
}

// Beside returns the key of the stage of the migration when the one that is known is too old.
func (a *Adopter) Beside(now time.Time) (table.Key, bool) {
	return stateKey(), a.stages.isStale(now)
}

// Noted takes the stage.
func (a *Adopter) Noted(records table.RecordSet, began time.Time) {
	a.stages.save(a.stages.in(records), began)
}

// SizeInList is the size of a session's record without its array.
func (a *Adopter) SizeInList(record table.Item) int {
	n := record.Size()
	for _, e := range entriesIn(record) {
		n -= table.SizeOf(e)
	}
	return n
}
