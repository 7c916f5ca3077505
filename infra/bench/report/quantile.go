package report

import (
	"cmp"
	"slices"
	"time"
)

// Median returns the middle of the samples, or the mean of the two in the middle. It is 0 without samples.
func Median(samples []time.Duration) time.Duration { return Quantile(samples, 0.5) }

// Quantile returns the value below which the share q (0 to 1) of the samples lies, interpolated between two samples.
// It is 0 without samples.
func Quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(samples), cmp.Compare[time.Duration])
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + time.Duration((at-float64(low))*float64(sorted[high]-sorted[low]))
}
