package dynamo

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
)

var _ erasure.Store = (*Store)(nil)

// encodeGrave makes a grave's record. Of what was deleted it holds the place, and nothing of its content.
func encodeGrave(g erasure.Grave, due time.Time) item {
	k := key{partition(g.User), g.ID}
	it := k.attributes()
	it[attrGeneration] = whole(g.Generation)
	it[attrEmptied] = flag(g.Emptied)
	it[attrRound] = whole(g.Round)
	it.setTexts(attrVectors, g.Vectors)
	it[attrDueAt] = moment(due)
	it[attrDueShard] = whole(dueShard(k))
	it.setTime(attrBuriedAt, g.BuriedAt)
	if m := g.Message; m != nil {
		sk, _ := sessionSK(m.Context, m.SessionID)
		it[attrSessionSK] = text(sk)
		it[attrSeq] = whole(m.Seq)
		it.setTime(attrTimestamp, m.Timestamp)
	}
	if s := g.Session; s != nil {
		sk, _ := sessionSK(s.Context, s.ID)
		it[attrSessionSK] = text(sk)
		it[attrCreatedAt] = moment(s.CreatedAt)
		it[attrMessageCount] = whole(s.MessageCount)
		it.setTime(attrStartedAt, s.StartedAt)
		it.setTime(attrLastMessageAt, s.LastMessageAt)
	}
	return it
}

func decodeGrave(it item) (g erasure.Grave, ok bool) {
	k := keyIn(it)
	user, isUser := userIn(k.pk)
	g = erasure.Grave{
		User: user, ID: k.sk, Generation: it.whole(attrGeneration), Emptied: it.flag(attrEmptied),
		Round: int(it.whole(attrRound)), Vectors: it.texts(attrVectors), Namespace: k.sk == generationSK,
		BuriedAt: it.time(attrBuriedAt),
	}
	context, id, inSession := parseSessionSK(it.text(attrSessionSK))
	switch {
	case inSession && it.whole(attrSeq) > 0:
		g.Message = &conversation.Message{
			Context: context, SessionID: id, Seq: int(it.whole(attrSeq)), Timestamp: it.time(attrTimestamp),
			Generation: g.Generation,
		}
	case inSession:
		g.Session = &conversation.Session{
			ID: id, Context: context, CreatedAt: it.time(attrCreatedAt), Generation: g.Generation,
			MessageCount: int(it.whole(attrMessageCount)), StartedAt: it.time(attrStartedAt),
			LastMessageAt: it.time(attrLastMessageAt),
		}
	}
	return g, isUser && isGrave(k)
}

func isGrave(k key) bool { return k.sk == generationSK || strings.HasPrefix(k.sk, gravePrefix) }

// KeepGrave stores what has become of a grave, unless it has gone with its user.
func (s *Store) KeepGrave(ctx context.Context, g erasure.Grave, due time.Time) error {
	u := expression.Set(field(attrRound), value(whole(g.Round)))
	for name, v := range encodeGrave(g, due) {
		switch name {
		case attrPK, attrSK, attrGeneration, attrRound:
		default:
			u = u.Set(field(name), value(v))
		}
	}
	return s.tend(ctx, "keep grave", g, u)
}

// LeaveGrave stores the grave of vectors, on condition that the user's generation is still theirs.
func (s *Store) LeaveGrave(ctx context.Context, g erasure.Grave, due time.Time) error {
	g.ID = vectorGraveSK(g.Vectors)
	t := s.transaction()
	t.set(encodeGrave(g, due))
	t.check(generationKey(g.User), isGeneration(g.Generation))
	_, err := s.commit(ctx, "leave grave", t, s.patience())
	return err
}

// CloseGrave removes a grave that has been swept. The user's generation stays and is no longer due.
func (s *Store) CloseGrave(ctx context.Context, g erasure.Grave) error {
	if g.Namespace {
		return s.tend(ctx, "close grave", g, expression.Remove(field(attrDueAt)).Remove(field(attrDueShard)))
	}
	err := s.deleteItem(ctx, key{partition(g.User), g.ID}, exists())
	if _, gone := conditionFailed(err); gone {
		return nil
	}
	return failed("close grave", err)
}

// tend updates a grave on condition that it is still of its generation: another erasure makes another.
func (s *Store) tend(ctx context.Context, op string, g erasure.Grave, u expression.UpdateBuilder) error {
	_, err := s.updateItem(ctx, key{partition(g.User), g.ID}, u, field(attrGeneration).Equal(value(whole(g.Generation))))
	if _, gone := conditionFailed(err); gone {
		return nil
	}
	return failed(op, err)
}

// GravesBefore lists the graves that are due, earliest first.
func (s *Store) GravesBefore(ctx context.Context, at time.Time, limit int) ([]erasure.Grave, error) {
	due, err := s.dueKeys(ctx, at, limit, isGrave)
	if err != nil {
		return nil, err
	}
	keys := make([]key, len(due))
	for i, it := range due {
		keys[i] = keyIn(it)
	}
	f, err := s.read(ctx, "read graves", keys...)
	if err != nil {
		return nil, err
	}
	var graves []erasure.Grave
	for _, k := range keys {
		if g, ok := decodeGrave(f[k]); ok && !f[k].flag(attrErasing) {
			graves = append(graves, g)
		}
	}
	return graves, nil
}
