package adopt

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// originBackfill marks what the migration writes. The stream mappings leave such records out.
const originBackfill = "backfill"

// mover moves one session between its placements (docs/adr/0023). A move is a number of steps. Each step can be
// repeated, and ends in one transaction that is conditioned on the session as it was read.
type mover struct {
	db      *dynamo.DB
	adopter *Adopter
	user    conversation.UserID
	id      string
	// byJob marks the session's record, so that no function works on the session because of the move.
	byJob bool
	// outgrown says that the array has no room for another message.
	outgrown bool
	// last are copies that are not written yet. They go with the transaction of the step.
	last []table.Item
	// separate says that such a transaction has failed: the copies then have one of their own, which shows what is wrong.
	separate bool
	// compared says that a dual session and its array agree. The job looks, because the app can change an array and leave
	// its length.
	compared bool
	backoff  *table.Backoff
	work     migration.Work
}

// move moves a session to a placement, as long as the stage says so. One that cannot be moved stays where it is.
// outgrown says that the array has no room for another message.
func (a *Adopter) move(ctx context.Context, user conversation.UserID, sessionID string, to migration.Placement,
	outgrown bool,
) error {
	m := a.mover(user, sessionID)
	m.outgrown = outgrown
	err := m.move(ctx, to)
	if _, ok := migration.ReasonOf(err); ok {
		return nil
	}
	return err
}

func (a *Adopter) mover(user conversation.UserID, sessionID string) *mover {
	return &mover{db: a.db, adopter: a, user: user, id: sessionID, backoff: a.db.Backoff()}
}

const opMove = "move session"

// move takes steps until the session has the placement. It returns a migration.Unmovable error for a session that
// cannot have it.
func (m *mover) move(ctx context.Context, to migration.Placement) error {
	ctx, cancel := context.WithTimeout(ctx, table.OperationTimeout)
	defer cancel()
	defer m.db.ForgetSession(m.user, m.id)
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
		t.Check(table.GenerationKey(m.user), table.IsGeneration(session.Generation))
		tombstonePlace := -1
		if isAppsOwn(session) { // which the app may have put again
			tombstonePlace = checkDeleted(t, m.user, session)
		}
		copies := m.addLast(t, session)
		failures, err := m.commit(ctx, t)
		switch {
		case copies > 0 && (failures != nil || table.IsTooLarge(err)):
			m.separate = true
			continue
		case table.IsTooLarge(err) && isEmbedded(session) && !m.outgrown:
			to, m.outgrown = migration.InStore, true // the array leaves no room for what dual adds to the record
			continue
		case table.IsTooLarge(err):
			return errTooLarge
		case err != nil:
			return err
		case failures != nil:
			m.compared = false
			if _, deleted := failures[tombstonePlace]; deleted {
				return notYet(ctx, m)
			}
			if err := m.backoff.AfterConflict(ctx); err != nil {
				return table.Failed(opMove, err)
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
func isWanted(ctx context.Context, m *mover, to migration.Placement) (bool, error) {
	if m.byJob || m.outgrown {
		return true, nil
	}
	state, err := m.adopter.migrationState(ctx)
	return state.Of(m.user).Placement() == to, err
}

func (m *mover) commit(ctx context.Context, t *table.Transaction) (table.ConditionFailures, error) {
	failures, err := m.db.Commit(ctx, opMove, t, m.backoff)
	m.work.Throttles = m.backoff.Failures
	for _, i := range t.Items {
		if i.ConditionCheck == nil {
			m.work.Writes++
		}
	}
	return failures, err
}

// read reads the session's record. The keys of all contexts are asked for: the API cannot distinguish two sessions
// of one id.
func (m *mover) read(ctx context.Context) (it table.Item, session conversation.Session, err error) {
	keys := table.SessionKeys(m.user, m.id)
	records, err := m.db.ReadCurrent(ctx, opMove, m.user, keys...)
	if err != nil {
		return nil, session, err
	}
	for _, k := range keys {
		s, ok := m.db.Session(records, m.user, k)
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
func (m *mover) step(ctx context.Context, it table.Item, s conversation.Session, to migration.Placement,
) (t *table.Transaction, isLast bool, err error) {
	array, isDual := arrayOf(s), PlacementOf(s) == migration.InBoth
	switch {
	case isDual && (array.Entries != s.MessageCount || m.byJob && !m.compared):
		if t, err = m.adopt(ctx, it, s); t != nil || err != nil {
			return t, false, err
		}
		m.compared = true
		return m.step(ctx, it, s, to)
	case array.Placement == to && (!isDual || array.EmbeddedSeq == 0):
		return nil, true, nil
	case isEmbedded(s):
		return m.leaveEmbedded(ctx, it, s, to)
	case s.Adopted == nil:
		t, err = m.unpark(ctx, it, s)
		return t, to == migration.InBoth, err
	case to == migration.InArray:
		return m.toEmbedded(it, s), true, nil
	}
	if array.EmbeddedSeq > 0 {
		messages, _ := m.decode(it, s)
		messages = slices.DeleteFunc(messages, func(v conversation.Message) bool { return v.Seq > array.EmbeddedSeq })
		lacking, err := m.copy(ctx, s, messages)
		if err == nil && len(lacking) > 0 {
			err = migration.Unmovable("the shared store has messages of this session that its array lacks: put the app's " +
				"record back as it was")
		}
		if err != nil {
			return nil, false, err
		}
	}
	if to == migration.InBoth {
		t = m.db.Transaction()
		t.Update(table.KeyOf(it), m.marked(m.versioned(s).Remove(attrEmbeddedSeq)), table.IsUnchanged(s))
		return t, true, nil
	}
	return m.park(it, s), true, nil
}

func (m *mover) decode(it table.Item, s conversation.Session) ([]conversation.Message, []migration.Problem) {
	var entries []any
	if err := attributevalue.UnmarshalList(entriesIn(it), &entries); err != nil {
		return nil, []migration.Problem{{Reason: "the entries cannot be read"}}
	}
	return migration.Decode(s, entries, messageIDs(m.user))
}

// readable returns the messages of an embedded session. It returns an Unmovable error where an entry cannot be one.
func (m *mover) readable(it table.Item, s conversation.Session) ([]conversation.Message, error) {
	if arrayOf(s).Entries == notAnArray {
		return nil, migration.Unmovable("the attributes have no list of messages")
	}
	messages, problems := m.decode(it, s)
	if len(problems) == 0 {
		return messages, nil
	}
	reason := fmt.Sprintf("attributes.messages[%d]: %s", problems[0].Index, problems[0].Reason)
	if more := len(problems) - 1; more > 0 {
		reason += fmt.Sprintf(", and %d more", more)
	}
	return nil, migration.Unmovable(reason)
}

// versioned returns the update that raises the session's version.
func (m *mover) versioned(s conversation.Session) table.Update {
	return table.Set(table.AttrVersion, s.Version+1)
}

// marked adds the mark of the job to an update of the session.
func (m *mover) marked(u table.Update) table.Update {
	return u.SetOrRemove(table.AttrOrigin, originBackfill, m.byJob)
}

// leaveEmbedded copies the messages of an embedded session and returns the transaction that makes it dual or shared.
// Where its array lacks messages of the shared store, it returns the one that adds them to the array, which is not the
// last step.
func (m *mover) leaveEmbedded(ctx context.Context, it table.Item, s conversation.Session, to migration.Placement,
) (t *table.Transaction, isLast bool, err error) {
	messages, err := m.readable(it, s)
	if err != nil {
		return nil, false, err
	}
	lacking, err := m.copy(ctx, s, messages)
	if err != nil {
		return nil, false, err
	}
	if len(lacking) > 0 {
		t, err = m.complete(it, s, lacking)
		return t, false, err
	}
	after := placed(s, Array{Placement: to, Entries: arrayOf(s).Entries})
	after.Version++
	top := attributesAtTop(m.user, after)
	if m.byJob {
		top.Set(table.AttrOrigin, originBackfill)
	}
	u, isSame, err := leaveArray(it, after, top)
	if err != nil {
		return nil, false, err
	}
	t = m.db.Transaction()
	switch {
	case to == migration.InStore:
		u = m.parkArray(t, u, it, s)
	case arrayOf(s).Entries < 0:
		u = setEntries(u, it, []types.AttributeValue{})
	}
	t.Update(table.KeyOf(it), u, table.IsUnchanged(s).And(isSame))
	return t, true, nil
}

// complete returns the transaction that adds messages of the store to an embedded session's array, between the entries
// that are earlier and those that are not.
func (m *mover) complete(it table.Item, s conversation.Session, lacking []conversation.Message,
) (*table.Transaction, error) {
	earlier := 0
	for _, message := range m.decodeEntries(s, entriesIn(it)) {
		if message.Timestamp.Before(lacking[0].Timestamp) {
			earlier = message.Seq
		}
	}
	_, array, err := withStored(m, s, earlier, entriesIn(it), lacking, nil, math.MaxInt)
	if err != nil {
		return nil, err
	}
	t := m.db.Transaction()
	t.Update(table.KeyOf(it), setEntries(table.Update{}, it, array), table.IsUnchanged(s))
	return t, nil
}

// toEmbedded returns the transaction that makes a dual session embedded. Its record leaves the indexes. What
// Throughline knows of the session moves into one attribute, and the app's values go back to their places.
func (m *mover) toEmbedded(it table.Item, s conversation.Session) *table.Transaction {
	own, apps := table.Item{}, it.Nested(attrAppValues).With(nil)
	u := table.Set(table.AttrPlacement, migration.InArray)
	for _, name := range slices.Concat(keptAttributes, derivedAttributes) {
		if it.Has(name) && slices.Contains(keptAttributes, name) {
			own[name] = it[name]
		}
		if apps.Has(name) {
			u = u.Set(name, apps[name])
			delete(apps, name)
		} else if it.Has(name) {
			u = u.Remove(name)
		}
	}
	switch {
	case apps.Has(table.AttrEntityType):
		u = u.Set(table.AttrEntityType, apps[table.AttrEntityType])
		delete(apps, table.AttrEntityType)
	case !it.Has(table.AttrCreation): // the app's record had none
		u = u.Remove(table.AttrEntityType)
	}
	own.Set(table.AttrVersion, s.Version+1)
	u = u.SetOrRemove(attrAppValues, apps.Attribute(), len(apps) > 0).Set(attrOwn, own.Attribute())
	t := m.db.Transaction()
	t.Update(table.KeyOf(it), u, table.IsUnchanged(s))
	return t
}

// park returns the transaction that makes a dual session shared.
func (m *mover) park(it table.Item, s conversation.Session) *table.Transaction {
	t := m.db.Transaction()
	u := m.parkArray(t, m.versioned(s).Remove(attrEmbeddedSeq), it, s).
		Set(table.AttrPlacement, migration.InStore)
	t.Update(table.KeyOf(it), m.marked(u), table.IsUnchanged(s))
	return t
}

// parkArray moves the array of a session to a record of its own, so that later writes of the session do not rewrite it.
func (m *mover) parkArray(t *table.Transaction, u table.Update, it table.Item, s conversation.Session) table.Update {
	if m.outgrown {
		u = u.Set(table.AttrOutgrown, true)
	}
	if array := entriesIn(it); len(array) > 0 {
		parked := parkedKey(table.KeyOf(it)).Attributes()
		parked[attrMessages] = &types.AttributeValueMemberL{Value: array}
		parked.Set(table.AttrGeneration, s.Generation)
		parked.Set(table.AttrSessionCreatedAt, s.CreatedAt.UnixMilli())
		parked.SetString(table.AttrDeletedSeqs, s.Deleted.String())
		t.Replace(parked)
	}
	if arrayOf(s).Entries >= 0 {
		u = u.Remove(arrayPath)
	}
	return u
}
