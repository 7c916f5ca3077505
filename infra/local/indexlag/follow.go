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
	"github.com/throughline/throughline/internal/dynamo"
)

// pageSize is how many records the follower takes at once.
const pageSize = 1000

// change is one item's change and when it was seen. Stream records tell their time in whole seconds, so what counts
// is when they arrive, a few milliseconds after the write.
type change struct {
	seen    time.Time
	key     string
	request types.WriteRequest
}

// follower keeps the copy a lag behind the table.
type follower struct {
	lag    *Lag
	cancel context.CancelFunc
	group  *errgroup.Group
	filled chan struct{} // closed when the copy holds what the table held

	mu      sync.Mutex
	waiting []change // in the order they were seen
	more    chan struct{}
}

// listen starts a follower and returns when no later write can escape it.
func (l *Lag) listen(ctx context.Context) (*follower, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ended by stop
	group, life := errgroup.WithContext(life)
	f := &follower{lag: l, cancel: cancel, group: group, filled: make(chan struct{}), more: make(chan struct{}, 1)}
	poller, err := streams.New(streams.Options{
		Client: l.opts.Streams, StreamARN: l.opts.StreamARN, Function: "index-lag", Invoker: f, Logger: l.opts.Logger,
		Mapping: template.Stream{
			Name: "index-lag", BatchSize: pageSize, MaxRetries: template.Unlimited, MaxAge: template.Unlimited,
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

// write lets the follower begin to change the copy.
func (f *follower) write() { close(f.filled) }

func (f *follower) stop() error {
	f.cancel()
	return f.group.Wait()
}

// Invoke takes a batch of records from the poller, as a function would; the writing is for later.
func (f *follower) Invoke(_ context.Context, _ string, payload []byte) ([]byte, error) {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	seen := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range event.Records {
		c, err := changeOf(r, seen)
		if err != nil {
			return nil, err
		}
		f.waiting = append(f.waiting, c)
	}
	f.wake()
	return nil, nil
}

// wake has run look again at what is due.
func (f *follower) wake() {
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// run writes each change when its lag is over.
func (f *follower) run(ctx context.Context) error {
	select {
	case <-f.filled:
	case <-ctx.Done():
		return nil
	}
	for {
		batch, wait := f.due(time.Now())
		if len(batch) > 0 {
			if err := f.lag.writeBatch(ctx, batch); err != nil && ctx.Err() == nil {
				f.lag.opts.Logger.ErrorContext(ctx, "follow table", "error", err)
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-f.more:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// due takes the oldest changes whose lag is over, as many as one batch may hold; it may hold an item once. Without
// one it says how long to wait.
func (f *follower) due(now time.Time) (batch []types.WriteRequest, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lag, keys := f.lag.Duration(), map[string]bool{}
	for len(batch) < batchSize && len(f.waiting) > 0 {
		next := f.waiting[0]
		if left := next.seen.Add(lag).Sub(now); left > 0 || keys[next.key] {
			return batch, left
		}
		keys[next.key] = true
		batch, f.waiting = append(batch, next.request), f.waiting[1:]
	}
	return batch, time.Hour
}

func changeOf(r events.DynamoDBEventRecord, seen time.Time) (change, error) {
	key, err := json.Marshal(r.Change.Keys)
	if err != nil {
		return change{}, fmt.Errorf("encode keys: %w", err)
	}
	c := change{seen: seen, key: string(key)}
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
