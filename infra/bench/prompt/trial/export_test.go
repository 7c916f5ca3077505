package trial

import "time"

// Call is a remote call that began and ended that long after a prompt's beginning.
type Call struct{ Begin, End time.Duration }

// Critical is the slowest chain of calls.
func Critical(calls []Call) (time.Duration, int) {
	began := time.Now()
	spans := make([]span, len(calls))
	for i, c := range calls {
		spans[i] = span{began.Add(c.Begin), began.Add(c.End)}
	}
	return critical(spans)
}
