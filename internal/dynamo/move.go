package dynamo

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// originBackfill marks what the migration writes. The stream mappings leave such records out.
const originBackfill = "backfill"

// mover moves one session between its placements (docs/adr/0023). A move is a number of steps. Each step can be
// repeated, and ends in one transaction that is conditioned on the session as it was read.
type mover struct {
	db   *DB
	user conversation.UserID
	id   string
	// byJob marks the session's record, so that no function works on the session because of the move.
	byJob bool
	// outgrown says that the array has no room for another message.
	outgrown bool
	// last are copies that are not written yet. They go with the transaction of the step.
	last []item
	// separate says that such a transaction has failed: the copies then have one of their own, which shows what is wrong.
	separate bool
	backoff  *backoff
	work     migration.Work
}

// move moves a session to a placement, as long as the stage says so. One that cannot be moved stays where it is.
// outgrown says that the array has no room for another message.
func (db *DB) move(ctx context.Context, user conversation.UserID, sessionID string, to conversation.Placement,
	outgrown bool,
) error {
	m := &mover{db: db, user: user, id: sessionID, outgrown: outgrown, backoff: db.backoff()}
	err := m.move(ctx, to)
	if _, ok := migration.ReasonOf(err); ok {
		return nil
	}
	return err
}

const opMove = "move session"

// move takes steps until the session has the placement. It returns a migration.Unmovable error for a session that
// cannot have it.
func (m *mover) move(ctx context.Context, to conversation.Placement) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	defer m.db.cache.removeSession(m.user, m.id)
	for {
		it, session, err := m.read(ctx)
		if err != nil {
			return err
		}
		t, isLast, err := m.step(ctx, it, session, to)
		if err != nil || t == nil {
			return err
		}
		if isWanted, err := isWanted(ctx, m, to); err != nil || !isWanted { // copies may have taken long
			return err
		}
		t.check(generationKey(m.user), isGeneration(session.Generation))
		tombstonePlace := -1
		if isAppsOwn(session) { // which the app may have put again
			tombstonePlace = checkDeleted(t, m.user, session)
		}
		copies := m.addLast(t, session)
		failures, err := m.commit(ctx, t)
		switch {
		case copies > 0 && (failures != nil || isTooLarge(err)):
			m.separate = true
			continue
		case isTooLarge(err) && session.Placement == conversation.Embedded && !m.outgrown:
			to, m.outgrown = conversation.Shared, true // the array leaves no room for what dual adds to the record
			continue
		case isTooLarge(err):
			return errTooLarge
		case err != nil:
			return err
		case failures != nil:
			if _, deleted := failures.existing(tombstonePlace); deleted {
				return notYet(ctx, m)
			}
			if err := m.backoff.afterConflict(ctx); err != nil {
				return failed(opMove, err)
			}
			continue
		}
		if m.work.Messages += copies; isLast {
			return nil
		}
	}
}

// isWanted reports whether the user's stage still says that the session should have a placement. The job has read the
// stage itself, and an array without room is left in every stage.
func isWanted(ctx context.Context, m *mover, to conversation.Placement) (bool, error) {
	if m.byJob || m.outgrown {
		return true, nil
	}
	state, err := m.db.migrationState(ctx)
	return state.Of(m.user).Placement() == to, err
}

func (m *mover) commit(ctx context.Context, t *transaction) (*conditionFailures, error) {
	failures, err := m.db.commit(ctx, opMove, t, m.backoff)
	m.work.Throttles, m.work.Unanswered = m.backoff.throttles, m.backoff.failures-m.backoff.throttles
	for _, i := range t.items {
		if i.ConditionCheck == nil {
			m.work.Writes++
		}
	}
	return failures, err
}

// read reads the session's record. The keys of all contexts are asked for: two sessions of one id cannot be told apart
// by the API.
func (m *mover) read(ctx context.Context) (it item, session conversation.Session, err error) {
	keys := sessionKeys(m.user, m.id)
	records, err := m.db.readCurrent(ctx, opMove, m.user, keys...)
	if err != nil {
		return nil, session, err
	}
	for _, k := range keys {
		s, ok := records.session(m.user, k)
		if !ok {
			continue
		}
		if it != nil {
			return nil, session, migration.Unmovable("the user has another session of this id in " + s.Context)
		}
		it, session = records[k], s
	}
	if it == nil {
		return nil, session, fault.Missing("session")
	}
	return it, session, nil
}

// step returns the transaction of the next step, and whether it is the last one. It is nil where the session has the
// placement.
func (m *mover) step(ctx context.Context, it item, s conversation.Session, to conversation.Placement,
) (t *transaction, isLast bool, err error) {
	isDual := s.Placement == conversation.Dual
	switch {
	case isDual && s.Entries != s.MessageCount:
		t, err = m.adopt(ctx, it, s)
		return t, false, err
	case s.Placement == to && (!isDual || s.EmbeddedSeq == 0):
		return nil, true, nil
	case s.Placement == conversation.Embedded:
		return m.leaveEmbedded(ctx, it, s, to)
	case s.Placement == conversation.Shared:
		t, err = m.unpark(ctx, it, s)
		return t, to == conversation.Dual, err
	case to == conversation.Embedded:
		return m.toEmbedded(it, s), true, nil
	}
	if s.EmbeddedSeq > 0 {
		messages, _ := m.decode(it, s)
		messages = slices.DeleteFunc(messages, func(v conversation.Message) bool { return v.Seq > s.EmbeddedSeq })
		lacking, err := m.copy(ctx, s, messages)
		if err == nil && len(lacking) > 0 {
			err = errLacking
		}
		if err != nil {
			return nil, false, err
		}
	}
	if to == conversation.Dual {
		t = m.db.transaction()
		t.update(keyOf(it), m.marked(m.versioned(s).Remove(field(attrEmbeddedSeq))), isUnchanged(s))
		return t, true, nil
	}
	return m.park(it, s), true, nil
}

func (m *mover) decode(it item, s conversation.Session) ([]conversation.Message, []migration.Problem) {
	var entries []any
	if err := attributevalue.UnmarshalList(it.array(), &entries); err != nil {
		return nil, []migration.Problem{{Reason: "the entries cannot be read"}}
	}
	return migration.Decode(s, entries, messageIDs(m.user))
}

// versioned returns the update that raises the session's version.
func (m *mover) versioned(s conversation.Session) expression.UpdateBuilder {
	return expression.Set(field(attrVersion), value(intAttr(s.Version+1)))
}

// marked adds the mark of the job to an update of the session.
func (m *mover) marked(u expression.UpdateBuilder) expression.UpdateBuilder {
	return setOrRemove(u, attrOrigin, stringAttr(originBackfill), m.byJob)
}

// errLacking refuses a session with messages of the shared store that cannot stand in its array.
const errLacking = migration.Unmovable("the shared store has messages of this session that its array lacks, from " +
	"before the array's last one: put the app's record back as it was")

// leaveEmbedded copies the messages of an embedded session and returns the transaction that makes it dual or shared.
// Where its array lacks messages of the shared store, it returns the one that adds them to the array, which is not the
// last step.
func (m *mover) leaveEmbedded(ctx context.Context, it item, s conversation.Session, to conversation.Placement,
) (t *transaction, isLast bool, err error) {
	if s.Entries == notAnArray {
		return nil, false, migration.Unmovable("the attributes have no list of messages")
	}
	messages, problems := m.decode(it, s)
	if len(problems) > 0 {
		reason := fmt.Sprintf("attributes.messages[%d]: %s", problems[0].Index, problems[0].Reason)
		if more := len(problems) - 1; more > 0 {
			reason += fmt.Sprintf(", and %d more", more)
		}
		return nil, false, migration.Unmovable(reason)
	}
	lacking, err := m.copy(ctx, s, messages)
	if err != nil {
		return nil, false, err
	}
	if len(lacking) > 0 {
		t, err = m.complete(it, s, lacking)
		return t, false, err
	}
	after := s
	after.Placement, after.EmbeddedSeq = to, 0
	after.Version++
	top := sharedAttributes(m.user, after)
	if m.byJob {
		top[attrOrigin] = stringAttr(originBackfill)
	}
	u, isSame, err := leaveArray(it, after, top)
	if err != nil {
		return nil, false, err
	}
	t = m.db.transaction()
	switch {
	case to == conversation.Shared:
		u = m.parkArray(t, u, it, s)
	case s.Entries < 0:
		u = setEntries(u, it, []types.AttributeValue{})
	}
	t.update(keyOf(it), u, isUnchanged(s).And(isSame))
	return t, true, nil
}

// complete returns the transaction that adds messages to the end of an embedded session's array. They keep their ids
// only if they are later than the array's last one.
func (m *mover) complete(it item, s conversation.Session, lacking []conversation.Message) (*transaction, error) {
	if !lacking[0].Timestamp.After(s.LastMessageAt) {
		return nil, errLacking
	}
	u, err := appendEntries(expression.UpdateBuilder{}, s, lacking)
	if err != nil {
		return nil, err
	}
	t := m.db.transaction()
	t.update(keyOf(it), u, isUnchanged(s))
	return t, nil
}

// toEmbedded returns the transaction that makes a dual session embedded. Its record leaves the indexes. What
// Throughline knows of the session moves into one attribute, and the app's values go back to their places.
func (m *mover) toEmbedded(it item, s conversation.Session) *transaction {
	own, apps := item{}, it.nested(attrAppValues).with(nil)
	u := expression.Set(field(attrPlacement), value(stringAttr(string(conversation.Embedded))))
	for _, name := range slices.Concat(keptAttributes, derivedAttributes) {
		if it.has(name) && slices.Contains(keptAttributes, name) {
			own[name] = it[name]
		}
		if apps.has(name) {
			u = u.Set(field(name), value(apps[name]))
			delete(apps, name)
		} else if it.has(name) {
			u = u.Remove(field(name))
		}
	}
	switch {
	case apps.has(attrEntityType):
		u = u.Set(field(attrEntityType), value(apps[attrEntityType]))
		delete(apps, attrEntityType)
	case !it.has(attrCreation): // the app's record had none
		u = u.Remove(field(attrEntityType))
	}
	own[attrVersion] = intAttr(s.Version + 1)
	u = setOrRemove(u, attrAppValues, apps.attribute(), len(apps) > 0).Set(field(attrOwn), value(own.attribute()))
	t := m.db.transaction()
	t.update(keyOf(it), u, isUnchanged(s))
	return t
}

// park returns the transaction that makes a dual session shared.
func (m *mover) park(it item, s conversation.Session) *transaction {
	t := m.db.transaction()
	u := m.parkArray(t, m.versioned(s).Remove(field(attrEmbeddedSeq)), it, s).
		Set(field(attrPlacement), value(stringAttr(string(conversation.Shared))))
	t.update(keyOf(it), m.marked(u), isUnchanged(s))
	return t
}

// parkArray moves the array of a session to a record of its own, so that later writes of the session do not rewrite it.
func (m *mover) parkArray(t *transaction, u expression.UpdateBuilder, it item, s conversation.Session,
) expression.UpdateBuilder {
	if m.outgrown {
		u = u.Set(field(attrOutgrown), value(boolAttr(true)))
	}
	if array := it.array(); len(array) > 0 {
		parked := parkedKey(keyOf(it)).attributes()
		parked[attrMessages] = &types.AttributeValueMemberL{Value: array}
		parked[attrGeneration] = intAttr(s.Generation)
		parked[attrSessionCreatedAt] = intAttr(s.CreatedAt.UnixMilli())
		parked.setString(attrDeletedSeqs, s.Deleted.String())
		t.replace(parked)
	}
	if s.Entries >= 0 {
		u = u.Remove(field(arrayPath))
	}
	return u
}

// parkedKey is the key of the parked array of a session.
func parkedKey(session key) key { return key{session.pk, parkedPrefix + session.sk} }
