package indexing

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/parallel"
)

const (
	// claimWorth is the time of embedding from which on a session is claimed.
	claimWorth = 800 * time.Millisecond
	// claimTime is how long a claim lasts where the call has no deadline, claimReserve how much longer than the call one
	// with a deadline lasts. endTime is the time for ending one.
	claimTime    = 3 * time.Minute
	claimReserve = time.Second
	endTime      = 2 * time.Second
)

// isWorthClaim reports whether another worker could embed the missing messages too: one of them has a record that is
// not in this batch, or the embedding takes long, so that records of later messages come meanwhile. An ordinary turn of
// a chat is neither, and is indexed without the two calls of a claim.
func (s *Service) isWorthClaim(b *backlog) bool {
	isOthers := func(m conversation.Message) bool { return !m.AwaitsAnswer && !slices.Contains(b.own, m.Seq) }
	_, texts := cut([]*backlog{b}, maxPiece)
	return slices.ContainsFunc(b.missing, isOthers) || time.Duration(texts)*s.pace.now() > claimWorth
}

// claim claims a session. If another worker has claimed it, this one has nothing to do: the other one looks for further
// messages when it ends its claim.
func (s *Service) claim(ctx context.Context, b *backlog) error {
	now := s.now()
	until := now.Add(claimTime)
	if end, ok := ctx.Deadline(); ok {
		until = now.Add(time.Until(end) + claimReserve)
	}
	until = conversation.Milliseconds(until)
	current, ok, err := s.store.ClaimIndexing(ctx, b.user, b.session, now, until)
	if err != nil {
		return b.end(err)
	}
	if !ok {
		b.done = true
		return nil
	}
	b.claim = until
	if current.Indexed == b.session.Indexed && current.LastSeq == b.session.LastSeq {
		return nil
	}
	b.session = current
	return s.read(ctx, b)
}

// endClaims ends the claims of backlogs that are not done.
func (s *Service) endClaims(ctx context.Context, backlogs []*backlog) {
	parallel.Each(len(backlogs), atOnce, func(i int) {
		if b := backlogs[i]; !b.claim.IsZero() {
			s.endClaim(ctx, b)
		}
	})
}

// endClaim ends a claim, even when the time of the call is over. A session that has got messages meanwhile has to be
// read again. A claim that cannot be ended lapses.
func (s *Service) endClaim(ctx context.Context, b *backlog) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	current, err := s.store.EndIndexing(ctx, b.user, b.session, b.claim)
	b.claim = time.Time{}
	if err == nil && b.err == nil && current.LastSeq > b.session.LastSeq {
		b.session, b.missing, b.last, b.unread, b.done = current, nil, false, true, false
	}
}
