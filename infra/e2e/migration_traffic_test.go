package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/delay"
)

// traffic is what an app does while its table is migrated: writers append to sessions, and readers read them and
// compare each with what it has to hold.
type traffic struct {
	table legacy.Table
	base  *client.Client

	users    sync.Map // the clients, by user
	sessions []liveSession
	// count is how many sessions there are: those of the table, and those that the app adds meanwhile.
	count atomic.Int64
	// timelines is how many messages of each user a reader has seen.
	timelines sync.Map
	pause     time.Duration // after each request
	// large is whether writers append to the sessions with arrays close to the limit of an item.
	large         atomic.Bool
	writes, reads atomic.Int64
	// unanswered is how many requests were made again because the stack was too busy.
	unanswered atomic.Int64

	cancel context.CancelFunc
	group  *errgroup.Group
}

// liveSession is what a session got besides what its array had. One writer appends to it.
type liveSession struct {
	mu sync.Mutex
	// added are the messages that were acknowledged, and after them those of the append that is under way.
	added []legacy.Message
	acked int
}

// maxArrivals is how many sessions the app adds at most.
const maxArrivals = 100

// startTraffic starts writers and readers.
func startTraffic(ctx context.Context, base string, table legacy.Table, writers, readers int) *traffic {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	x := &traffic{
		table: table, base: client.New(base), sessions: make([]liveSession, table.Sessions+maxArrivals), cancel: cancel,
		group: group, pause: *migrationPause,
	}
	x.count.Store(int64(table.Sessions))
	for w := range writers {
		group.Go(func() error { return endsWith(ctx, x.write(ctx, w, writers)) })
	}
	for r := range readers {
		group.Go(func() error { return endsWith(ctx, x.read(ctx, uint64(r))) })
	}
	return x
}

// endsWith returns nil for an error that comes of the end of the context.
func endsWith(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// stop ends the traffic and returns the first fault that it met.
func (x *traffic) stop() error {
	x.cancel()
	return x.group.Wait()
}

// as returns a client of a user.
func (x *traffic) as(ctx context.Context, user string) (*client.Client, error) {
	if c, ok := x.users.Load(user); ok {
		return c.(*client.Client), nil
	}
	c, err := x.base.As(ctx, user)
	if err == nil {
		x.users.Store(user, c)
	}
	return c, err
}

// write appends to the sessions of one writer, again and again.
func (x *traffic) write(ctx context.Context, writer, writers int) error {
	random := rand.New(rand.NewPCG(x.table.Seed, 1000+uint64(writer)))
	for turn := 0; delay.Sleep(ctx, x.pause) == nil; turn++ {
		n := random.IntN(int(x.count.Load())/writers)*writers + writer
		if n < x.table.Large && !x.large.Load() {
			continue
		}
		if err := x.append(ctx, n, turn); err != nil {
			return err
		}
		x.writes.Add(1)
	}
	return nil
}

// append appends a turn to a session, and repeats the request until it is acknowledged.
func (x *traffic) append(ctx context.Context, n, turn int) error {
	s := x.table.Session(n)
	api, err := x.as(ctx, s.User)
	if err != nil {
		return err
	}
	added := []legacy.Message{
		{Role: "user", Content: fmt.Sprintf("turn %d: question", turn)},
		{Role: "assistant", Content: fmt.Sprintf("turn %d: answer", turn)},
	}
	live := &x.sessions[n]
	live.mu.Lock()
	live.added = append(live.added[:live.acked:live.acked], added...)
	live.mu.Unlock()
	body := map[string]any{"messages": []any{
		map[string]any{"role": added[0].Role, "content": added[0].Content},
		map[string]any{"role": added[1].Role, "content": added[1].Content},
	}}
	path, key := "/v1/sessions/"+s.ID+"/messages", client.Key(s.ID+"-"+strconv.Itoa(turn))
	if err := x.request(ctx, api, http.MethodPost, path, body, nil, key); err != nil {
		return fmt.Errorf("append to %s of %s (%s): %w", s.ID, s.User, s.Shape, err)
	}
	live.mu.Lock()
	live.acked = len(live.added)
	live.mu.Unlock()
	return nil
}

// request makes a request until it is answered.
func (x *traffic) request(ctx context.Context, api *client.Client, method, path string, in, out any,
	headers ...client.Header,
) error {
	for {
		err := api.Do(ctx, method, path, in, out, headers...)
		var refused *client.Problem
		if err == nil || ctx.Err() != nil || errors.As(err, &refused) &&
			refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests {
			return err
		}
		x.unanswered.Add(1)
	}
}

// read reads random sessions and timelines, and compares them.
func (x *traffic) read(ctx context.Context, reader uint64) error {
	random := rand.New(rand.NewPCG(x.table.Seed, 2000+reader))
	for delay.Sleep(ctx, x.pause) == nil {
		check := x.check
		if random.IntN(4) == 0 {
			check = x.checkTimeline
		}
		if err := check(ctx, random.IntN(int(x.count.Load()))); err != nil {
			return err
		}
		x.reads.Add(1)
	}
	return nil
}

// check reads a session and compares it with what was in the array and what was appended: it has to hold, in order,
// all that was acknowledged before the read, and nothing that was not sent.
func (x *traffic) check(ctx context.Context, n int) error {
	s, live := x.table.Session(n), &x.sessions[n]
	live.mu.Lock()
	least := len(s.Messages) + live.acked
	live.mu.Unlock()
	api, err := x.as(ctx, s.User)
	if err != nil {
		return err
	}
	got, _, err := x.allPages(ctx, api, "/v1/sessions/"+s.ID+"/messages?limit=200")
	if err != nil {
		return fmt.Errorf("read %s of %s (%s): %w", s.ID, s.User, s.Shape, err)
	}
	live.mu.Lock()
	want := slices.Concat(s.Messages, live.added)
	live.mu.Unlock()
	if len(got) < least || len(got) > len(want) {
		return fmt.Errorf("%s of %s (%s) has %d messages, not %d to %d", s.ID, s.User, s.Shape, len(got), least, len(want))
	}
	for i, m := range got {
		if m.Seq != i+1 || m.Role != want[i].Role || m.Content != want[i].Content {
			return fmt.Errorf("%s of %s (%s): message %d is %d, %s %.60q, not %s %.60q", s.ID, s.User, s.Shape, i+1,
				m.Seq, m.Role, m.Content, want[i].Role, want[i].Content)
		}
		if i > 0 && m.Timestamp <= got[i-1].Timestamp {
			return fmt.Errorf("%s of %s (%s): message %d has the time %s, and the one before it %s", s.ID, s.User, s.Shape,
				i+1, m.Timestamp, got[i-1].Timestamp)
		}
	}
	return nil
}

// checkTimeline reads the timeline of a session's user. It has at least what a reader has seen in it before. Unless it
// says that it is not complete, it has all messages of the table's own sessions.
func (x *traffic) checkTimeline(ctx context.Context, n int) error {
	user := x.table.Session(n).User
	least := map[string]int{}
	for n := n % x.table.Users; n < x.table.Sessions; n += x.table.Users {
		x.sessions[n].mu.Lock()
		s := x.table.Session(n)
		least[s.ID] = len(s.Messages) + x.sessions[n].acked
		x.sessions[n].mu.Unlock()
	}
	seen, _ := x.timelines.Load(user)
	api, err := x.as(ctx, user)
	if err != nil {
		return err
	}
	got, degraded, err := x.allPages(ctx, api, "/v1/messages?order=asc&limit=200")
	if err != nil {
		return fmt.Errorf("timeline of %s: %w", user, err)
	}
	ids := map[string]bool{}
	for _, m := range got {
		ids[m.MessageID] = true
		least[m.SessionID]--
	}
	if before, _ := seen.(int); len(ids) < before || len(ids) != len(got) {
		return fmt.Errorf("the timeline of %s has %d messages, %d of them different; it had %d", user, len(got), len(ids),
			before)
	}
	x.timelines.CompareAndSwap(user, seen, len(ids))
	if seen == nil {
		x.timelines.LoadOrStore(user, len(ids))
	}
	for id, lacking := range least {
		if lacking > 0 && !degraded {
			return fmt.Errorf("the timeline of %s lacks %d messages of %s and does not say so", user, lacking, id)
		}
	}
	return nil
}

// checkAll compares every session, when nothing is under way.
func (x *traffic) checkAll(ctx context.Context, readers int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for n := range int(x.count.Load()) {
		group.Go(func() error { return x.check(ctx, n) })
	}
	for n := range x.table.Users {
		group.Go(func() error { return x.checkTimeline(ctx, n) })
	}
	return group.Wait()
}

// added returns how many messages were acknowledged.
func (x *traffic) added() (n int) {
	for i := range x.sessions {
		n += x.sessions[i].acked
	}
	return n
}

type timedMessage struct {
	message
	SessionID, Timestamp string
}

// allPages reads a list of messages page by page, and reports whether a page is degraded.
func (x *traffic) allPages(ctx context.Context, api *client.Client, path string,
) (all []timedMessage, degraded bool, err error) {
	cursor := ""
	for {
		at := path
		if cursor != "" {
			at += "&cursor=" + url.QueryEscape(cursor)
		}
		var page struct {
			Items      []timedMessage
			NextCursor string
			Degraded   []any
		}
		if err := x.request(ctx, api, http.MethodGet, at, nil, &page); err != nil {
			return nil, degraded, err
		}
		all, degraded = append(all, page.Items...), degraded || len(page.Degraded) > 0
		if cursor = page.NextCursor; cursor == "" {
			return all, degraded, nil
		}
	}
}
