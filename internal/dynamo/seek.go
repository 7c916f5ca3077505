package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
)

// Seeking stops this close before the message that it looks for; the rest is read and left aside.
const (
	seekClose = 100
	seekSteps = 30
)

// seek returns a place not far before the message behind seq. The index is sorted by time alone, so a distant one is
// approached by asking for single messages, as one finds a page in a book. An index that lags makes it stop early,
// never too far: the place is that of a message it has seen.
func (s *Store) seek(ctx context.Context, user conversation.UserID, session conversation.Session, seq int) (place, error) {
	low := place{0, session.StartedAt.Add(-time.Millisecond)}
	high := place{session.LastSeq, session.LastMessageAt}
	empty := low.at // nothing was seen between low and there
	for range seekSteps {
		span := high.at.Sub(empty)
		if seq-low.seq <= seekClose || span < 2*time.Millisecond {
			break
		}
		share := float64(seq-low.seq) / float64(high.seq-low.seq+1)
		guess := empty.Add(time.Duration(min(max(share, 0.1), 0.9) * float64(span)))
		at, ok, err := s.messageBefore(ctx, user, session, guess)
		if err != nil {
			return place{}, err
		}
		switch {
		case !ok || at.seq <= low.seq:
			empty = conversation.Milliseconds(guess)
		case at.seq <= seq:
			low, empty = at, at.at
		default:
			high = at
		}
	}
	return place{seq, low.at}, nil
}

// messageBefore returns the place of the session's last message not after a time, as the index has it.
func (s *Store) messageBefore(ctx context.Context, user conversation.UserID, session conversation.Session, at time.Time) (place, bool, error) {
	sk, _ := sessionSK(session.Context, session.ID)
	where := expression.Key(attrSourceID).Equal(value(text(sourceID(user, sk)))).
		And(expression.Key(attrTimestamp).LessThanEqual(value(moment(at))))
	for it, err := range s.query(ctx, "find message", query{index: BySource, where: where, descending: true, page: 1}) {
		if err != nil {
			return place{}, false, err
		}
		if belongs(it, session) {
			return place{int(it.whole(attrSeq)), it.time(attrTimestamp)}, true, nil
		}
	}
	return place{}, false, nil
}
