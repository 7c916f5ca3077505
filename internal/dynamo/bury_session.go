package dynamo

import (
	"context"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// BurySession deletes a session's record and leaves a grave that says where its messages lie. An append in between
// wins or finds no session: the deletion is conditioned on what the append changes.
func (s *Store) BurySession(ctx context.Context, user conversation.UserID, id string, due time.Time) (erasure.Grave, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	for p := s.patience(); ; {
		session, err := s.Session(ctx, user, id)
		if fault.Is(err, fault.NotFound) {
			return s.OpenGrave(ctx, user, id)
		}
		if err != nil {
			return erasure.Grave{}, err
		}
		g, refused, err := s.burySession(ctx, user, session, due, p)
		if err != nil || refused == nil {
			s.known.forget(user, id)
			return g, err
		}
		if err := p.wait(ctx); err != nil {
			return erasure.Grave{}, failed("delete session", err)
		}
	}
}

func (s *Store) burySession(ctx context.Context, user conversation.UserID, session conversation.Session, due time.Time, p *patience) (erasure.Grave, *refusal, error) {
	sk, _ := sessionSK(session.Context, session.ID)
	g := erasure.Grave{User: user, ID: sessionGraveSK(sk, session), Generation: session.Generation, Session: &session, BuriedAt: s.now()}
	t := s.transaction()
	t.delete(key{partition(user), sk}, standsAs(session))
	t.set(encodeGrave(g, due))
	t.remove(key{partition(user), freshSK(session.CreatedAt, sk)})
	refused, err := s.commit(ctx, "delete session", t, p)
	return g, refused, err
}

// OpenGrave returns the grave of a session of that id whose deletion is not finished.
func (s *Store) OpenGrave(ctx context.Context, user conversation.UserID, id string) (erasure.Grave, error) {
	if !conversation.ValidID(id) {
		return erasure.Grave{}, fault.Missing("session")
	}
	for _, k := range sessionKeys(user, id) {
		for it, err := range s.query(ctx, "read grave", query{where: beginning(user, sessionGravePrefix(k.sk))}) {
			if err != nil {
				return erasure.Grave{}, err
			}
			if g, ok := decodeGrave(it); ok && g.Session != nil && !g.Emptied {
				return g, nil
			}
		}
	}
	return erasure.Grave{}, fault.Missing("session")
}

// BuriedMessages reads what is left of a buried session's messages, between its first and its last, from the table.
func (s *Store) BuriedMessages(ctx context.Context, g erasure.Grave, page conversation.Page) ([]conversation.Message, conversation.Position, error) {
	if g.Session.MessageCount == 0 {
		return nil, "", nil
	}
	sk, _ := sessionSK(g.Session.Context, g.Session.ID)
	source := sourceID(g.User, sk)
	low, high := messageRange(g.Session.StartedAt, g.Session.LastMessageAt.Add(time.Millisecond))
	after, err := startBehind(g.User, page.After, low, high, func(sk string) bool { return strings.HasPrefix(sk, messagePrefix) })
	if err != nil {
		return nil, "", err
	}
	p := pager[conversation.Message]{limit: page.Limit}
	return p.collect(s.query(ctx, "read messages", query{where: within(g.User, low, high), page: page.Limit + 1, after: after}), func(it item) (conversation.Message, bool) {
		if it.text(attrSourceID) != source || !belongs(it, *g.Session) {
			return conversation.Message{}, false
		}
		return decodeMessage(it)
	})
}

// DeleteMessages deletes messages' records. Their keys are never used again, so that no condition is needed.
func (s *Store) DeleteMessages(ctx context.Context, user conversation.UserID, messages []conversation.Message) error {
	keys := make([]key, 0, len(messages))
	for _, m := range messages {
		sk, ok := parseMessageID(user, m.ID)
		if !ok {
			return failed("delete messages", errBadKey)
		}
		keys = append(keys, key{partition(user), sk})
	}
	return failed("delete messages", s.deleteAll(ctx, keys))
}

// DeleteSummaries deletes the summaries that are a session's; the record of a programme or workout that another
// session wrote later is that one's.
func (s *Store) DeleteSummaries(ctx context.Context, user conversation.UserID, session conversation.Session) ([]string, error) {
	found, err := s.summariesOf(ctx, user, session)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, it := range found {
		ids = append(ids, strings.TrimPrefix(it.text(attrSK), summaryPrefix))
		err := s.deleteItem(ctx, keyIn(it), field(attrSessionID).Equal(value(text(session.ID))))
		if _, rewritten := conditionFailed(err); err != nil && !rewritten {
			return nil, failed("delete summary", err)
		}
	}
	return ids, nil
}

func (s *Store) summariesOf(ctx context.Context, user conversation.UserID, session conversation.Session) ([]item, error) {
	surface, err := conversation.SurfaceOf(session.Context)
	if err != nil {
		return nil, err
	}
	var own []item
	q := query{
		where: beginning(user, summaryPrefix+string(surface.Writes)+"#"), only: []string{attrPK, attrSK, attrSessionID},
	}
	for it, err := range s.query(ctx, "list summaries", q) {
		if err != nil {
			return nil, err
		}
		if it.text(attrSessionID) == session.ID {
			own = append(own, it)
		}
	}
	return own, nil
}

// SessionsOf returns the session ids of those messages that are there.
func (s *Store) SessionsOf(ctx context.Context, user conversation.UserID, messageIDs []string) (map[string]string, error) {
	ids := map[key]string{}
	var keys []key
	for _, id := range messageIDs {
		if sk, ok := parseMessageID(user, id); ok && ids[key{partition(user), sk}] == "" {
			ids[key{partition(user), sk}] = id
			keys = append(keys, key{partition(user), sk})
		}
	}
	f, err := s.read(ctx, "read messages", keys...)
	if err != nil {
		return nil, err
	}
	sessions := make(map[string]string, len(f))
	for k, it := range f {
		if m, ok := decodeMessage(it); ok {
			sessions[ids[k]] = m.SessionID
		}
	}
	return sessions, nil
}
