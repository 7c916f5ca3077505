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
	"github.com/throughline/throughline/internal/dynamo"
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

// step is the next step of one contender. It returns what it measured, several times or none, and of how many messages.
type step func(context.Context) (used []meter.Usage, messages int, err error)

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
func inTurns(ctx context.Context, repeats int, contenders []*samples) error {
	for repeat := range repeats {
		for i := range contenders {
			if err := contenders[(repeat+i)%len(contenders)].measure(ctx); err != nil {
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
	last   []*samples // those of steps that follow all repeats, too
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

// add adds a contender, which begins with a step.
func (r *round) add(k Kind, contender string, next step) *samples {
	s := &samples{kind: k, contender: contender, next: next}
	r.all = append(r.all, s)
	return s
}

func (r *round) turns() []*samples {
	begin := len(r.all)
	r.addStore(r.warm, BareTurn)
	r.addStore(r.newStore(WarmKeyed, r.length, true, false), BareTurnKeyed)
	r.addStore(r.newStore(Cold, r.length, false, true), "")
	r.addStore(r.newStore(ColdKeyed, r.length, true, true), "")
	if r.array != nil {
		r.add(Turn, Array, r.array.turn)
	}
	return r.all[begin:]
}

// addStore adds a contender and the bare transaction that repeats its turns. Where the bare transaction's step comes
// first, it repeats the turn of the repeat before.
func (r *round) addStore(c *storeContender, floor string) {
	if floor != "" {
		r.last = append(r.last, r.add(Turn, floor, c.bareTurns))
	}
	r.add(Turn, c.name, c.turn)
}

func (r *round) pages(p paging) []*samples {
	begin, c := len(r.all), r.warm
	newest := conversation.Page{Limit: PageMessages, Descending: true}
	last := conversation.Page{Limit: PageMessages, After: p.cursor}
	r.add(Newest, BareQuery, c.barePage(PageMessages, time.Time{}))
	r.add(Newest, Warm, c.page(newest, func() *dynamo.DB { return c.db }))
	r.add(Newest, Cold, c.page(newest, c.fresh))
	r.add(Last, BareQuery, c.barePage(PageMessages, p.after))
	r.add(Last, Warm, c.page(last, func() *dynamo.DB { return c.db }))
	r.add(Last, Cold, c.page(last, c.fresh))
	if r.array != nil {
		r.add(Newest, Array, r.array.read)
	}
	return r.all[begin:]
}
