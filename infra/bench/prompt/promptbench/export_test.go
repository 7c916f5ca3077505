package promptbench

import "time"

// Call is a remote call that began and ended that long after a prompt's beginning. Function and Operation may be empty.
type Call struct {
	Begin, End          time.Duration
	Function, Operation string
}

func callsAt(in []Call) []call {
	began := time.Now()
	out := make([]call, len(in))
	for i, c := range in {
		out[i] = call{Operation{Function: c.Function, Call: c.Operation}, began.Add(c.Begin), began.Add(c.End)}
	}
	return out
}

// CriticalPath exports criticalPath.
func CriticalPath(calls []Call) (time.Duration, int) { return criticalPath(callsAt(calls)) }

// CallDepths exports callDepths.
func CallDepths(calls []Call) []int { return callDepths(callsAt(calls)) }

// MeasureStarts exports measureStarts.
var MeasureStarts = measureStarts
