package erasure

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

const (
	// deleteReserve is how long an erasing call waits, after its time, for deletions that are under way, so that they are
	// counted.
	deleteReserve = 4 * time.Second
	// saveReserve is when, after its time, the call has saved its progress. The erasing call has 20 s and the function
	// 28 s for its answer.
	saveReserve = 8 * time.Second
	// maxCountTime is how long an erasure counts what it leaves. It may read 60 MB, at the 3,000 read units a second that
	// DynamoDB gives a partition.
	maxCountTime = 5 * time.Second
	// LeaseReserve is how long the lease of an erasing call lasts after the time at which it begins nothing new. In it,
	// the call ends the deletions that are under way and saves its progress.
	LeaseReserve = 10 * time.Second
)

// Erase goes on with erasing a user until it is done or until then. It raises the generation first: from then on
// nothing of an earlier generation can be written. While another call erases the user, it returns that one's
// progress.
//
// An error with a Receipt that has a Generation says why this call came no further. The erasure has begun all the same.
// The Receipt says how far it is, and a repeat goes on from there.
func (s *Service) Erase(ctx context.Context, user conversation.UserID, until time.Time) (Receipt, error) {
	working, cancel := context.WithTimeout(ctx, until.Sub(s.Now())+deleteReserve)
	defer cancel()
	saved, held, err := s.Users.BeginErasure(working, user, until)
	if err != nil || !held {
		return s.receipt(saved), err
	}
	return s.continueErasure(ctx, working, user, saved, until)
}

// Erasure returns the receipt of the user's last erasure, or how far it is while it is not done. It is NotFound when
// the user was never erased.
func (s *Service) Erasure(ctx context.Context, user conversation.UserID) (Receipt, error) {
	p, err := s.Users.Erasure(ctx, user)
	if err != nil {
		return Receipt{}, err
	}
	return s.receipt(p), nil
}

// continueErasure erases until then, and saves how far it came.
func (s *Service) continueErasure(ctx, working context.Context, user conversation.UserID, saved Progress,
	until time.Time,
) (Receipt, error) {
	p := saved
	if p.Counts = maps.Clone(saved.Counts); p.Counts == nil {
		p.Counts = map[string]int{}
	}
	eraseErr := s.erase(working, user, &p, until)
	// The progress is saved and the lease given back even when the deadline has cut the deletions off.
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), until.Sub(s.Now())+saveReserve)
	defer cancel()
	err := s.Users.SaveErasure(saving, user, p, s.Now().Add(FirstSweepAfter))
	if err == nil && p.Counts["message"] > 0 {
		var stored Progress
		stored, err = s.Users.Erasure(saving, user)
		p.Files = stored.Files
	}
	if err != nil {
		return s.receipt(saved), errors.Join(err, eraseErr)
	}
	return s.receipt(p), eraseErr
}

// erase enters the erasure into the ledger, and deletes the records, then the vectors. The deletion of vectors may be
// cut off at until, because a repeat drops the rest of the namespace.
func (s *Service) erase(ctx context.Context, user conversation.UserID, p *Progress, until time.Time) error {
	if err := s.record(ctx, Erased{User: user, Generation: p.Generation}); err != nil {
		return err
	}
	count := func(kind string, n int) { p.Counts[kind] += n }
	emptied, err := s.Users.EraseRecords(ctx, user, p.Generation, until, count)
	if err != nil || !emptied {
		return err
	}
	inTime, cancel := context.WithTimeout(ctx, until.Sub(s.Now()))
	defer cancel()
	n, err := s.Index.Drop(inTime, user, p.Generation-1)
	p.Vectors += n
	if err != nil {
		return err
	}
	p.Done, err = s.countLeft(ctx, user, p, until)
	return err
}

// countLeft counts what the erasure left, and reports whether that is what should be left. An app's own records can be
// too many to be counted: the erasure is done all the same, and the receipt does not say what is left.
func (s *Service) countLeft(ctx context.Context, user conversation.UserID, p *Progress, until time.Time,
) (bool, error) {
	counting, cancel := context.WithTimeout(ctx, min(maxCountTime, until.Sub(s.Now())))
	defer cancel()
	left, remaining, err := s.Users.Left(counting, user, p.Generation)
	switch {
	case err == nil:
		p.Left = left
		return remaining == 0, nil
	case counting.Err() != nil && ctx.Err() == nil:
		return true, nil
	}
	return false, err
}

func (s *Service) receipt(p Progress) Receipt { return Receipt{p, p.ErasedAt.Add(s.Backups)} }
