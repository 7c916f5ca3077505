package dynamo

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// A client's own id of a message has a record of its own, which the append of the message creates. It names the message
// and holds nothing of its content, and it stays when the message is deleted, so that a late repeat stores nothing.

// addClientIDs adds the records of the messages' clientMessageIds to a transaction. It returns their places, -1 for a
// message without an id.
func (a *appender) addClientIDs(t *table.Transaction, k table.Key, done conversation.Appended) []int {
	places := make([]int, len(done.Messages))
	for i, m := range done.Messages {
		places[i] = -1
		if m.ClientMessageID == "" {
			continue
		}
		sk, _ := table.ParseMessageID(a.user, m.ID)
		it := k.Beside(table.ClientSK(k.SK, done.Session, m.ClientMessageID)).Attributes()
		it.Set(table.AttrMessageSK, sk)
		it.Set(table.AttrGeneration, done.Session.Generation)
		places[i] = t.Put(it, table.NotExists().
			Or(table.IsBelow(table.AttrGeneration, done.Session.Generation)))
	}
	return places
}

// setAside takes the messages whose clientMessageIds are stored out of the append, with the stored messages. It reports
// how many. It returns a Conflict error for an id of another content, and for one whose message was deleted.
func (a *appender) setAside(ctx context.Context, try appendAttempt, failures table.ConditionFailures) (int, error) {
	keys := map[string]table.Key{}
	for i, place := range try.clientPlaces {
		if it, exists := failures[place]; exists {
			keys[a.messages[i].ClientMessageID] = table.UserKey(a.user, it.String(table.AttrMessageSK))
		}
	}
	if len(keys) == 0 {
		return 0, nil
	}
	sk, _ := table.SessionSK(try.result.Session.Context, try.result.Session.ID)
	all := []table.Key{table.UserKey(a.user, sk)}
	for _, k := range keys {
		all = append(all, k)
	}
	records, err := a.db.ReadCurrent(ctx, "append messages", a.user, all...)
	if err != nil {
		return 0, err
	}
	for id, k := range keys {
		i := slices.IndexFunc(a.messages, func(m conversation.NewMessage) bool { return m.ClientMessageID == id })
		m, session, ok := a.db.message(records, a.user, sk, k.SK)
		if err := a.messages[i].CheckDuplicate(m, ok && m.Generation == session.Generation); err != nil {
			return 0, err
		}
		if a.refusesDuplicates {
			return 0, conversation.MessageExists(id)
		}
		m.Duplicate = true
		a.known[id] = m
		a.messages = slices.Delete(slices.Clone(a.messages), i, i+1)
	}
	a.current, _ = a.db.Session(records, a.user, all[0])
	a.current.Summary = nil
	return len(keys), nil
}

// withKnown adds the messages that were stored before to the answer of an append, in the order of the call.
func (a *appender) withKnown(done conversation.Appended) conversation.Appended {
	if len(a.known) == 0 {
		return done
	}
	messages := make([]conversation.Message, 0, len(a.all))
	for _, m := range a.all {
		if stored, ok := a.known[m.ClientMessageID]; ok {
			messages = append(messages, stored)
			continue
		}
		messages, done.Messages = append(messages, done.Messages[0]), done.Messages[1:]
	}
	done.Messages = messages
	return done
}
