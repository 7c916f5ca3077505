package dynamo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// route is how an append reaches a session: where the session is, and where it is after the append.
type route struct {
	session conversation.Session
	to      conversation.Placement
	// record is the session's record where the append takes an embedded session to dual, else nil.
	record item
}

// route returns the way of an append to a session. A session that is not shared goes to the placement that the user's
// stage says. Where the append cannot take it there, it is moved first. One that cannot be moved stays in its array.
func (a *appender) route(ctx context.Context, session conversation.Session) (route, error) {
	for {
		if session.Placement == conversation.Shared {
			return route{session: session, to: conversation.Shared}, nil
		}
		state, err := a.db.migrationState(ctx)
		if err != nil {
			return route{}, err
		}
		to := state.Of(a.user).Placement()
		isEmbedded := session.Placement == conversation.Embedded
		isComplete := isEmbedded || session.Entries == session.MessageCount
		if session.Placement == conversation.Dual && to == conversation.Embedded && state.Settled(a.now) > 0 && isComplete {
			to = conversation.Dual // readers that do not know the stage take the shared store for complete
		}
		if session.Placement == to && isComplete {
			return route{session: session, to: to}, nil
		}
		if isEmbedded && to == conversation.Dual {
			if r, ok, err := a.toDual(ctx, session); ok || err != nil {
				return r, err
			}
		}
		if session, err = a.move(ctx, to, false); err != nil {
			return route{}, err
		}
		if session.Placement == conversation.Embedded && to != conversation.Embedded {
			return route{session: session, to: conversation.Embedded}, nil
		}
	}
}

// toDual returns the way to an embedded session that becomes dual with the append. Its record is read, because it may
// have attributes of the app of the names that Throughline writes. It reports false for a session that has to be moved:
// one with messages in the shared store, because the array may lack some of them.
func (a *appender) toDual(ctx context.Context, session conversation.Session) (r route, ok bool, err error) {
	sk, _ := sessionSK(session.Context, session.ID)
	k := key{partition(a.user), sk}
	records, err := a.db.readCurrent(ctx, "append messages", a.user, k)
	if err != nil {
		return route{}, false, err
	}
	now, ok := records.session(a.user, k)
	switch {
	case !ok:
		return route{}, false, fault.Missing("session")
	case now.Placement != conversation.Embedded:
		r, err = a.route(ctx, now)
		return r, err == nil, err
	case len(decodeArray(now, records[k])) < now.Entries: // which nobody can move
		return route{session: now, to: conversation.Embedded}, true, nil
	}
	stored, err := hasStored(ctx, a.db, a.user, now)
	return route{session: now, to: conversation.Dual, record: records[k]}, err == nil && !stored, err
}

// move moves the session and returns it as it is then.
func (a *appender) move(ctx context.Context, to conversation.Placement, outgrown bool) (conversation.Session, error) {
	if err := a.db.move(ctx, a.user, a.sessionID, to, outgrown); err != nil {
		return conversation.Session{}, err
	}
	return a.sessions.Session(ctx, a.user, a.sessionID)
}

// extended returns the session after the append, where Extend has counted its messages. The status of an app's own
// record is the app's.
func (r route) extended(after conversation.Session, messages []conversation.NewMessage) conversation.Session {
	after.Summary, after.Placement, after.LeftAt = nil, r.to, time.Time{}
	if r.to != conversation.Shared {
		after.Entries = max(0, r.session.Entries) + len(messages)
	}
	if isAppsOwn(r.session) && r.to == conversation.Embedded {
		after.Version = 0
	} else {
		after = after.Reopen(messages)
	}
	if r.record != nil {
		after.EmbeddedSeq = r.session.LastSeq
	}
	return after
}

// update returns the update of the session's record, and its condition.
func (r route) update(user conversation.UserID, k key, after conversation.Session, messages []conversation.Message,
	due time.Time,
) (u expression.UpdateBuilder, isAsRead expression.ConditionBuilder, err error) {
	isAsRead = isUnchanged(r.session)
	switch {
	case r.record != nil:
		var isSame expression.ConditionBuilder
		top := sharedAttributes(user, after)
		top[attrDueAt], top[attrDueShard] = timeAttr(due), intAttr(dueShard(k))
		if u, isSame, err = leaveArray(r.record, after, top); err != nil {
			return u, isAsRead, err
		}
		isAsRead = isAsRead.And(isSame)
	case r.to == conversation.Embedded && after.Version > 0:
		u = u.Set(field(ownPath(attrVersion)), value(intAttr(after.Version)))
	case r.to != conversation.Embedded:
		// The user is back. The stream's filter lets a leave pass only where no time of one was there.
		u = setDueIfNone(setCounters(user, after).Remove(field(attrLeftAt)), k, due)
	}
	if r.record == nil && after.Status != r.session.Status {
		u = setOwn(u, r.session, after, attrStatus, attrSessionCompletedAt)
	}
	if r.to == conversation.Shared {
		return u, isAsRead, nil
	}
	u, err = appendEntries(u, r.session, messages)
	return u, isAsRead, err
}

// leaveArray returns the update that takes an embedded session's record to another placement: what is Throughline's
// stands at the top from then on. top is that, as far as it is known; the rest comes from the record. The app's values
// of the same names are kept. The condition is that the app has not changed these.
func leaveArray(record item, after conversation.Session, top item,
) (u expression.UpdateBuilder, isAsRead expression.ConditionBuilder, err error) {
	surface, err := conversation.SurfaceOf(after.Context)
	if err != nil {
		return u, isAsRead, err
	}
	all := record.nested(attrOwn).with(top)
	all[attrEntityType] = stringAttr(surface.EntityType)
	all[attrPlacement] = stringAttr(string(after.Placement))
	all[attrGeneration] = intAttr(after.Generation)
	isAsRead = exists()
	apps := record.nested(attrAppValues).with(nil)
	keep := func(name string) {
		was, known := record[name]
		if !known || name == attrPlacement || name == attrGeneration && record.has(attrOwn) {
			return
		}
		apps[name] = was
		isAsRead = isAsRead.And(field(name).Equal(value(was)))
	}
	for name, v := range all {
		u = u.Set(field(name), value(v))
		keep(name)
	}
	for _, name := range slices.Concat(keptAttributes, derivedAttributes) {
		if record.has(name) && !all.has(name) { // a later write could set it
			u = u.Remove(field(name))
			keep(name)
		}
	}
	if record.has(attrOwn) {
		u = u.Remove(field(attrOwn))
	}
	if len(apps) > 0 {
		u = u.Set(field(attrAppValues), value(apps.attribute()))
	}
	return u, isAsRead, nil
}

// isTooLarge reports whether DynamoDB refused a write because a record would pass 400 KB.
func isTooLarge(err error) bool {
	const reason = "Item size"
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, r := range cancelled.CancellationReasons {
			if aws.ToString(r.Code) == "ValidationError" && strings.Contains(aws.ToString(r.Message), reason) {
				return true
			}
		}
		return false
	}
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" && strings.Contains(api.ErrorMessage(), reason)
}

// tooLarge returns a TooLarge error for an array that has no room, and any other error as it is.
func tooLarge(err error, p conversation.Placement) error {
	if p != conversation.Embedded || !isTooLarge(err) {
		return err
	}
	return fault.New(fault.TooLarge,
		"the messages of this session are in one record of at most 400 KB, and these do not fit into what is left")
}
