package dynamo

import (
	"context"
	"reflect"

	"github.com/throughline/throughline/internal/conversation"
)

// describe adds to a change of a session how the session was described until then, its title and attributes: a repeat
// of an append from before shows them, and idempotency records hold no contents.
func (s *Store) describe(t *transaction, k key, before, after conversation.Session) {
	same := before.Title == after.Title && reflect.DeepEqual(before.Attributes, after.Attributes)
	if same || before.LastSeq == 0 {
		return
	}
	it := key{k.pk, descriptionSK(k.sk, before, before.Version)}.attributes()
	it.setText(attrTitle, before.Title)
	if err := it.setDocument(attrAttributes, before.Attributes); err != nil {
		t.err = err
	}
	it[attrGeneration] = whole(before.Generation)
	it[TTLAttribute] = whole(s.now().Add(idempotencyLife).Unix())
	t.set(it)
}

// describedAt puts a session's title and attributes as they were at a version in place of what they are.
func (s *Store) describedAt(ctx context.Context, user conversation.UserID, session conversation.Session, version int64) (conversation.Session, error) {
	sk, _ := sessionSK(session.Context, session.ID)
	q := query{where: within(user, descriptionSK(sk, session, version), afterPrefix(descriptionPrefixOf(sk, session))), page: 1}
	for it, err := range s.query(ctx, "read description", q) {
		if err != nil {
			return conversation.Session{}, err
		}
		session.Title, session.Attributes = it.text(attrTitle), it.document(attrAttributes)
		break
	}
	return session, nil
}

// DeleteDescriptions deletes what is kept of how a session was described.
func (s *Store) DeleteDescriptions(ctx context.Context, user conversation.UserID, session conversation.Session) error {
	const op = "delete descriptions"
	sk, _ := sessionSK(session.Context, session.ID)
	var keys []key
	for it, err := range s.queryAll(ctx, op, query{where: beginning(user, descriptionPrefixOf(sk, session)), only: []string{attrPK, attrSK}}) {
		if err != nil {
			return err
		}
		keys = append(keys, keyIn(it))
	}
	return failed(op, s.deleteAll(ctx, keys))
}
