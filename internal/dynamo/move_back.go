package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
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
func (m *mover) unpark(ctx context.Context, it item, s conversation.Session) (*transaction, error) {
	if s.MessageCount*minEntryBytes > maxRecordBytes {
		return nil, errTooLarge
	}
	k := keyOf(it)
	records, err := m.db.read(ctx, opMove, parkedKey(k))
	if err != nil {
		return nil, err
	}
	parked := records[parkedKey(k)]
	if !isMessageOf(parked, s) {
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
	u := m.marked(m.versioned(s)).Set(field(attrPlacement), value(stringAttr(string(conversation.Dual)))).
		Remove(field(attrOutgrown)).Remove(field(attrEmbeddedSeq))
	t := m.db.transaction()
	t.update(k, setEntries(u, it, array), isUnchanged(s))
	t.remove(parkedKey(k))
	return t, nil
}

// setEntries sets the array of a record.
func setEntries(u expression.UpdateBuilder, it item, entries []types.AttributeValue) expression.UpdateBuilder {
	array := &types.AttributeValueMemberL{Value: entries}
	if it.nested(attrAttributes) == nil {
		return u.Set(field(attrAttributes), value(item{attrMessages: array}.attribute()))
	}
	return u.Set(field(arrayPath), value(array))
}

// storedAfter returns the messages of the shared store after a seq, in order. It returns errTooLarge where they are
// more than fit a record.
func (m *mover) storedAfter(ctx context.Context, s conversation.Session, seq int) ([]conversation.Message, error) {
	s.Placement = conversation.Shared // the array is not asked
	messages, _, more, err := NewMessageStore(m.db).readRange(ctx, m.user, messageRange{
		session: s, after: messageCursor{seq: seq}, limit: s.LastSeq, maxBytes: 2 * maxRecordBytes,
	})
	if err == nil && more {
		return nil, errTooLarge
	}
	return messages, err
}

// arrayOf returns the array of messages: the entries of the parked array as the app wrote them, and entries of
// Throughline's for the others. Where an entry would get another id than its message has, because one before it is
// gone, the id is written into it.
func (m *mover) arrayOf(s conversation.Session, parked item, messages []conversation.Message,
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
		if array[i], ok = original[message.ID]; !ok {
			fields, err := attributevalue.MarshalMap(migration.Encode(message))
			if err != nil {
				return nil, err
			}
			array[i] = item(fields).attribute()
		}
	}
	for i, message := range m.decodeEntries(s, array) {
		if id := messages[i].ID; message.ID != id {
			fields := array[i].(*types.AttributeValueMemberM)
			array[i] = item(fields.Value).with(item{migration.EntryMessageID: stringAttr(id)}).attribute()
		}
	}
	return array, nil
}

// decodeEntries decodes entries that are all messages.
func (m *mover) decodeEntries(s conversation.Session, list []types.AttributeValue) []conversation.Message {
	array := &types.AttributeValueMemberL{Value: list}
	messages, _ := m.decode(item{attrAttributes: item{attrMessages: array}.attribute()}, s)
	return messages
}

// adopt returns the transaction that makes a dual session agree with an array that the app has written to. The app's
// new entries become messages behind all others. Entries that are missing are added again.
func (m *mover) adopt(ctx context.Context, it item, s conversation.Session) (*transaction, error) {
	entries := make([]types.AttributeValue, len(it.array()))
	for i, e := range it.array() {
		if entries[i] = e; !isMap(e) {
			entries[i] = item{migration.EntryContent: e}.attribute()
		}
	}
	stored, err := m.storedAfter(ctx, s, s.EmbeddedSeq)
	if err != nil {
		return nil, err
	}
	plan, added, after := migration.Adopt(s, m.decodeEntries(s, entries), stored, messageIDs(m.user), maxAdopted)
	array := make([]types.AttributeValue, len(plan))
	for i, e := range plan {
		if e.Message == nil {
			array[i] = entries[e.Index]
			continue
		}
		fields, err := attributevalue.MarshalMap(migration.Encode(*e.Message))
		if err != nil {
			return nil, err
		}
		array[i] = item(fields).attribute()
	}
	k := keyOf(it)
	after.Version++
	u := setDueIfNone(setCounters(m.user, after), k, m.db.dueAfterIdle()).
		Set(field(attrDeletedSeqs), value(stringAttr(after.Deleted.String())))
	t := m.db.transaction()
	t.update(k, setEntries(u, it, array), isUnchanged(s))
	for _, message := range added {
		copied, err := m.encodeCopy(s, message)
		if err != nil {
			return nil, err
		}
		delete(copied, attrOrigin) // the functions have not seen it
		t.put(copied, notExists())
	}
	return t, nil
}

func isMap(v types.AttributeValue) bool {
	_, ok := v.(*types.AttributeValueMemberM)
	return ok
}
