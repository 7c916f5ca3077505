// Package sweep works on everything that is due in the table. It is the safety net of all that is derived: a stream
// record may be lost, a model may be down, and a caller may go away, and the record that has work left is still in the
// due index.
//
// The index has a number of shards for each Queue. An invocation that the schedule starts looks at all shards. Little
// work it does itself. For more work it starts one invocation, a worker, for each shard that has work. A worker that
// has work left before its deadline starts the next one. A lease for each shard keeps the workers at one a shard.
//
// A record is claimed before it is worked on: one conditional write moves its time in the index on, if that time is
// still the one that was read. So two workers that read the same record do not both work on it. A claim lapses, so the
// record of a worker that died is due again.
//
// A worker deals the records of its shards out in turn among their users. A user with thousands of records that are due
// does not delay another user's.
//
// After a failure the wait for the next attempt grows, whatever failed, so that no record can come first for ever.
package sweep

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Shard is one part of the due index.
type Shard int

// Queue is one kind of work. Its records have shards of their own, so that no kind delays another.
type Queue struct {
	Name  string
	First Shard
	Count int
}

// The queues: sessions to summarise and index, deletions and erasures to finish, memories and check-ins to index,
// spines to write, messages that were skipped, to be read with another prompt, and events that wait for the bus.
var (
	Sessions  = Queue{Name: "sessions", First: 0, Count: 16}
	Deletions = Queue{Name: "deletions", First: 16, Count: 4}
	Records   = Queue{Name: "records", First: 20, Count: 4}
	Spines    = Queue{Name: "spines", First: 24, Count: 4}
	Skipped   = Queue{Name: "skipped", First: 28, Count: 1}
	Events    = Queue{Name: "events", First: 29, Count: 4}
)

// Queues lists all queues.
func Queues() []Queue { return []Queue{Sessions, Deletions, Records, Spines, Skipped, Events} }

// Shards lists the shards of a queue.
func (q Queue) Shards() []Shard {
	shards := make([]Shard, q.Count)
	for i := range shards {
		shards[i] = q.First + Shard(i)
	}
	return shards
}

// ShardOf returns the shard of the queue in which the record of a name is.
func (q Queue) ShardOf(name string) Shard {
	h := fnv.New32a()
	_, _ = io.WriteString(h, name)
	return q.First + Shard(h.Sum32()%uint32(q.Count))
}

// Has reports whether a shard is one of the queue.
func (q Queue) Has(s Shard) bool { return s >= q.First && s < q.First+Shard(q.Count) }

// AllShards lists the shards of all queues.
func AllShards() []Shard {
	var all []Shard
	for _, q := range Queues() {
		all = append(all, q.Shards()...)
	}
	return all
}

// Due names a record that is due.
type Due struct {
	// Partition and ID are the store's name of the record. User is whose record it is, empty where it is nobody's.
	Partition, ID string
	User          conversation.UserID
	Shard         Shard
	DueAt         time.Time
}

// Claim is the right to work on a record until a time. Nobody else works on it before, unless the record changes.
type Claim struct {
	Due
	Until time.Time
	// Failures is how often the record was claimed since work on it last succeeded, this time included. Since is when it
	// was due at the first of these claims.
	Failures int
	Since    time.Time
}

// Store keeps the due index. Its writes change nothing where their condition fails.
type Store interface {
	DueRecords
	Claims
	Leases
	Stages
}

// DueRecords are the records that are due.
type DueRecords interface {
	// Due reads at most limit records of a shard that are due at a time, earliest first, after one of them. The index may
	// lag, so the answer may have records that are not due any more.
	Due(ctx context.Context, shard Shard, at time.Time, after *Due, limit int) ([]Due, error)
	// Postpone ends a claim and makes its record due at a time. It sets the number of failures to zero where succeeded.
	Postpone(ctx context.Context, c Claim, at time.Time, succeeded bool) error
	// Remove takes a claimed record out of the index.
	Remove(ctx context.Context, c Claim) error
}

// Claims keep two workers from one record.
type Claims interface {
	// Claim makes a record due at until, on condition that it is still due when it was. ok is false otherwise.
	Claim(ctx context.Context, d Due, until time.Time) (c Claim, ok bool, err error)
	// Extend changes the time until which a record is claimed.
	Extend(ctx context.Context, c Claim, until time.Time) (Claim, error)
}

// Leases keep two workers from one shard.
type Leases interface {
	// Lease gives a shard to an owner until a time. held is false while another owner has it.
	Lease(ctx context.Context, shard Shard, owner string, until time.Time) (held bool, err error)
	// Release gives a shard back that the owner has.
	Release(ctx context.Context, shard Shard, owner string) error
}

// Visitor does the work of one queue.
type Visitor interface {
	// Visit works on a claimed record, and says what becomes of it in the index. After an error, or a panic, the record
	// waits for its next attempt, each time longer.
	Visit(ctx context.Context, c Claim) (Outcome, error)
}

// Outcome is what becomes of a record in the index after a visit.
type Outcome struct {
	kind outcomeKind
	at   time.Time
}

type outcomeKind int

const (
	kept outcomeKind = iota
	removed
	postponed
)

var (
	// Kept leaves the record as the visitor has left it.
	Kept = Outcome{kind: kept}
	// Removed takes the record out of the index. There is nothing to do for it any more.
	Removed = Outcome{kind: removed}
)

// Again makes the record due at a time. It is no failure.
func Again(at time.Time) Outcome { return Outcome{kind: postponed, at: at} }

// Work is a queue with its visitor. FirstWait is the wait after a first failure.
type Work struct {
	Queue     Queue
	Visitor   Visitor
	FirstWait time.Duration
	// AtOnce, if set, is how many visits may be under way when one of this queue begins. With 0 its records are left to
	// the next sweep.
	AtOnce func() int
}

// Task is what one invocation has to do. Without shards it looks at all of them.
type Task struct {
	Shards []Shard `json:"shards,omitempty"`
	// Round counts the invocations that handed over to each other.
	Round int `json:"round,omitempty"`
}

// Deps are what a Service works with. All are needed.
type Deps struct {
	Store Store
	Works []Work
	// Invoke starts an invocation with a task and does not wait for it.
	Invoke func(ctx context.Context, t Task) error
	Now    func() time.Time
	// Random returns a number from 0 to below 1, for waits.
	Random func() float64
	// NewOwner returns a name that no other invocation has.
	NewOwner func() string
	// Report is called with failures that a later sweep repairs.
	Report func(ctx context.Context, op string, err error)
}

// Service sweeps. It is safe for concurrent use.
type Service struct {
	Deps
	tally tally
}

// New returns a service.
func New(d Deps) *Service { return &Service{Deps: d, tally: tally{stages: map[string]*StageVisits{}}} }

// Swept says what one invocation did.
type Swept struct {
	// Visited is the number of records that were claimed, Failed of those whose visit failed.
	Visited, Failed int
	// Started is the number of workers that were started.
	Started int
	// Behind is for how long the earliest record had been due. It is known to an invocation that looks at all shards.
	Behind time.Duration
	// Oldest is for how long the oldest record that was claimed had been due, its earlier attempts included: a record
	// that fails is due in the future again, and is not behind.
	Oldest time.Duration
	// Left says that work was left when the time was over.
	Left bool
}

const (
	// maxWait bounds the wait after a failure.
	maxWait = 24 * time.Hour
	// jitter is the part of a wait that is drawn at random, so that records which failed together do not come back
	// together.
	jitter = 0.25
)

// IsOfRecord reports whether a failure may be the record's own. That a service is down, at its limits, or refuses the
// key is not: then all records fail, and a record that waited longer each time would wait for hours when that is over.
func IsOfRecord(failure error) bool {
	return !fault.Is(failure, fault.Unavailable) && !fault.Is(failure, fault.RateLimited) &&
		!errors.Is(failure, fault.ErrSetup)
}

// Wait is how long a record waits after it has failed a number of times in a row: first, and twice as long each time,
// at most a day. random is from 0 to 1.
func Wait(first time.Duration, failures int, random float64) time.Duration {
	wait := first
	for range failures - 1 {
		if wait *= 2; wait >= maxWait {
			break
		}
	}
	return time.Duration(float64(min(wait, maxWait)) * (1 - jitter*random))
}
