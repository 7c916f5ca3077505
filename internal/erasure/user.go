package erasure

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Erase goes on with erasing a user until it is done or the time has come. The generation is raised first: from then
// on nothing of before can be written. While another call is at it, Erase tells how far that has come.
func (s *Service) Erase(ctx context.Context, user conversation.UserID, until time.Time) (Receipt, error) {
	p, held, err := s.Store.BeginErasure(ctx, user, until)
	if err != nil {
		return Receipt{}, err
	}
	if !held {
		return s.receipt(p), nil
	}
	if p.Counts == nil {
		p.Counts = map[string]int{}
	}
	eraseErr := s.erase(ctx, user, &p, until)
	// What was deleted is recorded and the user let go, whatever the deadline did to the deleting.
	saveCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if err := s.Store.SaveErasure(saveCtx, user, p, s.Now().Add(sweepAgain)); err != nil {
		return Receipt{}, err
	}
	if eraseErr != nil {
		return Receipt{}, eraseErr
	}
	return s.receipt(p), nil
}

// saveTimeout bounds recording how far an erasure has come.
const saveTimeout = 3 * time.Second

func (s *Service) erase(ctx context.Context, user conversation.UserID, p *Progress, until time.Time) error {
	empty, err := s.Store.EraseRecords(ctx, user, p.Generation, until, func(kind string, n int) { p.Counts[kind] += n })
	if err != nil || !empty {
		return err
	}
	n, err := s.Index.Drop(ctx, user, p.Generation-1)
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
