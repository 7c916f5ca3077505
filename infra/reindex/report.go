package reindex

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
)

// pricesFile has the list prices that docs/scale.md is worked out with.
const pricesFile = "docs/scale/prices.json"

// price is one list price, of a million.
type price struct {
	Name string  `json:"name"`
	What string  `json:"what"`
	USD  float64 `json:"usd"`
}

// readPrices reads the list prices. There are none outside the repository.
func readPrices() []price {
	var file struct {
		Prices []price `json:"prices"`
	}
	text, err := os.ReadFile(pricesFile)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return nil
	}
	return file.Prices
}

type report struct {
	out       io.Writer
	dryRun    bool
	embedding config.Embedding
	prices    []price
	began     time.Time
}

// repeat writes a line of progress again and again, until the function that it returns is called.
func (r report) repeat(ctx context.Context, counts func() Counts) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var lines sync.WaitGroup
	lines.Go(func() {
		for before := counts(); delay.Sleep(ctx, every) == nil; {
			c := counts()
			fmt.Fprintf(r.out, "%6s  %s; %.0f texts/s\n", time.Since(r.began).Round(time.Second), r.line(c),
				float64(c.Vectors-before.Vectors)/every.Seconds())
			before = c
		}
	})
	return func() {
		cancel()
		lines.Wait()
	}
}

func (r report) line(c Counts) string {
	verb := "reindexed"
	if r.dryRun {
		verb = "to reindex"
	}
	return fmt.Sprintf("%d users %s, %d left; %d vectors, %d tokens",
		c.Reindexed, verb, c.Left, c.Vectors, c.Tokens)
}

// end writes the last lines: what was done, and what it costs.
func (r report) end(c Counts) {
	fmt.Fprintf(r.out, "%6s  %s\n", time.Since(r.began).Round(time.Second), r.line(c))
	fmt.Fprintf(r.out, "cost    %s, %s, and reading the table twice\n",
		r.cost(c.Tokens, "tokens of "+r.embedding.Model, func(p price) bool {
			return strings.HasPrefix(p.What, r.embedding.Model+",")
		}),
		r.cost(c.WriteUnits, "Pinecone write units", func(p price) bool { return p.Name == "pineconeWrite" }))
}

// cost says what a number of units costs, if a price is known.
func (r report) cost(units int64, of string, isPrice func(price) bool) string {
	for _, p := range r.prices {
		if isPrice(p) {
			return fmt.Sprintf("about $%.2f for %d %s", float64(units)*p.USD/1e6, units, of)
		}
	}
	return fmt.Sprintf("%d %s, whose price is not in %s", units, of, pricesFile)
}
