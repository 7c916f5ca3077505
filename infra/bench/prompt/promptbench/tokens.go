package promptbench

import (
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/token"
)

// Tokenizer is what counting costs; it is why text is counted once, when it is stored.
type Tokenizer struct {
	// Start is the time to build the vocabulary, which a process does once; Count the median time to count the
	// characters.
	Start      time.Duration `json:"startNs"`
	Count      time.Duration `json:"countNs"`
	Characters int           `json:"characters"`
	Tokens     int           `json:"tokens"`
}

// historyCharacters is the history that a prompt may hold (design 2, tiered-history).
const historyCharacters = 120_000

func tokenizer() Tokenizer {
	const repeats = 15
	var text strings.Builder
	for n := 0; text.Len() < historyCharacters; n++ {
		text.WriteString(prose(n) + "\n")
	}
	out := Tokenizer{Characters: historyCharacters}
	began := time.Now()
	counter := token.New()
	counter.Warm()
	out.Start = time.Since(began)
	var counted []time.Duration
	for range repeats {
		began := time.Now()
		out.Tokens = counter.Count(text.String()[:historyCharacters])
		counted = append(counted, time.Since(began))
	}
	out.Count = report.Median(counted)
	return out
}
