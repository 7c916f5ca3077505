package main

import (
	"context"
	"runtime"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/prompt"
)

// cpu is the CPU time that one tiered-history prompt costs the process, as medians over batches of prompts, with that
// of the garbage collector.
type cpu struct {
	tokens, characters int
	// fromRecords is the prompt from decoded records to its text, and counting its floor: counting the tokens of the
	// prompt's own text. withDecoding begins with the bytes of DynamoDB's answers and includes the signing of the
	// requests, and bareDecoding is its floor: the SDK decoding the same answers.
	fromRecords, counting, withDecoding, bareDecoding time.Duration
}

// measureCPU measures prompts of the recipe that has most of the history, and their floors, on answers that were
// recorded from DynamoDB. The recipe searches nothing. The process has one processor meanwhile, as the prompt function
// has. With an idle second one the CPU time of work in several goroutines includes that of waking it up, which the
// floors, with one goroutine each, do not have.
func (s *services) measureCPU(ctx context.Context, h *history, repeats int) (out cpu, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	answers := &recorder{}
	decoded := s.service(&cachedStore{Store: dynamo.NewPromptSource(s.db(s.client, h))}, nil, h)
	encoded := s.service(dynamo.NewPromptSource(s.db(s.dynamoClient(answers), h)), nil, h)
	for _, p := range []*prompt.Service{decoded, encoded} {
		if err := s.warmUp(ctx, p, h, prompt.TieredHistory); err != nil {
			return out, err
		}
	}
	answers.drain()
	built, err := h.build(ctx, encoded, prompt.TieredHistory)
	if err != nil {
		return out, err
	}
	onePrompt, decoder := answers.drain(), s.bareDecoder()
	out.tokens = built.Tokens.Total
	texts := []string{built.System, built.Text}
	for _, m := range built.Messages {
		texts = append(texts, m.Content)
	}
	for _, text := range texts {
		out.characters += utf8.RuneCountInString(text)
	}
	return out, inTurns(repeats, []measurement{
		{&out.fromRecords, func() error { _, err := h.build(ctx, decoded, prompt.TieredHistory); return err }},
		{&out.withDecoding, func() error {
			_, err := h.build(ctx, encoded, prompt.TieredHistory)
			answers.drain()
			return err
		}},
		{&out.counting, func() error {
			for _, text := range texts {
				s.tokens.Count(text)
			}
			return nil
		}},
		{&out.bareDecoding, func() error { return decoder.decode(ctx, onePrompt) }},
	})
}

// measurement is a piece of work and where its time goes.
type measurement struct {
	time *time.Duration
	work func() error
}

// batchSize is how many repeats share one reading of the process's CPU time, at most.
const batchSize = 10

// inTurns measures batches of each piece of work by turns, so that whatever else the machine does meanwhile affects all
// alike.
func inTurns(repeats int, measurements []measurement) error {
	batches := make([][]time.Duration, len(measurements))
	size := min(repeats, batchSize)
	for range repeats / size {
		for i, m := range measurements {
			began := cpuTime()
			for range size {
				if err := m.work(); err != nil {
					return err
				}
			}
			batches[i] = append(batches[i], (cpuTime()-began)/time.Duration(size))
		}
	}
	for i, m := range measurements {
		*m.time = report.Median(batches[i])
	}
	return nil
}

// cpuTime returns the CPU time that the process has used so far, on all its threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for wrong arguments only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
