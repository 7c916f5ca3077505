package migration

import (
	"math"

	"github.com/throughline/throughline/internal/conversation"
)

// Forecast is what a backfill will take.
type Forecast struct {
	Sessions int `json:"sessions"`
	Messages int `json:"messages"`
	// Items are the records that are written.
	Items      int     `json:"items"`
	WriteUnits float64 `json:"writeUnits"`
	ReadUnits  float64 `json:"readUnits"`
	// Seconds is at the rate limit, or else at assumedRate messages a second, in all segments together.
	Seconds float64 `json:"seconds"`
	USD     float64 `json:"usd"`
}

const (
	// USDPerMillionWrites and USDPerMillionReads are the prices of request units of an on-demand table (docs/scale).
	USDPerMillionWrites = 0.625
	USDPerMillionReads  = 0.125
	// assumedRate is what one segment does in a second where no limit is given.
	assumedRate = 500

	writeUnit, readUnit = 1 << 10, 4 << 10
	// messageBytes is what the record of a message has beside its entry: keys, ids, times, the name of each.
	messageBytes = 420
	// sessionIndexes are the writes of the indexes that a session enters.
	sessionIndexes = 2
)

// forecastOf returns what moving a session to a placement writes. Transactions are charged twice, indexes once.
func forecastOf(r Record, to conversation.Placement) Counts {
	c := Counts{Changed: 1, Messages: r.Messages, Writes: r.Messages + 1}
	if r.Messages > 0 {
		each := units(r.Bytes/r.Messages+messageBytes, writeUnit)
		c.WriteUnits = float64(r.Messages * 3 * each)
	}
	updates := 1
	if to == conversation.Shared {
		updates++ // the parked array
		c.Writes++
	}
	c.WriteUnits += float64(updates*2*units(r.Bytes, writeUnit) + sessionIndexes)
	c.ReadUnits = float64(units(r.Bytes, readUnit))
	return c
}

// pageUnits is what a consistent scan of a page costs, as far as its sessions tell.
func pageUnits(p Page) int {
	bytes := 0
	for _, r := range p.Records {
		bytes += r.Bytes
	}
	return units(bytes, readUnit)
}

func units(bytes, block int) int { return max(1, (bytes+block-1)/block) }

// forecast returns the forecast of a dry run, at a rate in all segments together.
func forecast(c Counts, rate float64) *Forecast {
	if rate == 0 {
		rate = assumedRate
	}
	cents := 100 * (c.WriteUnits*USDPerMillionWrites + c.ReadUnits*USDPerMillionReads) / 1e6
	return &Forecast{
		Sessions: c.Changed, Messages: c.Messages, Items: c.Writes, WriteUnits: c.WriteUnits, ReadUnits: c.ReadUnits,
		Seconds: math.Ceil(float64(c.Messages) / rate), USD: math.Ceil(cents) / 100,
	}
}
