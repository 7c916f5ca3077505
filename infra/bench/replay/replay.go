package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/delay"
)

// perCall is how many messages a call appends: a question and its answer, as in a chat.
const perCall = 2

type replay struct {
	api      *client.Client
	parallel int
	// message is the message of the prompt that is printed at the end.
	message string
	out     io.Writer

	messages, sessions atomic.Int64
}

func (r *replay) run(ctx context.Context, path, only string) error {
	conversations, err := dataset.Read(path)
	if err != nil {
		return err
	}
	if only != "" {
		conversations = slices.DeleteFunc(conversations, func(c dataset.Conversation) bool { return c.ID != only })
		if len(conversations) == 0 {
			return fmt.Errorf("no conversation %q in %s", only, path)
		}
	}
	total := 0
	for _, c := range conversations {
		total += c.Messages()
	}
	started := time.Now()
	stop := r.printProgress(ctx, total)
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(r.parallel)
	importer := dataset.Importer{
		API: r.api, PerCall: perCall, Appended: func(n int) { r.messages.Add(int64(n)) }, Ended: func() { r.sessions.Add(1) },
	}
	for _, c := range conversations {
		work.Go(func() error {
			_, err := importer.Import(workCtx, c)
			return err
		})
	}
	err = work.Wait()
	stop()
	if err != nil {
		return err
	}
	return r.report(ctx, conversations, time.Since(started))
}

// printProgress prints the progress twice a second until the returned function is called.
func (r *replay) printProgress(ctx context.Context, total int) (stop func()) {
	line := func() {
		fmt.Fprintf(r.out, "\r%d/%d messages, %d sessions", r.messages.Load(), total, r.sessions.Load())
	}
	ctx, cancel := context.WithCancel(ctx)
	var lines sync.WaitGroup
	lines.Go(func() {
		for delay.Sleep(ctx, 500*time.Millisecond) == nil {
			line()
		}
	})
	return func() {
		cancel()
		lines.Wait()
		line()
		fmt.Fprintln(r.out)
	}
}
