package adopt

import (
	"context"
	"fmt"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// verifier compares the array of a session with its messages in the shared store.
type verifier struct {
	*mover
}

// verify returns how many messages it has compared, and an Unmovable error with the difference. The index that lists
// messages may lag, and others write to the session: one that differs is read again, consistently, before it is named.
func (v verifier) verify(ctx context.Context) (int, error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		it, s, err := v.read(ctx)
		if err != nil {
			return 0, err
		}
		stored, _, err := storedMessages(ctx, v.mover, s, attempt > 1)
		if err != nil {
			return 0, err
		}
		n, err := v.compare(ctx, it, s, stored)
		if _, differs := migration.ReasonOf(err); !differs || attempt == attempts {
			return n, err
		}
	}
}

// storedMessages returns the messages of a session in the shared store by their times, and which are copies: by the
// index, or else by the table.
func storedMessages(ctx context.Context, m *mover, s conversation.Session, consistent bool,
) (messages []conversation.Message, copies map[string]bool, err error) {
	q := m.stored(s)
	if consistent {
		low, high := table.MessageBounds(s.StartedAt, s.LastMessageAt.AddDate(0, 0, 1))
		q = table.Query{Where: table.Between(m.user, low, high)}
	}
	sk, _ := table.SessionSK(s.Context, s.ID)
	source := table.SourceID(m.user, sk)
	copies = map[string]bool{}
	for it, err := range m.db.Query(ctx, "read session", q) {
		if err != nil {
			return nil, nil, err
		}
		if message, ok := table.DecodeMessage(it); ok && it.String(table.AttrSourceID) == source && table.IsMessageOf(it, s) {
			messages = append(messages, message)
			copies[message.ID] = it.String(table.AttrOrigin) == originBackfill
		}
	}
	return messages, copies, nil
}

func (v verifier) compare(ctx context.Context, it table.Item, s conversation.Session,
	stored []conversation.Message,
) (int, error) {
	array := arrayOf(s)
	switch {
	case isEmbedded(s):
		_, problems := v.decode(it, s)
		if array.Entries == notAnArray || len(problems) > 0 {
			return 0, migration.Unmovable("its array has entries that cannot be messages")
		}
		return 0, migration.Unmovable("its messages are in the array only; run backfill")
	case len(stored) != s.MessageCount && array.EmbeddedSeq == 0:
		return len(stored), migration.Unmovable(
			fmt.Sprintf("the shared store has %d messages, the session %d", len(stored), s.MessageCount))
	case !slices.IsSortedFunc(stored, func(a, b conversation.Message) int { return a.Seq - b.Seq }):
		return len(stored), migration.Unmovable("the messages in the shared store are not in the order of their seqs")
	case s.Adopted == nil:
		return v.compareParked(ctx, it, s, stored)
	case array.EmbeddedSeq > 0:
		return len(stored), migration.Unmovable(
			fmt.Sprintf("its messages up to seq %d are in the array only; run backfill", array.EmbeddedSeq))
	}
	messages, problems := v.decode(it, s)
	if len(problems) > 0 || len(messages) != len(stored) {
		return len(stored), migration.Unmovable(
			fmt.Sprintf("the array has %d entries, the shared store %d messages", array.Entries, len(stored)))
	}
	for i := range messages {
		if reason := difference(messages[i], stored[i]); reason != "" {
			return len(stored), migration.Unmovable(fmt.Sprintf("message %d: %s", messages[i].Seq, reason))
		}
	}
	return len(stored), nil
}

// compareParked compares the parked array of a shared session: each of its messages is in the store, or was deleted.
func (v verifier) compareParked(ctx context.Context, it table.Item, s conversation.Session,
	stored []conversation.Message,
) (int, error) {
	k := parkedKey(table.KeyOf(it))
	records, err := v.db.Read(ctx, "verify session", k)
	if err != nil {
		return 0, err
	}
	parked := records[k]
	if !table.IsMessageOf(parked, s) {
		return len(stored), nil
	}
	bySeq := make(map[int]conversation.Message, len(stored))
	for _, message := range stored {
		bySeq[message.Seq] = message
	}
	then := s
	if then.Deleted, err = conversation.ParseSeqSet(parked.String(table.AttrDeletedSeqs)); err != nil {
		return 0, fault.Wrap(fault.Internal, "verify session", err)
	}
	array, _ := v.decode(recordWith(parked[attrMessages]), then)
	for _, message := range array {
		got, ok := bySeq[message.Seq]
		if !ok && s.Deleted.Contains(message.Seq) {
			continue
		}
		if reason := difference(message, got); reason != "" {
			return len(stored), migration.Unmovable(fmt.Sprintf("message %d: %s", message.Seq, reason))
		}
	}
	return len(stored), nil
}

// difference says in what a message of the array differs from one in the shared store.
func difference(array, stored conversation.Message) string {
	switch {
	case stored.ID == "":
		return "it is missing in the shared store"
	case array.ID != stored.ID:
		return "the ids differ"
	case array.Seq != stored.Seq:
		return "the seqs differ"
	case array.Role != stored.Role:
		return "the roles differ"
	case array.Content != stored.Content:
		return "the contents differ"
	case !conversation.EqualParts(array.Parts, stored.Parts), array.ClientMessageID != stored.ClientMessageID:
		return "the parts or the clientMessageIds differ"
	}
	return ""
}
