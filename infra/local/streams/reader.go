package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	// The stream is read every busyInterval until busyFor has passed since the last record, and then every idleInterval,
	// which takes almost no CPU time.
	busyInterval  = 20 * time.Millisecond
	idleInterval  = 100 * time.Millisecond
	busyFor       = 2 * time.Second
	errorInterval = time.Second

	// pageRecords is how many records are read at once. The service returns 1 MB at most, and DynamoDB Local all.
	pageRecords = 64
)

// reader reads the stream's shards, a parent before its children, and submits their records in order.
type reader struct {
	poller     *Poller
	checkpoint checkpoint
	shards     map[string]*shard
	order      []string
	listed     bool // false when there may be shards that are not in order
	started    bool // the shards were listed before, so a new one is read from its beginning
	lastRecord time.Time
}

// shard records how far one shard is read.
type shard struct {
	parent   string
	start    types.ShardIteratorType // where to begin when no record was read yet
	sequence string                  // of the last record read, empty before the first
	iterator *string
	finished bool
}

func (r *reader) run(ctx context.Context) error {
	if err := r.checkpoint.load(); err != nil {
		return err
	}
	for {
		wait, err := r.pass(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.poller.opts.Logger.WarnContext(ctx, "read stream", "function", r.poller.opts.Function, "error", err)
			wait = errorInterval
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case restarted := <-r.poller.restart:
			r.startOver()
			close(restarted)
		case <-time.After(wait):
		}
	}
}

// startOver forgets how far the shards are read. They are read again from their beginning, also when the mapping starts
// at LATEST.
func (r *reader) startOver() {
	r.checkpoint.Sequences = nil
	r.shards, r.order, r.listed = map[string]*shard{}, nil, false
	r.poller.emptyPass.Store(0)
}

// pass reads each open shard once and returns how long to wait before the next pass.
func (r *reader) pass(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if !r.listed {
		if err := r.listShards(ctx); err != nil {
			return 0, err
		}
		r.listed, r.started = true, true
	}
	records, complete, err := r.readShards(ctx)
	if err != nil {
		return 0, err
	}
	if records > 0 {
		r.lastRecord = time.Now()
	} else if complete {
		r.poller.emptyPass.Store(start.UnixNano())
		if err := r.saveWhenIdle(); err != nil {
			return 0, err
		}
	}
	if time.Since(r.lastRecord) < busyFor {
		return busyInterval, nil
	}
	return idleInterval, nil
}

// readShards reads a page of each open shard. The pass is not complete when a shard was closed, because it may have
// children that are not listed yet, or when a shard has to wait for its parent.
func (r *reader) readShards(ctx context.Context) (records int, complete bool, err error) {
	complete = true
	for _, id := range r.order {
		s := r.shards[id]
		if s.finished {
			continue
		}
		if !r.ready(s) {
			complete = false
			continue
		}
		n, err := r.readShard(ctx, id, s)
		if err != nil {
			s.iterator = nil // it may have expired
			return 0, false, err
		}
		records += n
		if s.finished {
			r.listed, complete = false, false
		}
	}
	return records, complete, nil
}

// ready reports whether the parent of a shard is read to its end.
func (r *reader) ready(s *shard) bool {
	parent, known := r.shards[s.parent]
	return !known || parent.finished
}

func (r *reader) listShards(ctx context.Context) error {
	input := &dynamodbstreams.DescribeStreamInput{StreamArn: &r.poller.opts.StreamARN}
	start := types.ShardIteratorTypeTrimHorizon
	if !r.started && !r.poller.opts.Mapping.TrimHorizon {
		start = types.ShardIteratorTypeLatest
	}
	for {
		out, err := r.poller.opts.Client.DescribeStream(ctx, input)
		if err != nil {
			return fmt.Errorf("describe stream: %w", err)
		}
		for _, found := range out.StreamDescription.Shards {
			id := aws.ToString(found.ShardId)
			if _, known := r.shards[id]; !known {
				r.shards[id] = &shard{
					parent: aws.ToString(found.ParentShardId), start: start, sequence: r.checkpoint.Sequences[id],
				}
				r.order = append(r.order, id)
			}
		}
		input.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
		if input.ExclusiveStartShardId == nil {
			return nil
		}
	}
}

// readShard submits one page of a shard and returns how many records it had.
func (r *reader) readShard(ctx context.Context, id string, s *shard) (int, error) {
	if s.iterator == nil {
		if err := r.openShard(ctx, id, s); err != nil {
			return 0, err
		}
	}
	out, err := r.poller.opts.Client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
		ShardIterator: s.iterator, Limit: aws.Int32(pageRecords),
	})
	if err != nil {
		return 0, fmt.Errorf("get records: %w", err)
	}
	if err := r.submit(ctx, s, out.Records); err != nil {
		return 0, err
	}
	s.iterator, s.finished = out.NextShardIterator, out.NextShardIterator == nil
	return len(out.Records), nil
}

func (r *reader) submit(ctx context.Context, s *shard, found []types.Record) error {
	page := make([]record, len(found))
	for i := range found {
		var err error
		if page[i], err = convert(found[i], r.poller.opts.StreamARN); err != nil {
			return err
		}
	}
	if len(page) == 0 {
		return nil
	}
	if err := r.poller.submit(ctx, page); err != nil {
		return err
	}
	s.sequence = page[len(page)-1].sequence
	return nil
}

func (r *reader) openShard(ctx context.Context, id string, s *shard) error {
	input := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &r.poller.opts.StreamARN, ShardId: &id, ShardIteratorType: s.start,
	}
	if s.sequence != "" {
		input.ShardIteratorType, input.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &s.sequence
	}
	out, err := r.poller.opts.Client.GetShardIterator(ctx, input)
	if err != nil {
		return fmt.Errorf("get shard iterator: %w", err)
	}
	s.iterator = out.ShardIterator
	return nil
}

// saveWhenIdle saves the checkpoint when no record is pending.
func (r *reader) saveWhenIdle() error {
	if r.poller.pending.Load() != 0 {
		return nil
	}
	sequences := make(map[string]string, len(r.shards))
	for id, s := range r.shards {
		sequences[id] = s.sequence
	}
	return r.checkpoint.save(sequences)
}
