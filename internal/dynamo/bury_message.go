package dynamo

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// MessageOf reads a message of a session, consistently.
func (s *Store) MessageOf(ctx context.Context, user conversation.UserID, sessionID, messageID string) (conversation.Message, error) {
	sk, ok := parseMessageID(user, messageID)
	if !ok {
		return conversation.Message{}, fault.Missing("message")
	}
	k := key{partition(user), sk}
	f, err := s.readOf(ctx, "read message", user, k)
	if err != nil {
		return conversation.Message{}, err
	}
	it, _ := f.of(user, k)
	m, ok := decodeMessage(it)
	if !ok || m.SessionID != sessionID {
		return conversation.Message{}, fault.Missing("message")
	}
	return m, nil
}

// BuryMessage deletes a message and corrects its session in one transaction, on condition that the session is still
// as it was read; it is tried again when another writer came first.
func (s *Store) BuryMessage(ctx context.Context, user conversation.UserID, m conversation.Message, vectors []string, due time.Time) (erasure.Grave, error) {
	const op = "delete message"
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	sk, ok := parseMessageID(user, m.ID)
	if !ok {
		return erasure.Grave{}, fault.Missing("message")
	}
	g := erasure.Grave{
		User: user, ID: messageGraveSK(sk), Generation: m.Generation, Message: &m, BuriedAt: s.now(), Vectors: vectors,
	}
	for p := s.patience(); ; {
		burial, err := s.burial(ctx, user, m, key{partition(user), sk}, g, due)
		if err != nil {
			return g, err
		}
		refused, err := s.commit(ctx, op, burial.tx, p)
		if err != nil {
			return g, err
		}
		if refused == nil {
			s.known.keep(user, burial.after)
			return burial.grave, nil
		}
		if it, failed := refused.met(burial.message); failed && it == nil {
			if refused.unsure {
				return burial.grave, nil
			}
			return g, fault.Missing("message")
		}
		if err := p.wait(ctx); err != nil {
			return g, failed(op, err)
		}
	}
}

// burial is the transaction that deletes a message; message is the place of its own deletion.
type burial struct {
	tx      *transaction
	message int
	after   conversation.Session
	grave   erasure.Grave
}

func (s *Store) burial(ctx context.Context, user conversation.UserID, m conversation.Message, k key, g erasure.Grave, due time.Time) (burial, error) {
	before, err := s.SessionIn(ctx, user, m.Context, m.SessionID)
	if err != nil {
		return burial{}, err
	}
	first, last, err := s.ends(ctx, user, before, m)
	if err != nil {
		return burial{}, err
	}
	b := burial{tx: s.transaction(), after: before.Without(m, first, last), grave: g}
	b.message = b.tx.delete(k, exists())
	u := counters(b.after).Set(field(attrDeleted), value(text(b.after.Deleted.String())))
	if before.Summary != nil && b.after.Summary == nil {
		if u, err = s.dropSummary(ctx, user, before, &b, u); err != nil {
			return burial{}, err
		}
	}
	u = u.Set(field(attrSummarizedSeq), value(whole(b.after.SummarizedSeq)))
	if b.after.SummarizedSeq < b.after.LastSeq {
		u = s.dueNow(u, before, user)
	}
	sk, _ := sessionSK(before.Context, before.ID)
	b.tx.update(key{partition(user), sk}, u, standsAs(before).And(summaryStandsAs(before)))
	b.tx.set(encodeGrave(b.grave, due))
	return b, nil
}

// dropSummary deletes the session's summary, which covers the message, and its records.
func (s *Store) dropSummary(ctx context.Context, user conversation.UserID, before conversation.Session, b *burial, u expression.UpdateBuilder) (expression.UpdateBuilder, error) {
	records, err := s.summariesOf(ctx, user, before)
	if err != nil {
		return u, err
	}
	for _, it := range records {
		b.tx.delete(keyIn(it), field(attrSessionID).Equal(value(text(before.ID))).Or(expression.AttributeNotExists(field(attrPK))))
		b.grave.Vectors = append(b.grave.Vectors, strings.TrimPrefix(it.text(attrSK), summaryPrefix))
	}
	for _, name := range []string{attrSummary, attrSummaryTokens, attrSummaryKind, attrSummaryInProgress, attrSummaryCoveredSeq, attrSummaryUpdatedAt} {
		u = u.Remove(field(name))
	}
	return u, nil
}

// summaryStandsAs is the condition that nobody has saved a summary since the session was read: a message is covered
// by it or not.
func summaryStandsAs(s conversation.Session) expression.ConditionBuilder {
	if s.Summary == nil {
		return expression.AttributeNotExists(field(attrSummaryCoveredSeq))
	}
	return field(attrSummaryCoveredSeq).Equal(value(whole(s.Summary.CoveredThrough)))
}

// dueNow has the sweep write the summary of what is left.
func (s *Store) dueNow(u expression.UpdateBuilder, session conversation.Session, user conversation.UserID) expression.UpdateBuilder {
	sk, _ := sessionSK(session.Context, session.ID)
	return u.Set(field(attrDueAt), value(moment(s.now()))).
		Set(field(attrDueShard), value(whole(dueShard(key{partition(user), sk}))))
}

// ends returns the session's first and last messages as they are without one; nil where none is left.
func (s *Store) ends(ctx context.Context, user conversation.UserID, session conversation.Session, without conversation.Message) (first, last *conversation.Message, err error) {
	session.Deleted = session.Deleted.Add(without.Seq)
	for _, end := range []struct {
		descending bool
		to         **conversation.Message
	}{{false, &first}, {true, &last}} {
		messages, _, _, err := s.stretch(ctx, user, stretch{session: session, limit: 1, descending: end.descending})
		if err != nil {
			return nil, nil, err
		}
		if len(messages) > 0 {
			*end.to = &messages[0]
		}
	}
	return first, last, nil
}
