package erasure

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

const (
	// endWithin is how long after its time an erasing call waits for what it had begun: for deletions that were under
	// way, so that they are counted.
	endWithin = 4 * time.Second
	// saveWithin is by when after its time the call has saved how far it came. A function has 28 s for its answer where
	// an erasing call has 20 (api 3).
	saveWithin = 8 * time.Second
)

// Erase goes on with erasing a user until it is done or the time has come. The generation is raised first: from then
// on nothing of before can be written. While another call is at it, Erase tells how far that has come.
//
// An error beside a Receipt with a Generation is why this call came no further. The erasure has begun all the same, the
// Receipt tells how far it is, and a repeat goes on from there.
func (s *Service) Erase(ctx context.Context, user conversation.UserID, until time.Time) (Receipt, error) {
	working, cancel := context.WithTimeout(ctx, until.Sub(s.Now())+endWithin)
	defer cancel()
	saved, held, err := s.Store.BeginErasure(working, user, until)
	if err != nil || !held {
		return s.receipt(saved), err
	}
	p := saved
	if p.Counts = maps.Clone(saved.Counts); p.Counts == nil {
		p.Counts = map[string]int{}
	}
	eraseErr := s.erase(working, user, &p, until)
	// What was deleted is recorded and the user let go, whatever the deadline did to the deleting.
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), until.Sub(s.Now())+saveWithin)
	defer cancel()
	if err := s.Store.SaveErasure(saving, user, p, s.Now().Add(sweepAgain)); err != nil {
		return s.receipt(saved), errors.Join(err, eraseErr)
	}
	return s.receipt(p), eraseErr
}

// erase deletes the records, then the vectors, which the time cuts off: a repeat drops what is left of a namespace.
func (s *Service) erase(ctx context.Context, user conversation.UserID, p *Progress, until time.Time) error {
	empty, err := s.Store.EraseRecords(ctx, user, p.Generation, until, func(kind string, n int) { p.Counts[kind] += n })
	if err != nil || !empty {
		return err
	}
	inTime, cancel := context.WithTimeout(ctx, until.Sub(s.Now()))
	defer cancel()
	n, err := s.Index.Drop(inTime, user, p.Generation-1)
	if err != nil {
		return err
	}
	p.Vectors += n
	p.Done = true
	return nil
}

func (s *Service) receipt(p Progress) Receipt {
	return Receipt{
		Done: p.Done, Counts: p.Counts, Vectors: p.Vectors, ErasedAt: p.ErasedAt, Generation: p.Generation,
		BackupsUntil: p.ErasedAt.Add(s.Backups),
	}
}

// gone makes it a success that something to be deleted is not there.
func gone(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
