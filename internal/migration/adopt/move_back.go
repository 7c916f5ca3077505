package adopt

import (
	"context"

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
	messages, err := m.storedAfter(ctx, s, 0)
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

// storedAfter returns the messages of the shared store after a seq, in order. It returns errTooLarge where they are
// more than fit a record.
func (m *mover) storedAfter(ctx context.Context, s conversation.Session, seq int) ([]conversation.Message, error) {
	messages, more, err := dynamo.NewMessageStore(m.db).StoredAfter(ctx, m.user, s, seq, 2*maxRecordBytes)
	if err == nil && more {
		return nil, errTooLarge
	}
	return messages, err
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
	for i, message := range m.decodeEntries(s, array) {
		if id := messages[i].ID; message.ID != id {
			fields := array[i].(*types.AttributeValueMemberM)
			array[i] = table.Item(fields.Value).With(table.Item{migration.EntryMessageID: table.StringAttr(id)}).Attribute()
		}
	}
	return array, nil
}

// decodeEntries decodes entries that are all messages.
func (m *mover) decodeEntries(s conversation.Session, list []types.AttributeValue) []conversation.Message {
	array := &types.AttributeValueMemberL{Value: list}
	messages, _ := m.decode(recordWith(array), s)
	return messages
}

// adopt returns the transaction that makes a dual session agree with an array that the app has written to. The app's
// new entries become messages after all others. Entries that are missing are added again.
func (m *mover) adopt(ctx context.Context, it table.Item, s conversation.Session) (*table.Transaction, error) {
	entries := make([]types.AttributeValue, len(entriesIn(it)))
	for i, e := range entriesIn(it) {
		if _, isMap := e.(*types.AttributeValueMemberM); isMap {
			entries[i] = e
		} else {
			entries[i] = table.Item{migration.EntryContent: e}.Attribute()
		}
	}
	stored, err := m.storedAfter(ctx, s, arrayOf(s).EmbeddedSeq)
	if err != nil {
		return nil, err
	}
	plan, added, after := migration.Adopt(s, arrayOf(s).EmbeddedSeq, m.decodeEntries(s, entries), stored,
		messageIDs(m.user), maxAdopted)
	array := make([]types.AttributeValue, len(plan))
	for i, e := range plan {
		if e.Message == nil {
			array[i] = entries[e.Index]
		} else if array[i], err = entryOf(*e.Message); err != nil {
			return nil, err
		}
	}
	k := table.KeyOf(it)
	after.Version++
	u := table.SetCounters(m.user, after).SetDueIfNone(k, m.db.DueAfterIdle()).
		Apply(table.Encode(after), table.AttrDeletedSeqs)
	t := m.db.Transaction()
	t.Update(k, setEntries(u, it, array), table.IsUnchanged(s))
	for _, message := range added {
		copied := m.encodeCopy(s, message)
		delete(copied, table.AttrOrigin) // the functions have not seen it
		t.Put(copied, table.NotExists())
	}
	return t, nil
}
