package promptbench

import "time"

// Call is a remote call that began and ended that long after a prompt's beginning.
type Call struct{ Begin, End time.Duration }

// Critical is the slowest chain of calls.
func Critical(calls []Call) (time.Duration, int) {
	began := time.Now()
	spans := make([]span, len(calls))
	for i, c := range calls {
		spans[i] = span{begin: began.Add(c.Begin), end: began.Add(c.End)}
	}
	return critical(spans)
}

// A NamedCall is one of a function, for a thing that it asks for.
type NamedCall struct {
	Call
	Function, Asked string
}

// Depths says how deep each call is, in the order of their beginnings.
func Depths(calls []NamedCall) []int {
	began := time.Now()
	spans := make([]span, len(calls))
	for i, c := range calls {
		spans[i] = span{remote{by: c.Function, what: c.Asked}, began.Add(c.Begin), began.Add(c.End)}
	}
	return depths(spans)
}

// Starts builds every function and starts it that often.
var Starts = starts
