package storebench

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
)

// warmups is how often at most everything is done before it counts: the engine runs in a virtual machine that has to
// see its work before it does it at speed.
const warmups = 15

// Run holds the contest on an empty table made from dynamo.CreateTableInput. It reports its progress in single lines.
func Run(ctx context.Context, client meter.API, table string, s Settings, progress func(string)) (Result, error) {
	r := &rig{
		Meter: meter.New(client, dynamo.CreateTableInput(table)), table: table, prose: NewProse(s.Seed),
		random: rand.New(rand.NewPCG(s.Seed, 1)),
	}
	o := Result{Date: time.Now().UTC().Format(time.DateOnly), Machine: report.ThisMachine(), Settings: s}
	progress("growing an embedded array to its end")
	var err error
	if o.ArrayEnd, err = r.grow(ctx); err != nil {
		return o, err
	}
	progress("warming up")
	if _, _, err := r.round(ctx, s.Lengths[0], min(warmups, s.Repeats), o.ArrayEnd); err != nil {
		return o, err
	}
	for _, length := range s.Lengths {
		progress("sessions of " + report.Thousands(float64(length)) + " messages")
		rows, wrong, err := r.round(ctx, length, s.Repeats, o.ArrayEnd)
		if err != nil {
			return o, err
		}
		o.Rows, o.Wrong = append(o.Rows, rows...), o.Wrong+wrong
	}
	o.Bars = o.Judge()
	return o, nil
}

// work is one contender's next step; it may add several samples, or none.
type work func(context.Context) error

// round measures every contender at one length.
func (r *rig) round(ctx context.Context, length, repeats int, end ArrayEnd) (rows []Row, wrong int, err error) {
	f := &field{rig: r, length: length, warm: r.lane(Warm, length, false, false)}
	if err := f.begin(ctx, end); err != nil {
		return nil, 0, err
	}
	if length > 0 {
		w, err := f.warm.walk(ctx, PageMessages)
		if err != nil {
			return nil, 0, err
		}
		wrong = w.wrong
		if err := inTurns(ctx, repeats, f.pages(w)); err != nil {
			return nil, 0, err
		}
	}
	if err := inTurns(ctx, repeats, f.turns()); err != nil {
		return nil, 0, err
	}
	if err := inTurns(ctx, 1, f.rest); err != nil {
		return nil, 0, err
	}
	for _, s := range f.all {
		rows = append(rows, s.row(length))
	}
	return rows, wrong, nil
}

// inTurns gives every contender its step in each repeat. Who goes first changes from repeat to repeat, so that what
// the machine does meanwhile, and what one contender leaves to the next, hits all alike.
func inTurns(ctx context.Context, repeats int, contenders []work) error {
	for repeat := range repeats {
		for i := range contenders {
			if err := contenders[(repeat+i)%len(contenders)](ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// field is who competes at one length.
type field struct {
	*rig
	length int
	warm   *lane
	array  *array // nil where the item would be too large
	all    []*samples
	rest   []work // what is left to do once all repeats are done
}

// begin makes what pages are read from. An array has to hold what its turns add, too.
func (f *field) begin(ctx context.Context, end ArrayEnd) error {
	if f.length+max(turnMessages, f.length/10) <= end.Messages {
		f.array = f.rig.array(f.length)
		if err := f.array.begin(ctx); err != nil {
			return err
		}
	}
	return f.warm.begin(ctx)
}

func (f *field) samples(k Kind, contender string) *samples {
	s := &samples{kind: k, contender: contender, messages: turnMessages}
	f.all = append(f.all, s)
	return s
}

func (f *field) turns() []work {
	steps := append(f.lane(f.warm, BareTurn), f.lane(f.rig.lane(WarmKeyed, f.length, true, false), BareTurnKeyed)...)
	steps = append(steps, f.lane(f.rig.lane(Cold, f.length, false, true), "")...)
	steps = append(steps, f.lane(f.rig.lane(ColdKeyed, f.length, true, true), "")...)
	if f.array != nil {
		s := f.samples(Turn, Array)
		steps = append(steps, func(ctx context.Context) error {
			used, err := f.array.turn(ctx)
			s.add(used)
			return err
		})
	}
	return steps
}

// lane returns the steps of a lane and of the bare transaction that repeats its turns. The latter does what waits:
// when its step comes before the lane's that is a turn of the repeat before.
func (f *field) lane(l *lane, floor string) []work {
	var steps []work
	if floor != "" {
		s := f.samples(Turn, floor)
		step := func(ctx context.Context) error {
			all, err := l.bareTurns(ctx)
			for _, used := range all {
				s.add(used)
			}
			return err
		}
		steps, f.rest = append(steps, step), append(f.rest, step)
	}
	s := f.samples(Turn, l.name)
	return append(steps, func(ctx context.Context) error {
		used, err := l.turn(ctx)
		s.add(used)
		return err
	})
}

// reader reads one page.
type reader func(context.Context) (meter.Usage, int, error)

func (f *field) pages(w walk) []work {
	l := f.warm
	newest := conversation.Page{Limit: PageMessages, Descending: true}
	last := conversation.Page{Limit: PageMessages, After: w.cursor}
	steps := []work{
		f.page(Newest, BareQuery, func(ctx context.Context) (meter.Usage, int, error) {
			return l.barePage(ctx, PageMessages, time.Time{})
		}),
		f.page(Newest, Warm, func(ctx context.Context) (meter.Usage, int, error) { return l.page(ctx, l.store, newest) }),
		f.page(Newest, Cold, func(ctx context.Context) (meter.Usage, int, error) { return l.page(ctx, l.fresh(), newest) }),
		f.page(Last, BareQuery, func(ctx context.Context) (meter.Usage, int, error) {
			return l.barePage(ctx, PageMessages, w.after)
		}),
		f.page(Last, Warm, func(ctx context.Context) (meter.Usage, int, error) { return l.page(ctx, l.store, last) }),
		f.page(Last, Cold, func(ctx context.Context) (meter.Usage, int, error) { return l.page(ctx, l.fresh(), last) }),
	}
	if f.array != nil {
		steps = append(steps, f.page(Newest, Array, f.array.read))
	}
	return steps
}

func (f *field) page(k Kind, contender string, read reader) work {
	s := f.samples(k, contender)
	return func(ctx context.Context) error {
		used, n, err := read(ctx)
		s.messages = n
		s.add(used)
		return err
	}
}
