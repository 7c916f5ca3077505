package main

import (
	"fmt"
	"math"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/scale/forecast"
	"github.com/throughline/throughline/internal/migration"
)

// What a forecast takes besides the measured units.
const (
	// callTime is how long a session's reads and one transaction take on AWS. It is an assumption, because it cannot be
	// measured here: a transaction of 25 records is known to take 20 to 30 ms.
	callTime = 100 * time.Millisecond
	// firstUnits is how many write units a second a run takes of a new on-demand table: half of 4,000 ("DynamoDB warm
	// throughput"). They double in growth. tableUnits is how many DynamoDB grants such a table without an increase
	// ("Service, account, and table quotas").
	firstUnits = 2000
	growth     = 30 * time.Minute
	tableUnits = 40_000
	// memoryGB is the memory of the migrate function.
	memoryGB = 1
	million  = 1e6
)

// unitCosts are the units that a migrated message takes, with its share of its session and of the scan.
type unitCosts struct {
	Segments int     `json:"segments"`
	Write    float64 `json:"write"`
	Read     float64 `json:"read"`
	// AgainWrite and AgainRead are those of a second backfill, VerifyRead those of a verify.
	AgainWrite float64 `json:"againWrite"`
	AgainRead  float64 `json:"againRead"`
	VerifyRead float64 `json:"verifyRead"`
	// BareWrite are the units of the same records in batches.
	BareWrite float64 `json:"bareWrite"`
	// Messages is the mean number of messages of a transaction.
	Messages float64 `json:"messagesPerCall"`
}

// expected is what a number of messages comes to.
type expected struct {
	Messages float64       `json:"messages"`
	Segments int           `json:"segments"`
	Time     time.Duration `json:"time"`
	// Units are the write units a second that it comes to in the end, if it lasts that long.
	Units float64 `json:"units"`
	USD   float64 `json:"usd"`
}

// predict works out the backfill and the verify of a number of messages. Each segment works on several sessions at
// once, each with one transaction after the other, until the table takes no more.
func (u unitCosts) predict(messages float64, segments int, p forecast.Prices) expected {
	rate := float64(segments) * migration.MaxWorkers * u.Messages / callTime.Seconds()
	units := math.Min(rate*u.Write, tableUnits)
	seconds := timeOf(messages*u.Write, units)
	usd := messages * (u.Write*p.USD("dynamodbWrite") + (u.Read+u.VerifyRead)*p.USD("dynamodbRead")) / million
	usd += seconds * float64(segments) * memoryGB * p.USD("lambdaSecond") / million
	return expected{
		Messages: messages, Segments: segments, Time: time.Duration(seconds * float64(time.Second)),
		Units: units, USD: usd,
	}
}

// timeOf returns in how many seconds units are taken at a rate that grows from firstUnits to most.
func timeOf(units, most float64) float64 {
	if most <= firstUnits {
		return units / most
	}
	each := growth.Seconds() / math.Ln2 // in which the rate grows by the factor e
	if whileGrowing := each * (most - firstUnits); units > whileGrowing {
		return each*math.Log(most/firstUnits) + (units-whileGrowing)/most
	}
	return each * math.Log(1+units/(each*firstUnits))
}

// The sizes of the forecast.
var (
	forecastMessages = []float64{1e6, 1e8, 1e9}
	forecastSegments = []int{1, 2, 4, 8, 64}
)

func (u unitCosts) forecasts(p forecast.Prices) report.Titled {
	t := report.NewTitled("What a table takes", "messages", "segments", "time", "at most write units/s", "USD")
	t.Note = fmt.Sprintf("n messages in s segments write at most min(s × %d × %.0f / %.1f s, %d / %.2f) messages a "+
		"second, and cost n × (%.2f × write price + %.2f × read price).", migration.MaxWorkers, u.Messages,
		callTime.Seconds(), tableUnits, u.Write, u.Write, u.Read+u.VerifyRead)
	for _, messages := range forecastMessages {
		for _, segments := range forecastSegments {
			f := u.predict(messages, segments, p)
			t.Add(fmt.Sprintf("10^%.0f", math.Log10(messages)), fmt.Sprint(segments), roundTime(f.Time),
				fmt.Sprintf("%.0f", f.Units), fmt.Sprintf("%.2f", f.USD))
		}
	}
	return t
}

// roundTime writes a time with the unit that fits.
func roundTime(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}
