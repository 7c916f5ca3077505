package adopt

import (
	"context"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration"
)

const (
	// maxRecordBytes is DynamoDB's limit of a record, and minEntryBytes less than an entry of Throughline's takes.
	maxRecordBytes = 400 << 10
	minEntryBytes  = 60
	// maxAdopted is how many of the app's entries one transaction makes messages.
	maxAdopted = 90
)

const errTooLarge = migration.Unmovable("its messages do not fit into one record of 400 KB")

// unpark returns the transaction that makes a shared session dual. Its array is the parked one, with the messages that
// came later and without those that were deleted.
func (m *mover) unpark(ctx context.Context, it table.Item, s conversation.Session) (*table.Transaction, error) {
	if s.MessageCount*minEntryBytes > maxRecordBytes {
		return nil, errTooLarge
	}
	k := table.KeyOf(it)
	records, err := m.db.Read(ctx, opMove, parkedKey(k))
	if err != nil {
		return nil, err
	}
	parked := records[parkedKey(k)]
	if !table.IsMessageOf(parked, s) {
		parked = nil // of an earlier session of the id
	}
	messages, more, err := dynamo.NewMessageStore(m.db).StoredAfter(ctx, m.user, s, 0, 2*maxRecordBytes)
	if err == nil && more {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	array, err := m.arrayOf(s, parked, messages)
	if err != nil {
		return nil, err
	}
	u := m.marked(m.versioned(s)).
		Set(table.AttrPlacement, migration.InBoth).
		Remove(table.AttrOutgrown).Remove(attrEmbeddedSeq)
	t := m.db.Transaction()
	t.Update(k, setEntries(u, it, array), table.IsUnchanged(s))
	t.Remove(parkedKey(k))
	return t, nil
}

// setEntries sets the array of a record.
func setEntries(u table.Update, it table.Item, entries []types.AttributeValue) table.Update {
	array := &types.AttributeValueMemberL{Value: entries}
	if it.Nested(table.AttrAttributes) == nil {
		return u.Set(table.AttrAttributes, table.Item{attrMessages: array}.Attribute())
	}
	return u.Set(arrayPath, array)
}

// arrayOf returns the array of messages: the entries of the parked array as the app wrote them, and entries of
// Throughline's for the others. Where an entry would get another id than its message has, because one before it is
// gone, the id is written into it.
func (m *mover) arrayOf(s conversation.Session, parked table.Item, messages []conversation.Message,
) ([]types.AttributeValue, error) {
	original := map[string]types.AttributeValue{}
	if list, ok := parked[attrMessages].(*types.AttributeValueMemberL); ok {
		for i, message := range m.decodeEntries(s, list.Value) {
			original[message.ID] = list.Value[i]
		}
	}
	array := make([]types.AttributeValue, len(messages))
	for i, message := range messages {
		var ok bool
		if array[i], ok = original[message.ID]; ok {
			continue
		}
		var err error
		if array[i], err = entryOf(message); err != nil {
			return nil, err
		}
	}
	ids := make([]string, len(messages))
	for i, message := range messages {
		ids[i] = message.ID
	}
	return withIDs(m, s, array, ids), nil
}

// withIDs writes the ids into those entries that would have others. An empty id is any.
func withIDs(m *mover, s conversation.Session, array []types.AttributeValue, ids []string) []types.AttributeValue {
	for i, message := range m.decodeEntries(s, array) {
		if id := ids[i]; id != "" && message.ID != id {
			fields := array[i].(*types.AttributeValueMemberM)
			array[i] = table.Item(fields.Value).With(table.Item{migration.EntryMessageID: table.StringAttr(id)}).Attribute()
		}
	}
	return array
}

// decodeEntries decodes entries that are all messages.
func (m *mover) decodeEntries(s conversation.Session, list []types.AttributeValue) []conversation.Message {
	array := &types.AttributeValueMemberL{Value: list}
	messages, _ := m.decode(recordWith(array), s)
	return messages
}

// adopt returns the transaction that makes a dual session and its array agree, after the app has written to either. The
// app's new entries become messages after all others. Missing ones are added again. It is nil where they do.
func (m *mover) adopt(ctx context.Context, it table.Item, s conversation.Session) (*table.Transaction, error) {
	plan, array, err := m.agreed(ctx, it, s, maxAdopted)
	if err != nil || reflect.DeepEqual(plan.Session, s) && reflect.DeepEqual(array, entriesIn(it)) && plan.Changed == nil {
		return nil, err
	}
	k, after := table.KeyOf(it), plan.Session
	after.Version++
	u := table.SetCounters(m.user, after).SetDueIfNone(k, m.db.DueAfterIdle()).
		Apply(table.Encode(after), table.AttrDeletedSeqs)
	t := m.db.Transaction()
	t.Update(k, setEntries(u, it, array), table.IsUnchanged(s))
	for _, message := range plan.Added {
		copied := m.encodeCopy(s, message)
		delete(copied, table.AttrOrigin) // the functions have not seen it
		t.Put(copied, table.NotExists())
	}
	for _, message := range plan.Changed {
		copied := m.encodeCopy(s, message)
		u := table.Set(table.AttrSeq, message.Seq).
			Apply(copied, table.AttrRole, table.AttrContent, table.AttrTokens, table.AttrCleanBy)
		t.Update(table.KeyOf(copied), u, table.IsOf(s))
	}
	return t, nil
}

// agreed returns a dual session as it agrees with its array, with at most limit messages that are new to the store or
// changed there, and the array.
func (m *mover) agreed(ctx context.Context, it table.Item, s conversation.Session, limit int,
) (plan migration.Adopted, array []types.AttributeValue, err error) {
	entries := make([]types.AttributeValue, len(entriesIn(it)))
	for i, e := range entriesIn(it) {
		if _, isMap := e.(*types.AttributeValueMemberM); isMap {
			entries[i] = e
		} else {
			entries[i] = table.Item{migration.EntryContent: e}.Attribute()
		}
	}
	copied := arrayOf(s).EmbeddedSeq
	stored, copies, err := storedMessages(ctx, m, s, false)
	if err == nil && len(stored)+copied < s.MessageCount { // the index lags
		stored, copies, err = storedMessages(ctx, m, s, true)
	}
	if err != nil {
		return plan, nil, err
	}
	stored = slices.DeleteFunc(stored, func(v conversation.Message) bool {
		return v.Seq <= copied || s.Deleted.Contains(v.Seq)
	})
	return withStored(m, s, copied, entries, stored, copies, limit)
}

// withStored returns a session and its array with the messages that the store has after a seq.
func withStored(m *mover, s conversation.Session, seq int, entries []types.AttributeValue,
	stored []conversation.Message, copies map[string]bool, limit int,
) (plan migration.Adopted, array []types.AttributeValue, err error) {
	plan = migration.Adopt(s, seq, m.decodeEntries(s, entries), stored, copies, messageIDs(m.user), limit)
	array, ids := make([]types.AttributeValue, len(plan.Entries)), make([]string, len(plan.Entries))
	for i, e := range plan.Entries {
		if ids[i] = e.ID; e.Message == nil {
			array[i] = entries[e.Index]
		} else if array[i], err = entryOf(*e.Message); err != nil {
			return plan, nil, err
		}
	}
	return plan, withIDs(m, plan.Session, array, ids), nil
}
