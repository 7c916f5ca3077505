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

// Effort is what one prompt of a recipe takes of the process itself: CPU time, as medians over batches of prompts, and
// memory. What stays the process's own includes the garbage collector.
type Effort struct {
	Recipe string `json:"recipe"`
	// Records is from decoded records to the rendered prompt. Decoding is from the bytes of DynamoDB's answers, with
	// the requests' signing; the embedding's and the index's part of a search is in neither.
	Records  time.Duration `json:"fromRecordsNs"`
	Decoding time.Duration `json:"withDecodingNs"`
	// Allocations and Bytes are those from records, the last two those with decoding.
	Allocations         uint64 `json:"fromRecordsAllocations"`
	Bytes               uint64 `json:"fromRecordsBytes"`
	DecodingAllocations uint64 `json:"withDecodingAllocations"`
	DecodingBytes       uint64 `json:"withDecodingBytes"`
	Tokens              int    `json:"tokens"`
	Characters          int    `json:"characters"`
}

// effort measures with answers that were recorded from the services.
func (s *services) effort(ctx context.Context, sc *scene, recipe string, repeats int) (Effort, error) {
	live := s.store(s.client, sc)
	search := s.search(live, s.vectors, sc)
	decoded := s.prompter(&records{Store: live}, &found{Searcher: search}, sc)
	out := Effort{Recipe: recipe}
	built, err := sc.build(ctx, decoded, recipe)
	if err != nil {
		return out, err
	}
	out.Tokens, out.Characters = built.Tokens.Total, characters(built)
	fromRecords, err := s.spend(ctx, decoded, sc, recipe, repeats)
	if err != nil {
		return out, err
	}
	taped := s.store(s.dial(&tape{next: http.DefaultTransport}), sc)
	withDecoding, err := s.spend(ctx, s.prompter(taped, s.taped(taped, sc), sc), sc, recipe, repeats)
	if err != nil {
		return out, err
	}
	out.Records, out.Allocations, out.Bytes = fromRecords.cpu, fromRecords.allocations, fromRecords.bytes
	out.Decoding, out.DecodingAllocations, out.DecodingBytes = withDecoding.cpu, withDecoding.allocations, withDecoding.bytes
	return out, nil
}

// taped is the production's chain with the embedding's and the index's answers at hand.
func (s *services) taped(store *dynamo.Store, sc *scene) *recall.Service {
	return recall.New(store, &embedded{Embedder: s.embedder}, &matches{Index: s.vectors}, searchOptions(sc))
}

// characters of everything that the model gets.
func characters(p prompt.Prompt) int {
	n := utf8.RuneCountInString(p.System) + utf8.RuneCountInString(p.Text)
	for _, m := range p.Messages {
		n += utf8.RuneCountInString(m.Content)
	}
	return n
}

// spent is what one prompt took of the process.
type spent struct {
	cpu                time.Duration
	allocations, bytes uint64
}

// perBatch is how many prompts share one reading of the process's clock.
const perBatch = 10

func (s *services) spend(ctx context.Context, p *prompt.Service, sc *scene, recipe string, repeats int) (spent, error) {
	if err := s.warm(ctx, p, sc, recipe); err != nil {
		return spent{}, err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	batches := max(1, repeats/perBatch)
	var used []time.Duration
	for range batches {
		began, err := cpuTime()
		if err != nil {
			return spent{}, err
		}
		for range perBatch {
			if _, err := sc.build(ctx, p, recipe); err != nil {
				return spent{}, err
			}
		}
		ended, err := cpuTime()
		if err != nil {
			return spent{}, err
		}
		used = append(used, (ended-began)/perBatch)
	}
	runtime.ReadMemStats(&after)
	prompts := uint64(batches * perBatch)
	return spent{report.Median(used), (after.Mallocs - before.Mallocs) / prompts, (after.TotalAlloc - before.TotalAlloc) / prompts}, nil
}

// cpuTime is what the process has used so far, all its threads together.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read the process's CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
