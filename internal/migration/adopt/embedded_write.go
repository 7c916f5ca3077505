package adopt

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// Messages returns a session that was not shared with its placement now, and the messages that are read from its
// array: all of an embedded session and of a dual one, and of a dual one in the stages that read the shared store those
// up to EmbeddedSeq.
func (a *Adopter) Messages(ctx context.Context, user conversation.UserID, session conversation.Session,
) (conversation.Session, []conversation.Message, error) {
	k := table.KeyOfSession(user, session)
	records, err := a.db.ReadCurrent(ctx, "read messages", user, k)
	if err != nil {
		return session, nil, err
	}
	now, ok := a.db.Session(records, user, k)
	if !ok || !now.IsSame(session) {
		return session, nil, fault.Missing("session")
	}
	session.Adopted = now.Adopted
	if now.Adopted == nil {
		return session, nil, nil
	}
	array := decodeArray(now, records[k])
	switch entries := arrayOf(now).Entries; {
	case isEmbedded(now):
		return session, array, nil
	case entries != now.MessageCount: // the app has written to it, and what it has written is not in the store yet
		m := a.mover(user, now.ID)
		plan, entries, err := m.agreed(ctx, records[k], now, entries+now.LastSeq)
		return plan.Session, m.decodeEntries(plan.Session, entries), err
	}
	state, err := a.migrationState(ctx)
	if stage := state.Of(user); err != nil || stage == migration.Embedded || stage == migration.Dual {
		return session, array, err
	}
	return session, slices.DeleteFunc(array,
		func(m conversation.Message) bool { return m.Seq > arrayOf(now).EmbeddedSeq }), nil
}

// Array returns the messages of the array in a session's record.
func (a *Adopter) Array(record table.Item, s conversation.Session) []conversation.Message {
	return decodeArray(s, record)
}

// Remove takes a message out of the array of a session. An entry after it whose id would become another gets its
// id as an attribute. The condition is that the app has not replaced the entry. It returns a NotFound error where the
// array has no such message.
func (a *Adopter) Remove(u table.Update, record table.Item, before, after conversation.Session, m conversation.Message,
) (table.Update, table.Condition, conversation.Session, error) {
	array := arrayOf(after)
	array.Entries--
	after.Adopted = array
	list, messages, index := entriesIn(record), decodeArray(before, record), indexOf(before, m.Seq)
	isMessage := func(other conversation.Message) bool { return other.ID == m.ID && other.Seq == m.Seq }
	if index >= len(list) || !slices.ContainsFunc(messages, isMessage) {
		return u, table.Condition{}, after, fault.Missing("message")
	}
	path := fmt.Sprintf("%s[%d]", arrayPath, index)
	isSame := table.Is(path, list[index])
	rest := slices.Delete(slices.Clone(list), index, index+1)
	ids := map[int]string{}
	for _, m := range messages {
		ids[m.Seq] = m.ID
	}
	changed := false
	left := record.With(recordWith(&types.AttributeValueMemberL{Value: rest}))
	for _, m := range decodeArray(after, left) {
		if at := indexOf(after, m.Seq); ids[m.Seq] != m.ID {
			entry, _ := rest[at].(*types.AttributeValueMemberM)
			rest[at], changed = table.Item(entry.Value).With(table.Item{table.AttrMessageID: table.StringAttr(ids[m.Seq])}).
				Attribute(), true
		}
	}
	if changed {
		return u.Set(arrayPath, &types.AttributeValueMemberL{Value: rest}), isSame, after, nil
	}
	return u.Remove(path), isSame, after, nil
}

// indexOf returns the place of a message in its session's array.
func indexOf(s conversation.Session, seq int) (index int) {
	for other := 1; other < seq; other++ {
		if !s.Deleted.Contains(other) {
			index++
		}
	}
	return index
}
