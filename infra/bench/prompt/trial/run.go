package trial

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/token"
)

// Settings say what is measured.
type Settings struct {
	// Lengths are the numbers of stored messages, ascending; the least is at least 100.
	Lengths []int
	// Repeats is how often each prompt is built for a time.
	Repeats int
	Latency Latencies
}

// Speed is a recipe's time.
type Speed struct {
	Recipe string `json:"recipe"`
	// Critical is the slowest chain of remote calls by their latencies; Median and P99 are the prompt's wall time.
	Critical time.Duration `json:"criticalNs"`
	Median   time.Duration `json:"medianNs"`
	P99      time.Duration `json:"p99Ns"`
	// Own is the median CPU-bound time from decoded records to the rendered prompt; Decoding the process's CPU time
	// for a whole prompt, decoding included.
	Own      time.Duration `json:"ownNs"`
	Decoding time.Duration `json:"withDecodingNs"`
	// Allocations and Bytes are a whole prompt's, decoding included.
	Allocations uint64 `json:"allocations"`
	Bytes       uint64 `json:"bytes"`
	Tokens      int    `json:"tokens"`
	Characters  int    `json:"characters"`
}

// Growth is what a unified prompt takes with that many stored messages.
type Growth struct {
	Messages  int           `json:"messages"`
	Calls     int           `json:"dynamodbCalls"`
	ReadUnits float64       `json:"readUnits"`
	Median    time.Duration `json:"medianNs"`
}

// Outcome is what a trial found.
type Outcome struct {
	Date    string         `json:"date"`
	Machine report.Machine `json:"machine"`
	Latency Latencies      `json:"latencies"`
	Repeats int            `json:"repeats"`
	Speeds  []Speed        `json:"speeds"`
	Growth  []Growth       `json:"growth"`
}

// Run measures on an empty table of the client's that nothing else uses.
func Run(ctx context.Context, client meter.API, table string, s Settings, say func(string)) (Outcome, error) {
	if len(s.Lengths) == 0 || s.Repeats < 1 || s.Lengths[0] < 100 {
		return Outcome{}, errors.New("there have to be a length of at least 100 messages, and a repeat")
	}
	o := Outcome{Date: time.Now().UTC().Format(time.DateOnly), Machine: report.ThisMachine(), Latency: s.Latency, Repeats: s.Repeats}
	counted := meter.New(client, dynamo.CreateTableInput(table))
	tokens := token.New()
	set := func(user string, sizes []int) (*bench, error) {
		staged, err := stage(ctx, dynamo.New(counted, table), tokens, user, sizes, time.Now().UTC().Truncate(time.Minute))
		if err != nil {
			return nil, fmt.Errorf("write history: %w", err)
		}
		return newBench(counted, table, staged, tokens), nil
	}
	say("writing a day of 120,000 characters")
	b, err := set("day", day())
	if err != nil {
		return o, err
	}
	for _, recipe := range prompt.Recipes {
		say("measuring " + recipe.Name)
		speed, err := b.speed(ctx, recipe.Name, s)
		if err != nil {
			return o, err
		}
		o.Speeds = append(o.Speeds, speed)
	}
	return o, o.grow(ctx, counted, s, say, set)
}

// grow measures the same prompt over histories of growing length.
func (o *Outcome) grow(ctx context.Context, counted *meter.Meter, s Settings, say func(string), set func(string, []int) (*bench, error)) error {
	for _, messages := range s.Lengths {
		say(fmt.Sprintf("writing %d messages", messages))
		b, err := set(fmt.Sprintf("grown-%d", messages), grown(messages))
		if err != nil {
			return err
		}
		say("measuring growth")
		g, err := b.growth(ctx, counted, messages, s.Repeats)
		if err != nil {
			return err
		}
		o.Growth = append(o.Growth, g)
	}
	return nil
}

// bench is a prompt service on a scene, with its remote services in hand.
type bench struct {
	*scene
	remote  *remote
	service *prompt.Service
	mu      sync.Mutex
	own     []time.Duration
}

func newBench(api dynamo.API, table string, s *scene, tokens *token.Counter) *bench {
	b := &bench{scene: s, remote: &remote{API: api, answers: map[string]any{}, vectors: s.vectors}}
	clock := func() time.Time { return s.now }
	store := dynamo.New(b.remote, table, dynamo.WithClock(clock))
	search := recall.New(store, embedder{b.remote}, index{remote: b.remote}, recall.Options{Now: clock})
	b.service = prompt.New(prompt.Deps{
		Store: store, Search: search, Counter: tokens, Archive: store, Now: clock, NewID: func() string { return "bench" },
		Observe: func(_ context.Context, o prompt.Observation) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.own = append(b.own, o.Own)
		},
	})
	return b
}

func (b *bench) build(ctx context.Context, recipe string) (prompt.Prompt, error) {
	r := b.request
	r.Recipe = recipe
	p, err := b.service.Build(ctx, b.user, r)
	if err == nil && len(p.Manifest.Degraded) > 0 {
		err = fmt.Errorf("the prompt lacks %v", p.Manifest.Degraded)
	}
	return p, err
}

// growth measures against the engine itself.
func (b *bench) growth(ctx context.Context, m *meter.Meter, messages, repeats int) (Growth, error) {
	g := Growth{Messages: messages}
	var walls []time.Duration
	for range repeats {
		usage, err := m.Measure(ctx, func(ctx context.Context) error {
			_, err := b.build(ctx, prompt.Unified)
			return err
		})
		if err != nil {
			return g, err
		}
		g.Calls, g.ReadUnits = usage.Calls, usage.Units.Read
		walls = append(walls, usage.Wall)
	}
	g.Median = report.Median(walls)
	return g, nil
}

// speed measures on recorded answers: first with the services' latencies, then without any.
func (b *bench) speed(ctx context.Context, recipe string, s Settings) (Speed, error) {
	out := Speed{Recipe: recipe}
	b.remote.replay, b.remote.latency = false, Latencies{}
	p, err := b.build(ctx, recipe)
	if err != nil {
		return out, err
	}
	out.Tokens, out.Characters = p.Tokens.Total, len(p.System)+len(p.Text)
	b.remote.replay, b.remote.latency = true, s.Latency
	b.remote.take()
	var walls []time.Duration
	for range s.Repeats {
		began := time.Now()
		if _, err := b.build(ctx, recipe); err != nil {
			return out, err
		}
		walls = append(walls, time.Since(began))
		out.Critical = max(out.Critical, critical(b.remote.take()))
	}
	out.Median, out.P99 = report.Median(walls), report.Quantile(walls, 0.99)
	return out, b.effort(ctx, &out, s.Repeats)
}

// effort measures the process's own work, with services that answer at once.
func (b *bench) effort(ctx context.Context, out *Speed, repeats int) error {
	b.remote.latency = Latencies{}
	b.own = nil
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used := cpuTime()
	for range repeats {
		if _, err := b.build(ctx, out.Recipe); err != nil {
			return err
		}
	}
	out.Decoding = (cpuTime() - used) / time.Duration(repeats)
	runtime.ReadMemStats(&after)
	out.Allocations = (after.Mallocs - before.Mallocs) / uint64(repeats)
	out.Bytes = (after.TotalAlloc - before.TotalAlloc) / uint64(repeats)
	slices.Sort(b.own)
	out.Own = report.Median(b.own)
	return nil
}

// cpuTime is what the process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var _ dynamo.API = (*remote)(nil)

var (
	_ recall.Embedder = embedder{}
	_ recall.Index    = index{}
	_ meter.API       = (*dynamodb.Client)(nil)
)
