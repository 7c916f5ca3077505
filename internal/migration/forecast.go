package migration

import (
	"cmp"
	"math"
)

// Forecast is what a backfill will take.
type Forecast struct {
	Sessions int `json:"sessions"`
	Messages int `json:"messages"`
	// Items are the records that are written.
	Items      int     `json:"items"`
	WriteUnits float64 `json:"writeUnits"`
	ReadUnits  float64 `json:"readUnits"`
	// Seconds is at the segment's rate limit, or else at assumedRate.
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
	// absentReads are the records that a move looks for and mostly does not find: sessions of the same id in other
	// contexts, the user's generation, and copies in the index. DynamoDB charges for them too.
	absentReads = 6
)

// forecastOf returns what moving a session to a placement writes. Transactions are charged twice, indexes once.
func forecastOf(r Record, to Placement) Counts {
	c := Counts{Changed: 1, Messages: r.Messages, Writes: r.Messages + 1}
	if r.Messages > 0 {
		each := units(r.Bytes/r.Messages+messageBytes, writeUnit)
		c.WriteUnits = float64(r.Messages * 3 * each)
	}
	updates := 1
	if to == InStore {
		updates++ // the parked array
		c.Writes++
	}
	c.WriteUnits += float64(updates*2*units(r.Bytes, writeUnit) + sessionIndexes)
	c.ReadUnits = float64(units(r.Bytes, readUnit) + absentReads)
	return c
}

func units(bytes, block int) int { return max(1, (bytes+block-1)/block) }

// forecast returns the forecast of a dry run of one segment with a rate limit, 0 for none.
func forecast(c Counts, rate float64) *Forecast {
	seconds := float64(c.Messages) / cmp.Or(rate, assumedRate)
	cents := 100 * (c.WriteUnits*USDPerMillionWrites + c.ReadUnits*USDPerMillionReads) / 1e6
	return &Forecast{
		Sessions: c.Changed, Messages: c.Messages, Items: c.Writes, WriteUnits: c.WriteUnits, ReadUnits: c.ReadUnits,
		Seconds: math.Ceil(seconds), USD: math.Ceil(cents) / 100,
	}
}
