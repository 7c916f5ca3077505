package adopt

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// route is how an append reaches an adopted session: where the session is, and where it is after the append.
type route struct {
	session conversation.Session
	to      migration.Placement
	// record is the session's record where the append takes an embedded session to dual, else nil.
	record table.Item
}

// Route returns the way of an append to a session. A session that is not shared goes to the placement that the user's
// stage says. Where the append cannot take it there, it is moved first. One that cannot be moved stays in its array.
func (a *Adopter) Route(ctx context.Context, user conversation.UserID, session conversation.Session,
) (dynamo.SessionWrite, error) {
	for session.Adopted != nil {
		state, err := a.migrationState(ctx)
		if err != nil {
			return nil, err
		}
		to := state.Of(user).Placement()
		isComplete := isEmbedded(session) || arrayOf(session).Entries == session.MessageCount
		isDual := PlacementOf(session) == migration.InBoth
		if isDual && to == migration.InArray && state.Settled(a.db.Now()) > 0 && isComplete {
			to = migration.InBoth // readers that do not know the stage take the shared store for complete
		}
		if PlacementOf(session) == to && isComplete {
			return route{session: session, to: to}, nil
		}
		if isEmbedded(session) && to == migration.InBoth {
			if w, ok, err := a.toDual(ctx, user, session); ok || err != nil {
				return w, err
			}
		}
		if session, err = a.moved(ctx, user, session.ID, to, false); err != nil {
			return nil, err
		}
		if isEmbedded(session) && to != migration.InArray {
			return route{session: session, to: migration.InArray}, nil
		}
	}
	return dynamo.PlainWrite(session), nil
}

// toDual returns the way to an embedded session that becomes dual with the append. Its record is read, because it may
// have attributes of the app of the names that Throughline writes. It reports false for a session that has to be moved:
// one with messages in the shared store, because the array may lack some of them.
func (a *Adopter) toDual(ctx context.Context, user conversation.UserID, session conversation.Session,
) (w dynamo.SessionWrite, ok bool, err error) {
	k := table.KeyOfSession(user, session)
	records, err := a.db.ReadCurrent(ctx, "append messages", user, k)
	if err != nil {
		return nil, false, err
	}
	now, ok := a.db.Session(records, user, k)
	switch {
	case !ok:
		return nil, false, fault.Missing("session")
	case !isEmbedded(now):
		w, err = a.Route(ctx, user, now)
		return w, err == nil, err
	case len(decodeArray(now, records[k])) < arrayOf(now).Entries: // which nobody can move
		return route{session: now, to: migration.InArray}, true, nil
	}
	stored, err := hasStored(ctx, a.db, user, now)
	return route{session: now, to: migration.InBoth, record: records[k]}, err == nil && !stored, err
}

// moved moves a session and returns it as it is then.
func (a *Adopter) moved(ctx context.Context, user conversation.UserID, id string, to migration.Placement, outgrown bool,
) (conversation.Session, error) {
	if err := a.move(ctx, user, id, to, outgrown); err != nil {
		return conversation.Session{}, err
	}
	return dynamo.NewSessionReader(a.db).Session(ctx, user, id)
}

// Outgrown moves a dual session whose array has no room to the shared store. For an embedded one it returns a TooLarge
// error.
func (a *Adopter) Outgrown(ctx context.Context, user conversation.UserID, s conversation.Session,
) (conversation.Session, error) {
	if !isEmbedded(s) {
		return a.moved(ctx, user, s.ID, migration.InStore, true)
	}
	return s, fault.New(fault.TooLarge,
		"the messages of this session are in one record of at most 400 KB, and these do not fit into what is left")
}

// Before returns the session as it was read.
func (r route) Before() conversation.Session { return r.session }

// After returns the session after the append. The status of an app's own record is the app's.
func (r route) After(s conversation.Session, messages []conversation.NewMessage) conversation.Session {
	if isAppsOwn(r.session) && r.to == migration.InArray {
		s.Summary, s.LeftAt, s.Version = nil, time.Time{}, 0
	} else {
		s = dynamo.PlainWrite(r.session).After(s, messages)
	}
	array := arrayOf(r.session)
	array.Placement, array.Entries = r.to, max(0, array.Entries)+len(messages)
	if r.record != nil {
		array.EmbeddedSeq = r.session.LastSeq
	}
	s.Adopted = array
	return s
}

// Update returns the update of the session's record with the entries of the messages, and its condition.
func (r route) Update(user conversation.UserID, after conversation.Session, messages []conversation.Message,
	due time.Time,
) (u table.Update, isAsRead table.Condition, err error) {
	isAsRead = table.IsUnchanged(r.session)
	switch {
	case r.record != nil:
		var isSame table.Condition
		top, k := attributesAtTop(user, after), table.KeyOf(r.record)
		top.SetDue(k, due)
		if u, isSame, err = leaveArray(r.record, after, top); err != nil {
			return u, isAsRead, err
		}
		isAsRead = isAsRead.And(isSame)
	case r.to != migration.InArray:
		if u, isAsRead, err = dynamo.PlainWrite(r.session).Update(user, after, messages, due); err != nil {
			return u, isAsRead, err
		}
	case after.Version > 0:
		u = u.Set(ownPath(table.AttrVersion), after.Version)
	}
	if r.to == migration.InArray && after.Status != r.session.Status {
		u = arrayOf(r.session).SetOwn(u, r.session, after, table.AttrStatus, table.AttrSessionCompletedAt)
	}
	u, err = appendEntries(u, r.session, messages)
	return u, isAsRead, err
}

// leaveArray returns the update that takes an embedded session's record to another placement: what is Throughline's
// is at the top from then on. top is that, as far as it is known; the rest comes from the record. The app's values
// of the same names are kept. The condition is that the app has not changed these.
func leaveArray(record table.Item, after conversation.Session, top table.Item,
) (u table.Update, isAsRead table.Condition, err error) {
	appContext, err := conversation.AppContextOf(after.Context)
	if err != nil {
		return u, isAsRead, err
	}
	all := record.Nested(attrOwn).With(top)
	all.Set(table.AttrEntityType, appContext.EntityType)
	all.Set(table.AttrPlacement, PlacementOf(after))
	all.Set(table.AttrGeneration, after.Generation)
	isAsRead = table.Exists()
	apps := record.Nested(attrAppValues).With(nil)
	keep := func(name string) {
		was, known := record[name]
		if !known || name == table.AttrPlacement || name == table.AttrGeneration && record.Has(attrOwn) {
			return
		}
		apps[name] = was
		isAsRead = isAsRead.And(table.Is(name, was))
	}
	for name, v := range all {
		u = u.Set(name, v)
		keep(name)
	}
	for _, name := range slices.Concat(keptAttributes, derivedAttributes) {
		if record.Has(name) && !all.Has(name) { // a later write could set it
			u = u.Remove(name)
			keep(name)
		}
	}
	if record.Has(attrOwn) {
		u = u.Remove(attrOwn)
	}
	if len(apps) > 0 {
		u = u.Set(attrAppValues, apps.Attribute())
	}
	return u, isAsRead, nil
}
