package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/dataset"
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
	stop := r.printProgress(total)
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
func (r *replay) printProgress(total int) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				fmt.Fprintf(r.out, "\r%d/%d messages, %d sessions\n", r.messages.Load(), total, r.sessions.Load())
				return
			case <-tick.C:
				fmt.Fprintf(r.out, "\r%d/%d messages, %d sessions", r.messages.Load(), total, r.sessions.Load())
			}
		}
	}()
	return func() { close(done); <-ended }
}
