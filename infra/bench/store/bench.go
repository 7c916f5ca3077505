package main

import (
	"context"
	"fmt"
	"time"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/internal/conversation"
)

// The kinds of work: two messages stored, the latest messages read, and the end of a session read by a cursor from its
// beginning.
const (
	turn   = "turn"
	newest = "newest page"
	last   = "last page"
)

// The contenders. The bare ones are the floors of the others.
const (
	bareTurn  = "bare transaction"
	bareKeyed = "bare transaction, key record"
	bareQuery = "bare query"
	warm      = "Throughline, warm"
	warmKeyed = "Throughline, warm, with key"
	cold      = "Throughline, cold"
)

// id identifies a row of the result: a contender at a length.
type id struct {
	kind, contender string
	length          int
}

// row is what a contender took each time.
type row struct {
	calls int
	units capacity.Units
	times []time.Duration
	most  int
}

func (r *row) mean() float64 { return (r.units.Read + r.units.Write) / float64(len(r.times)) }

type bench struct {
	*meter.Meter
	table   string
	texts   *rig.Texts
	users   int
	lengths []int
	rows    map[id]*row
	// wrong counts the messages that paging through whole sessions missed, repeated or misplaced.
	wrong int
}

func newBench(m *meter.Meter, table string) *bench {
	return &bench{Meter: m, table: table, texts: rig.NewTexts(1), rows: map[id]*row{}}
}

// user returns a user id as long as those of identity providers.
func (b *bench) user() conversation.UserID {
	b.users++
	return conversation.UserID(fmt.Sprintf("%08x-0000-4000-8000-%012x", b.users, b.users))
}

func (b *bench) contender(keyed, cold bool) *contender {
	c := &contender{
		Meter: b.Meter, table: b.table, texts: b.texts, keyed: keyed, cold: cold, user: b.user(), bareUser: b.user(),
		now: startTime,
	}
	c.db = c.fresh()
	return c
}

// measure adds what a step takes to its row.
func (b *bench) measure(ctx context.Context, of id, step func(context.Context) error) error {
	used, err := b.Measure(ctx, step)
	if err != nil {
		return fmt.Errorf("%s, %s at %d: %w", of.kind, of.contender, of.length, err)
	}
	if b.rows[of] == nil {
		b.rows[of] = &row{}
	}
	r := b.rows[of]
	r.calls, r.units, r.times = r.calls+used.Calls, r.units.Add(used.Units), append(r.times, used.Wall)
	r.most = max(r.most, used.Calls)
	return nil
}

func (b *bench) run(ctx context.Context, lengths []int, repeats int) (report.Result, error) {
	b.lengths = lengths
	rig.Progress("warming up")
	if err := b.measureLength(ctx, lengths[0], min(repeats, 15)); err != nil {
		return report.Result{}, err
	}
	b.rows = map[id]*row{}
	for _, length := range lengths {
		rig.Progress("sessions of %d messages", length)
		if err := b.measureLength(ctx, length, repeats); err != nil {
			return report.Result{}, err
		}
	}
	return b.result(repeats), nil
}

func (b *bench) measureLength(ctx context.Context, length, repeats int) error {
	plain, keyed, fresh := b.contender(false, false), b.contender(true, false), b.contender(false, true)
	for _, c := range []*contender{plain, keyed, fresh} {
		if err := c.begin(ctx, length); err != nil {
			return err
		}
	}
	if length > 0 {
		if err := b.measurePages(ctx, plain, length, repeats); err != nil {
			return err
		}
	}
	for range repeats {
		for _, of := range []struct {
			c           *contender
			name, floor string
		}{{plain, warm, bareTurn}, {keyed, warmKeyed, bareKeyed}, {fresh, cold, ""}} {
			if length == 0 { // each turn is the first one of a session
				if err := of.c.begin(ctx, 0); err != nil {
					return err
				}
			}
			of.c.now = of.c.now.Add(turnInterval)
			err := b.measure(ctx, id{turn, of.name, length}, of.c.turn)
			if err == nil && of.floor != "" {
				err = b.measure(ctx, id{turn, of.floor, length}, of.c.writeBare)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) measurePages(ctx context.Context, c *contender, length, repeats int) error {
	page, after, wrong, err := c.pageThrough(ctx)
	if err != nil {
		return err
	}
	b.wrong += wrong
	first := conversation.Page{Limit: pageMessages, Descending: true}
	for range repeats {
		for _, of := range []struct {
			kind  string
			page  conversation.Page
			after time.Time
		}{{newest, first, time.Time{}}, {last, page, after}} {
			for name, step := range map[string]func(context.Context) error{
				bareQuery: func(ctx context.Context) error { return c.barePage(ctx, of.after) },
				warm:      func(ctx context.Context) error { return c.page(ctx, c.db, of.page) },
				cold:      func(ctx context.Context) error { return c.page(ctx, c.fresh(), of.page) },
			} {
				if err := b.measure(ctx, id{of.kind, name, length}, step); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
