// Package storebench measures the message store. It compares the store with a message array inside one item, which is
// the design that users replace, and with the calls that every store has to make: the bare transaction of the same
// items and the bare query. The contenders take turns at the same work, in one run on one engine.
package storebench

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// warmups is how often at most everything is done before it is measured: the engine's virtual machine has to warm up.
const warmups = 15

// Run measures on an empty table made from table.CreateTableInput. It reports its progress in single lines.
func Run(ctx context.Context, client *dynamodb.Client, name string, s Settings, progress func(string)) (Result, error) {
	if s.Repeats < 1 || len(s.Lengths) == 0 {
		return Result{}, errors.New("at least one length and one repeat are needed")
	}
	setup := &setup{
		Meter: meter.New(client, table.CreateTableInput(name)), table: name, texts: NewTexts(s.Seed),
		random: rand.New(rand.NewPCG(s.Seed, 1)),
	}
	r := Result{Settings: s}
	progress("filling an embedded array to its end")
	var err error
	if r.ArrayEnd, err = setup.fillArray(ctx); err != nil {
		return r, err
	}
	progress("warming up")
	if _, _, err := setup.measureLength(ctx, s.Lengths[0], min(warmups, s.Repeats), r.ArrayEnd); err != nil {
		return r, err
	}
	for _, length := range s.Lengths {
		progress("sessions of " + report.Thousands(float64(length)) + " messages")
		rows, wrong, err := setup.measureLength(ctx, length, s.Repeats, r.ArrayEnd)
		if err != nil {
			return r, err
		}
		r.Rows, r.Wrong = append(r.Rows, rows...), r.Wrong+wrong
	}
	return r, nil
}

// step is the next step of one contender. It may add several samples, or none.
type step func(context.Context) error

// measureLength measures every contender at one length.
func (s *setup) measureLength(
	ctx context.Context, length, repeats int, end ArrayEnd,
) (rows []Row, wrong int, err error) {
	r := &round{setup: s, length: length, warm: s.newStore(Warm, length, false, false)}
	if err := r.begin(ctx, end); err != nil {
		return nil, 0, err
	}
	if length > 0 {
		p, err := r.warm.pageThrough(ctx, PageMessages)
		if err != nil {
			return nil, 0, err
		}
		wrong = p.wrong
		if err := inTurns(ctx, repeats, r.pages(p)); err != nil {
			return nil, 0, err
		}
	}
	if err := inTurns(ctx, repeats, r.turns()); err != nil {
		return nil, 0, err
	}
	if err := inTurns(ctx, 1, r.last); err != nil {
		return nil, 0, err
	}
	for _, s := range r.all {
		rows = append(rows, s.row(length))
	}
	return rows, wrong, nil
}

// inTurns runs every contender's step in each repeat. The order changes from repeat to repeat, so that whatever else
// the machine does meanwhile, and what one contender leaves to the next, affects all alike.
func inTurns(ctx context.Context, repeats int, contenders []step) error {
	for repeat := range repeats {
		for i := range contenders {
			if err := contenders[(repeat+i)%len(contenders)](ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// round is the contenders at one length and what they measured.
type round struct {
	*setup
	length int
	warm   *storeContender
	array  *arrayContender // nil where the item would be too large
	all    []*samples
	last   []step // the steps after all repeats
}

// begin writes what pages are read from. An array has to have room for what its turns add.
func (r *round) begin(ctx context.Context, end ArrayEnd) error {
	if r.length+max(turnMessages, r.length/10) <= end.Messages {
		r.array = r.newArray(r.length)
		if err := r.array.begin(ctx); err != nil {
			return err
		}
	}
	return r.warm.begin(ctx)
}

func (r *round) samples(k Kind, contender string) *samples {
	s := &samples{kind: k, contender: contender, messages: turnMessages}
	r.all = append(r.all, s)
	return s
}

func (r *round) turns() []step {
	steps := r.storeSteps(r.warm, BareTurn)
	steps = append(steps, r.storeSteps(r.newStore(WarmKeyed, r.length, true, false), BareTurnKeyed)...)
	steps = append(steps, r.storeSteps(r.newStore(Cold, r.length, false, true), "")...)
	steps = append(steps, r.storeSteps(r.newStore(ColdKeyed, r.length, true, true), "")...)
	if r.array != nil {
		s := r.samples(Turn, Array)
		steps = append(steps, func(ctx context.Context) error {
			used, err := r.array.turn(ctx)
			s.add(used)
			return err
		})
	}
	return steps
}

// storeSteps returns the steps of a contender and of the bare transaction that repeats its turns. Where the bare
// transaction's step comes first, it repeats the turn of the repeat before.
func (r *round) storeSteps(c *storeContender, floor string) []step {
	var steps []step
	if floor != "" {
		s := r.samples(Turn, floor)
		bare := func(ctx context.Context) error {
			all, err := c.bareTurns(ctx)
			for _, used := range all {
				s.add(used)
			}
			return err
		}
		steps, r.last = append(steps, bare), append(r.last, bare)
	}
	s := r.samples(Turn, c.name)
	return append(steps, func(ctx context.Context) error {
		used, err := c.turn(ctx)
		s.add(used)
		return err
	})
}

// pageRead reads one page and returns the number of its messages.
type pageRead func(context.Context) (meter.Usage, int, error)

func (r *round) pages(p paging) []step {
	c := r.warm
	newest := conversation.Page{Limit: PageMessages, Descending: true}
	last := conversation.Page{Limit: PageMessages, After: p.cursor}
	steps := []step{
		r.page(Newest, BareQuery, func(ctx context.Context) (meter.Usage, int, error) {
			return c.barePage(ctx, PageMessages, time.Time{})
		}),
		r.page(Newest, Warm, func(ctx context.Context) (meter.Usage, int, error) { return c.page(ctx, c.db, newest) }),
		r.page(Newest, Cold, func(ctx context.Context) (meter.Usage, int, error) { return c.page(ctx, c.fresh(), newest) }),
		r.page(Last, BareQuery, func(ctx context.Context) (meter.Usage, int, error) {
			return c.barePage(ctx, PageMessages, p.after)
		}),
		r.page(Last, Warm, func(ctx context.Context) (meter.Usage, int, error) { return c.page(ctx, c.db, last) }),
		r.page(Last, Cold, func(ctx context.Context) (meter.Usage, int, error) { return c.page(ctx, c.fresh(), last) }),
	}
	if r.array != nil {
		steps = append(steps, r.page(Newest, Array, r.array.read))
	}
	return steps
}

func (r *round) page(k Kind, contender string, read pageRead) step {
	s := r.samples(k, contender)
	return func(ctx context.Context) error {
		used, n, err := read(ctx)
		s.messages = n
		s.add(used)
		return err
	}
}
