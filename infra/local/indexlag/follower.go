package indexlag

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/dynamo"
)

const (
	// streamBatchSize is how many stream records the follower takes at once.
	streamBatchSize = 1000
	// dueInterval is how often the follower looks for changes whose lag is over.
	dueInterval = 10 * time.Millisecond
)

// change is a change of one item, and when its record arrived. That is a few milliseconds after the write. The times in
// stream records can't be used, because they are whole seconds.
type change struct {
	arrived time.Time
	key     string
	request types.WriteRequest
}

// follower keeps the copy a fixed time behind the table.
type follower struct {
	lag    *Lag
	cancel context.CancelFunc
	group  *errgroup.Group
	filled chan struct{} // closed when the whole table was copied

	mu      sync.Mutex
	waiting []change // in the order in which they arrived
}

// listen starts a follower, and returns when it gets the record of every later write.
func (l *Lag) listen(ctx context.Context) (*follower, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ended by stop
	group, life := errgroup.WithContext(life)
	f := &follower{lag: l, cancel: cancel, group: group, filled: make(chan struct{})}
	poller, err := streams.New(streams.Options{
		Client: l.opts.Streams, StreamARN: l.opts.StreamARN, Function: "index-lag", Invoker: f, Logger: l.opts.Logger,
		Mapping: template.Stream{
			Name: "index-lag", BatchSize: streamBatchSize, MaxRetries: template.Unlimited, MaxAge: template.Unlimited,
		},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	group.Go(func() error { return poller.Run(life) })
	group.Go(func() error { return f.run(life) })
	if err := poller.Wait(ctx, time.Now()); err != nil {
		return nil, fmt.Errorf("follow table: %w (%w)", err, f.stop())
	}
	return f, nil
}

func (f *follower) stop() error {
	f.cancel()
	return f.group.Wait()
}

// Invoke takes a batch of records from the poller, in the place of a function.
func (f *follower) Invoke(_ context.Context, _ string, payload []byte) ([]byte, error) {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	arrived := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range event.Records {
		c, err := changeOf(r, arrived)
		if err != nil {
			return nil, err
		}
		f.waiting = append(f.waiting, c)
	}
	return nil, nil
}

// run writes each change to the copy when its lag is over.
func (f *follower) run(ctx context.Context) error {
	select {
	case <-f.filled:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil {
		batch := f.due(time.Now())
		if len(batch) == 0 {
			_ = delay.Sleep(ctx, dueInterval) // the loop ends with the context
			continue
		}
		if err := f.lag.writeBatch(ctx, batch); err != nil && ctx.Err() == nil {
			f.lag.opts.Logger.ErrorContext(ctx, "follow table", "error", err)
		}
	}
	return nil
}

// due takes the oldest changes whose lag is over, at most one batch. A batch can't have two changes of one item.
func (f *follower) due(now time.Time) []types.WriteRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	var batch []types.WriteRequest
	lag, keys := f.lag.Duration(), map[string]bool{}
	for len(batch) < batchSize && len(f.waiting) > 0 {
		next := f.waiting[0]
		if now.Sub(next.arrived) < lag || keys[next.key] {
			break
		}
		keys[next.key] = true
		batch, f.waiting = append(batch, next.request), f.waiting[1:]
	}
	return batch
}

func changeOf(r events.DynamoDBEventRecord, arrived time.Time) (change, error) {
	key, err := json.Marshal(r.Change.Keys)
	if err != nil {
		return change{}, fmt.Errorf("encode keys: %w", err)
	}
	c := change{arrived: arrived, key: string(key)}
	image := r.Change.NewImage
	if image == nil {
		image = r.Change.Keys
	}
	item, err := dynamo.DecodeImage(image)
	if err != nil {
		return change{}, err
	}
	if r.Change.NewImage == nil {
		c.request.DeleteRequest = &types.DeleteRequest{Key: item}
	} else {
		c.request.PutRequest = &types.PutRequest{Item: item}
	}
	return c, nil
}
