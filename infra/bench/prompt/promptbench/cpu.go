package promptbench

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// CPU is what one prompt of a recipe costs the process: CPU time, as medians over batches of prompts, and memory. The
// CPU time includes that of the garbage collector.
type CPU struct {
	Recipe     string `json:"recipe"`
	Tokens     int    `json:"tokens"`
	Characters int    `json:"characters"`
	// FromRecords is the prompt from decoded records to its text. WithDecoding begins with the bytes of DynamoDB's answers
	// and includes the signing of the requests. The embedding and the index query of a search are in neither.
	FromRecords  Usage `json:"fromRecords"`
	WithDecoding Usage `json:"withDecoding"`
	// Counting is the floor of FromRecords: counting the tokens of the prompt's own text. BareDecoding is the floor of
	// WithDecoding: the SDK decoding the same answers.
	Counting     Usage `json:"counting"`
	BareDecoding Usage `json:"bareDecoding"`
}

// recordsRatio is the CPU time from decoded records over that of counting the same text's tokens.
func (c CPU) recordsRatio() float64 { return float64(c.FromRecords.Time) / float64(c.Counting.Time) }

// decodingRatio is the CPU time with decoding over that of the SDK's bare decoding of the same answers.
func (c CPU) decodingRatio() float64 {
	return float64(c.WithDecoding.Time) / float64(c.BareDecoding.Time)
}

// Usage is what one prompt, or one repeat of a floor, takes.
type Usage struct {
	Time        time.Duration `json:"cpuNs"`
	Allocations uint64        `json:"allocations"`
	Bytes       uint64        `json:"bytes"`
}

// measureCPU measures a recipe's prompts, and their floors, on answers that were recorded from the services. The
// process has one processor meanwhile, as the prompt function has. With an idle second one the CPU time of work in
// several goroutines includes that of waking it up, which the floors, with one goroutine each, do not have.
func (s *services) measureCPU(ctx context.Context, h *history, recipe string, repeats int) (CPU, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	out := CPU{Recipe: recipe}
	live := s.db(s.client, h)
	decoded := s.prompter(&cachedStore{Store: dynamo.NewPromptSource(live)},
		&cachedSearch{Searcher: s.search(live, s.vectors, h)}, h)
	built, err := h.build(ctx, decoded, recipe)
	if err != nil {
		return out, err
	}
	texts := promptTexts(built)
	out.Tokens = built.Tokens.Total
	for _, text := range texts {
		out.Characters += utf8.RuneCountInString(text)
	}
	answers := &recorder{next: http.DefaultTransport}
	recorded := s.db(s.dynamoClient(answers), h)
	search := recall.New(dynamo.NewRecallSource(recorded), &cachedEmbedder{Embedder: s.embedder},
		&cachedIndex{Querier: s.vectors}, searchOptions(h))
	encoded := s.prompter(dynamo.NewPromptSource(recorded), search, h)
	for _, p := range []*prompt.Service{decoded, encoded} {
		if err := s.warmUp(ctx, p, h, recipe); err != nil {
			return out, err
		}
	}
	answers.drain()
	if _, err := h.build(ctx, encoded, recipe); err != nil {
		return out, err
	}
	onePrompt, decoder := answers.drain(), s.bareDecoder()
	return out, inTurns(repeats, []measurement{
		{&out.FromRecords, func() error { _, err := h.build(ctx, decoded, recipe); return err }},
		{&out.WithDecoding, func() error { _, err := h.build(ctx, encoded, recipe); answers.drain(); return err }},
		{&out.Counting, func() error { s.count(texts); return nil }},
		{&out.BareDecoding, func() error { return decoder.decode(ctx, onePrompt) }},
	})
}

// promptTexts returns everything that the model gets.
func promptTexts(p prompt.Prompt) []string {
	texts := []string{p.System, p.Text}
	for _, m := range p.Messages {
		texts = append(texts, m.Content)
	}
	return texts
}

func (s *services) count(texts []string) {
	for _, text := range texts {
		s.tokens.Count(text)
	}
}

// measurement is a piece of work and where its usage goes.
type measurement struct {
	usage *Usage
	work  func() error
}

// batchSize is how many repeats share one reading of the process's CPU time, at most.
const batchSize = 10

// inTurns measures batches of each piece of work by turns, so that whatever else the machine does meanwhile affects all
// alike.
func inTurns(repeats int, measurements []measurement) error {
	batches := make([][]Usage, len(measurements))
	size := min(repeats, batchSize)
	for range repeats / size {
		for i, m := range measurements {
			u, err := measureBatch(size, m.work)
			if err != nil {
				return err
			}
			batches[i] = append(batches[i], u)
		}
	}
	for i, m := range measurements {
		*m.usage = typical(batches[i])
	}
	return nil
}

// typical returns the median time, the mean allocations and the mean bytes of one repeat.
func typical(batches []Usage) (out Usage) {
	var times []time.Duration
	for _, b := range batches {
		times = append(times, b.Time)
		out.Allocations += b.Allocations
		out.Bytes += b.Bytes
	}
	n := uint64(len(batches))
	return Usage{report.Median(times), out.Allocations / n, out.Bytes / n}
}

func measureBatch(size int, work func() error) (Usage, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, err := cpuTime()
	if err != nil {
		return Usage{}, err
	}
	for range size {
		if err := work(); err != nil {
			return Usage{}, err
		}
	}
	ended, err := cpuTime()
	if err != nil {
		return Usage{}, err
	}
	runtime.ReadMemStats(&after)
	n := uint64(size)
	return Usage{
		(ended - began) / time.Duration(size),
		(after.Mallocs - before.Mallocs) / n, (after.TotalAlloc - before.TotalAlloc) / n,
	}, nil
}

// cpuTime returns the CPU time that the process has used so far, on all its threads.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read the process's CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
