package indexing

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
)

const (
	// pieceTime is how long the embedding of one piece should take. It is well below the time limit of a request, so that
	// a service that becomes slower still answers in time.
	pieceTime = 8 * time.Second
	// firstPace is what a text is taken to cost until the first piece shows the pace of the service.
	firstPace = 150 * time.Millisecond
	// maxPiece is how many texts a piece has at most. maxPieceBytes keeps it within one request: the service takes 300,000
	// tokens, and no token is shorter than a byte.
	maxPiece      = 500
	maxPieceBytes = 200_000
	// textBytes is about the size of the texts that a long message is embedded as.
	textBytes = 6000
	// piecesAtOnce is how many pieces an instance embeds at the same time. The sweep works on many sessions at once, and
	// a service that embeds one text after the other would not answer that many requests in time.
	piecesAtOnce = 4
)

// errNoTime says that the time of the invocation is over. What is indexed until then is covered by the watermarks, and
// the next delivery goes on after them.
var errNoTime = errors.New("no time is left to index the other messages")

// pace is how long the embedding service takes for a text, as the last piece has shown.
type pace struct{ perText atomic.Int64 }

func (p *pace) now() time.Duration { return time.Duration(cmp.Or(p.perText.Load(), int64(firstPace))) }

// measure takes the pace from a piece. A failure may have come at once, and says something only when it came late.
func (p *pace) measure(texts int, took time.Duration, hasFailed bool) {
	if perText := took / time.Duration(max(texts, 1)); texts > 0 && (!hasFailed || perText > p.now()) {
		p.perText.Store(max(int64(perText), 1))
	}
}

// texts returns how many texts the next piece may have: as many as the service should embed in pieceTime, and in half
// of the time that is left. The first piece of a call has at least one, so that each call gets on.
func (p *pace) texts(ctx context.Context, isFirst bool) int {
	perText, fits, left := p.now(), pieceTime, 2*pieceTime
	if end, ok := ctx.Deadline(); ok {
		left = time.Until(end)
		fits = min(fits, left/2)
	}
	n := min(int(fits/perText), maxPiece)
	if n == 0 && (isFirst || perText < left/2) {
		return 1
	}
	return n
}

// part is a part of a backlog's missing messages: the first n.
type part struct {
	*backlog
	n int
}

// indexBacklogs works on backlogs until each is done or has failed, or the time is over. It embeds a piece at a time,
// the messages of as many sessions as fit, and raises the watermarks after each piece, so that no later failure makes
// anything be embedded again.
func (s *Service) indexBacklogs(ctx context.Context, backlogs []*backlog) {
	defer s.endClaims(ctx, backlogs)
	open := slices.Clone(backlogs)
	for isFirst := true; len(open) > 0; isFirst = false {
		parallel.Each(len(open), atOnce, func(i int) { open[i].err = s.prepare(ctx, open[i]) })
		if open = s.stillOpen(ctx, open); len(open) == 0 || !s.indexPiece(ctx, open, isFirst) {
			return
		}
		open = s.stillOpen(ctx, open)
	}
}

// prepare reads the next messages of a backlog unless it has some, and claims them if that is worth a call.
func (s *Service) prepare(ctx context.Context, b *backlog) error {
	if !b.unread {
		return nil
	}
	if err := s.read(ctx, b); err != nil || b.done || !b.claim.IsZero() || !s.isWorthClaim(b) {
		return err
	}
	return s.claim(ctx, b)
}

// stillOpen returns the backlogs that are neither done nor failed. A claimed one may have got more messages meanwhile,
// whose records other workers have left to this one: then it is open again.
func (s *Service) stillOpen(ctx context.Context, backlogs []*backlog) []*backlog {
	parallel.Each(len(backlogs), atOnce, func(i int) {
		if b := backlogs[i]; b.done && !b.claim.IsZero() {
			s.endClaim(ctx, b)
		}
	})
	return slices.DeleteFunc(backlogs, func(b *backlog) bool { return b.err != nil || b.done })
}

// indexPiece indexes the next piece. It reports false when the time is over.
func (s *Service) indexPiece(ctx context.Context, open []*backlog, isFirst bool) bool {
	select {
	case s.permits <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-s.permits }()
	limit := s.pace.texts(ctx, isFirst)
	if limit == 0 {
		return false
	}
	parts, texts := cut(open, limit)
	batches := make([]Batch, len(parts))
	for i, x := range parts {
		batches[i] = x.batch()
	}
	began := time.Now()
	failures := s.index.IndexBatches(ctx, batches)
	hasFailed := slices.ContainsFunc(failures, func(err error) bool { return err != nil })
	s.pace.measure(texts, time.Since(began), hasFailed)
	parallel.Each(len(parts), atOnce, func(i int) {
		x := parts[i]
		if x.err = failures[i]; x.err == nil {
			x.err = s.mark(ctx, x)
		}
	})
	return true
}

// cut takes messages from the front of the backlogs until they have as many texts as a piece may have, at least one
// message. A backlog without messages only has its watermark raised.
func cut(open []*backlog, limit int) (parts []part, texts int) {
	bytes := 0
	for _, b := range open {
		x := part{backlog: b}
		for _, m := range b.missing {
			n := 1 + len(m.Content)/textBytes
			if texts > 0 && (texts+n > limit || bytes+len(m.Content) > maxPieceBytes) {
				break
			}
			texts, bytes, x.n = texts+n, bytes+len(m.Content), x.n+1
		}
		if x.n > 0 || len(b.missing) == 0 {
			parts = append(parts, x)
		}
		if x.n < len(b.missing) {
			break
		}
	}
	return parts, texts
}

func (x part) batch() Batch {
	b := Batch{User: x.user, Generation: x.session.Generation, Messages: x.missing[:x.n]}
	if x.previous != "" {
		b.Previous = map[string]string{x.session.ID: x.previous}
	}
	return b
}

// mark raises the session's watermark over the messages of a part, which are indexed.
func (s *Service) mark(ctx context.Context, x part) error {
	through := conversation.Watermark{Seq: x.session.LastSeq, At: x.session.LastMessageAt}
	if x.n > 0 {
		through = conversation.Watermark{Seq: x.missing[x.n-1].Seq, At: x.missing[x.n-1].Timestamp}
	}
	err := s.store.MarkIndexed(ctx, x.user, x.session, through)
	if fault.Is(err, fault.Conflict) {
		x.done = true // another worker has indexed as much, and goes on from there
		return nil
	}
	if err != nil {
		return x.end(err)
	}
	x.session.Indexed = through
	x.previous = lastSaid(x.missing[:x.n], x.previous)
	x.missing = x.missing[x.n:]
	if len(x.missing) == 0 {
		x.done = x.last || through.Seq >= x.session.LastSeq
		x.unread = !x.done
	}
	return nil
}
