package main

import (
	"context"
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

// cpu is the CPU time that one prompt of a recipe costs the process, as medians over batches of prompts, with that of
// the garbage collector.
type cpu struct {
	recipe             string
	tokens, characters int
	// fromRecords is the prompt from decoded records to its text, and counting its floor: counting the tokens of the
	// prompt's own text. withDecoding begins with the bytes of DynamoDB's answers and includes the signing of the
	// requests, and bareDecoding is its floor: the SDK decoding the same answers. The embedding and the index query of
	// a search are in none.
	fromRecords, counting, withDecoding, bareDecoding time.Duration
}

func (c cpu) recordsRatio() float64  { return float64(c.fromRecords) / float64(c.counting) }
func (c cpu) decodingRatio() float64 { return float64(c.withDecoding) / float64(c.bareDecoding) }

// measureCPU measures a recipe's prompts, and their floors, on answers that were recorded from the services. The
// process has one processor meanwhile, as the prompt function has. With an idle second one the CPU time of work in
// several goroutines includes that of waking it up, which the floors, with one goroutine each, do not have.
func (s *services) measureCPU(ctx context.Context, h *history, recipe string, repeats int) (cpu, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	out := cpu{recipe: recipe}
	live := s.db(s.client, h)
	decoded := s.prompter(&cachedStore{Store: dynamo.NewPromptSource(live)},
		&cachedSearch{Searcher: s.search(live, s.vectors, h)}, h)
	built, err := h.build(ctx, decoded, recipe)
	if err != nil {
		return out, err
	}
	texts := promptTexts(built)
	out.tokens = built.Tokens.Total
	for _, text := range texts {
		out.characters += utf8.RuneCountInString(text)
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
		{&out.fromRecords, func() error { _, err := h.build(ctx, decoded, recipe); return err }},
		{&out.withDecoding, func() error { _, err := h.build(ctx, encoded, recipe); answers.drain(); return err }},
		{&out.counting, func() error {
			for _, text := range texts {
				s.tokens.Count(text)
			}
			return nil
		}},
		{&out.bareDecoding, func() error { return decoder.decode(ctx, onePrompt) }},
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
