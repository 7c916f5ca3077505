package promptbench

import "time"

// firstToken returns the times from the requests of turns to their first tokens, without the time that the chat model
// takes to it. Their floor is the critical path of the remote calls before the model's.
func firstToken(turns []turn, l Latencies) Times {
	var times, criticals []time.Duration
	for _, t := range turns {
		times, criticals = append(times, t.first-l.Model), append(criticals, t.criticalToModel(l.Lambda))
	}
	return timesOf(times, criticals)
}

// criticalToModel is the time of the slowest chain of calls before the model's: the coach function's before it invokes
// the prompt function, the invocation, and the prompt function's.
func (all calls) criticalToModel(invocationTime time.Duration) time.Duration {
	var before, within []call
	for _, invoked := range all {
		if invoked.Function != coachFunction || invoked.Call != invocation {
			continue
		}
		for _, c := range all {
			switch {
			case c.Function == coachFunction && !c.end.After(invoked.begin):
				before = append(before, c)
			case c.Function == promptFunction:
				within = append(within, c)
			}
		}
	}
	first, _ := criticalPath(before)
	second, _ := criticalPath(within)
	return first + invocationTime + second
}
