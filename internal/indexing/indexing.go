// Package indexing writes the vectors of messages, summaries, memories, check-ins and documents. Service indexes what
// arrives on the table's stream. A stream record is only a hint: the session's watermark says through which message
// the session is indexed. Indexer embeds records and writes them to the user's indexes.
package indexing

import (
	"context"
	"errors"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/vector"
)

// Store is what indexing reads and writes.
type Store interface {
	conversation.SequelReader
	SessionReader
	MessageReader
	Progress
	Records
}

// SessionReader reads sessions.
type SessionReader interface {
	// SessionsAt reads sessions, consistently, 100 in one call. A session that is gone or of another generation is left
	// out.
	SessionsAt(ctx context.Context, refs []SessionRef) (map[SessionRef]conversation.Session, error)
}

// MessageReader reads a session's messages.
type MessageReader interface {
	// MessagesBefore reads the last n messages of a session before one of them, oldest first.
	MessagesBefore(
		ctx context.Context, user conversation.UserID, session conversation.Session, before conversation.Message, n int,
	) ([]conversation.Message, error)
}

// Progress keeps how far sessions are indexed, and who indexes them.
type Progress interface {
	// MarkIndexed raises the watermark of a session, of which everything after session.Indexed is indexed through that
	// place. It is a Conflict when the watermark is as high already, and NotFound when the session is gone, or another
	// one of the same id.
	MarkIndexed(
		ctx context.Context, user conversation.UserID, session conversation.Session, through conversation.Watermark,
	) error
	// ClaimIndexing claims the messages of a session until a time, unless another worker has a claim that lasts. It
	// returns the session as it is now. EndIndexing ends a claim that was made until that time. Both are NotFound when the
	// session is gone, or another one of the same id.
	ClaimIndexing(
		ctx context.Context, user conversation.UserID, session conversation.Session, now, until time.Time,
	) (current conversation.Session, ok bool, err error)
	EndIndexing(
		ctx context.Context, user conversation.UserID, session conversation.Session, until time.Time,
	) (current conversation.Session, err error)
}

// Records reads memories, check-ins and documents, and takes them out of the due index.
type Records interface {
	// MarkRecordIndexed takes a memory, check-in or document whose vector is written out of the due index, unless it has
	// changed since that version. One that expires is due again then.
	MarkRecordIndexed(ctx context.Context, user conversation.UserID, r RecordRef) error
	// RecordDue returns the memory, check-in or document of a due record. It is NotFound when the record is none of them,
	// is gone, or is of an earlier generation. A document may have expired.
	RecordDue(ctx context.Context, d sweep.Due) (RecordRef, error)
	recall.Resolver
}

// RecordIndexer is what a Service asks of an Indexer: one embedding call for all batches where possible, and one error
// for each batch. Its writes can be repeated.
type RecordIndexer interface {
	IndexBatches(ctx context.Context, batches []Batch) []error
	IndexHits(ctx context.Context, user conversation.UserID, generation int64, hits []recall.Hit) error
	// Delete deletes vectors from the index. Deleting one that is not there is no error.
	Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error
}

var _ RecordIndexer = (*Indexer)(nil)

// SessionRef names a session of a user by its context and id, with the generation of its messages.
type SessionRef struct {
	User       conversation.UserID
	Context    string
	SessionID  string
	Generation int64
}

// RecordRef names a version of a memory, check-in or document. Past says that it is not among the live records. Vectors
// is how many vectors a document may have, and ExpiresAt when it is gone, zero for never.
type RecordRef struct {
	ID         string
	Generation int64
	Version    int64
	Past       bool
	Vectors    int
	ExpiresAt  time.Time
}

// Service indexes records as they arrive. It is safe for concurrent use, and remembers nothing of them between batches,
// because the next record of a session may reach another instance. Records that are delivered twice, late or out of
// order lead to the same index and the same watermarks. A message is embedded twice only if its write failed, or if two
// batches with all records of a short turn are worked on at the same time (docs/adr/0018).
type Service struct {
	store   Store
	index   RecordIndexer
	now     func() time.Time
	pace    pace
	permits chan struct{} // has a value for each piece that is embedded now
}

// New returns a service on its store, its index and its clock.
func New(store Store, index RecordIndexer, now func() time.Time) *Service {
	return &Service{store: store, index: index, now: now, permits: make(chan struct{}, piecesAtOnce)}
}

// Consume indexes the messages of a batch and raises the watermarks of their sessions, and updates the vectors of
// memories, check-ins and documents. It returns the number of changes, from the first, that need not be delivered
// again.
func (s *Service) Consume(ctx context.Context, changes []conversation.Change) (done int, err error) {
	done, err = s.consumeRecords(ctx, changes)
	if messages, merr := s.consumeMessages(ctx, changes); merr != nil {
		done, err = min(done, messages), merr
	}
	return done, err
}

// record is a memory, a check-in or a document that changed.
type record struct {
	user       conversation.UserID
	generation int64
	id         string
}

// changedRecord is a record with the places of its changes in a batch, and how many vectors it may have had in them.
type changedRecord struct {
	record
	places  []int
	vectors int
}

// patience is how long messages are delivered again after a failure that may pass. It is shorter than all deliveries
// of a record take, which wait twice as long each time, so that an outage leaves no dead letters.
const patience = 6 * time.Second

// isLeft reports whether a failure is left to the sweep: the index's plan refuses this user's vectors, or a service is
// down or refuses the key, and nobody waits for another delivery. That would fail too, and would hold up the records of
// others meanwhile.
func isLeft(err error, waits bool) bool {
	isDown := fault.Is(err, fault.Unavailable) || fault.Is(err, fault.RateLimited) || errors.Is(err, fault.ErrSetup)
	return errors.Is(err, vector.ErrQuota) || isDown && !waits
}

// consumeRecords updates the vectors of the memories, check-ins and documents of a batch, each once and several at a
// time, and takes the records out of the due index. It returns the place of the first that failed, unless that is left
// to the sweep.
func (s *Service) consumeRecords(ctx context.Context, changes []conversation.Change) (done int, err error) {
	records := recordsOf(changes)
	failures := make([]error, len(records))
	parallel.Each(len(records), atOnce, func(i int) { failures[i] = s.consumeRecord(ctx, records[i], changes) })
	for i, failure := range failures {
		places := records[i].places
		isDeleted := changes[places[len(places)-1]].Version == 0 // then it is due no more, and the sweep never sees it
		if failure != nil && !isLeft(failure, isDeleted) {
			return places[0], failure
		}
	}
	return len(changes), nil
}

// recordsOf collects the memories, check-ins and documents of a batch, in the order in which they first appear.
func recordsOf(changes []conversation.Change) []changedRecord {
	var records []changedRecord
	seen := map[record]int{}
	for i, c := range changes {
		if c.RecordID == "" {
			continue
		}
		r := record{c.User, c.Generation, c.RecordID}
		place, ok := seen[r]
		if !ok {
			place = len(records)
			seen[r] = place
			records = append(records, changedRecord{record: r})
		}
		records[place].places = append(records[place].places, i)
		records[place].vectors = max(records[place].vectors, c.Vectors)
	}
	return records
}

func (s *Service) consumeRecord(ctx context.Context, r changedRecord, changes []conversation.Change) error {
	expires, err := s.refresh(ctx, r.record, r.vectors)
	if err != nil {
		return err
	}
	for _, i := range r.places {
		c := changes[i]
		if c.Version == 0 {
			continue // it was deleted
		}
		ref := RecordRef{ID: c.RecordID, Generation: c.Generation, Version: c.Version, Past: c.Past, ExpiresAt: expires}
		if err := s.store.MarkRecordIndexed(ctx, c.User, ref); err != nil {
			return err
		}
	}
	return nil
}

var _ sweep.Visitor = (*Service)(nil)

// Visit writes or deletes the vector of a memory, check-in or document whose change on the stream was lost, and deletes
// those of a document that has expired.
func (s *Service) Visit(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
	ref, err := s.store.RecordDue(ctx, c.Due)
	if fault.Is(err, fault.NotFound) {
		return sweep.Removed, nil
	}
	if err != nil {
		return sweep.Kept, err
	}
	if ref.ExpiresAt, err = s.refresh(ctx, record{c.User, ref.Generation, ref.ID}, ref.Vectors); err != nil {
		return sweep.Removed, err
	}
	if ref.ExpiresAt.IsZero() {
		return sweep.Removed, nil
	}
	return sweep.Removed, s.store.MarkRecordIndexed(ctx, c.User, ref) // which ends the claim: it stays due
}

// refresh reads a record from the table and makes the index agree with it, so that the order in which changes arrive
// does not matter. A check-in without a note has no vector. vectors is how many a document may have had. It returns
// when a document expires.
func (s *Service) refresh(ctx context.Context, r record, vectors int) (expires time.Time, err error) {
	hits, err := s.store.Resolve(ctx, r.user, r.generation, []string{r.id})
	if err != nil {
		return time.Time{}, err
	}
	if len(hits) == 1 && hits[0].Document != nil {
		return hits[0].Document.ExpiresAt, s.refreshDocument(ctx, r, hits[0], vectors)
	}
	if len(hits) == 1 && (hits[0].Memory != nil || hits[0].CheckIn != nil && hits[0].CheckIn.Note != "") {
		return time.Time{}, s.index.IndexHits(ctx, r.user, r.generation, hits)
	}
	return time.Time{}, s.index.Delete(ctx, r.user, r.generation, vector.PartIDs(r.id, 0, max(vectors, 1)))
}

// refreshDocument writes the vectors of a document's parts, and deletes those that only longer values before had.
func (s *Service) refreshDocument(ctx context.Context, r record, hit recall.Hit, vectors int) error {
	parts := len(hit.Document.Parts())
	if parts > 0 {
		if err := s.index.IndexHits(ctx, r.user, r.generation, []recall.Hit{hit}); err != nil {
			return err
		}
	}
	stale := vector.PartIDs(r.id, parts, max(vectors, hit.Document.Vectors))
	if len(stale) == 0 {
		return nil
	}
	return s.index.Delete(ctx, r.user, r.generation, stale)
}
