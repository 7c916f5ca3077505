package memory

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
)

// record is a memory or check-in that changed.
type record struct {
	user       conversation.UserID
	generation int64
	id         string
}

// consumeRecords brings the vectors of the memories and check-ins of a batch up to date, each once, and returns the
// place of the first that has to come again.
func (s *Service) consumeRecords(ctx context.Context, changes []conversation.Change) (done int, err error) {
	seen := map[record]bool{}
	for i, c := range changes {
		r := record{c.User, c.Generation, c.RecordID}
		if c.RecordID == "" || seen[r] {
			continue
		}
		seen[r] = true
		if err := s.refresh(ctx, r); err != nil {
			return i, err
		}
	}
	return len(changes), nil
}

// refresh asks the table what became of a record, and has the index say the same: whatever order changes come in, the
// last of them leaves the record as it is. A check-in without a note has nothing to be found by.
func (s *Service) refresh(ctx context.Context, r record) error {
	hits, err := s.store.Resolve(ctx, r.user, r.generation, []string{r.id})
	if err != nil {
		return err
	}
	switch {
	case len(hits) == 1 && hits[0].Memory != nil:
		return s.index.IndexMemory(ctx, r.user, r.generation, *hits[0].Memory)
	case len(hits) == 1 && hits[0].CheckIn != nil && hits[0].CheckIn.Note != "":
		return s.index.IndexCheckIn(ctx, r.user, r.generation, *hits[0].CheckIn)
	}
	return s.index.Forget(ctx, r.user, r.generation, []string{r.id})
}
