package config

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Triggers are the times and counts that trigger a summary and the extraction of memories.
type Triggers struct {
	// Messages is the number of messages since the last summary that triggers the next one.
	Messages int
	// Memories is the number of messages that are not read for memories from which they are read while the user is still
	// there.
	Memories int
	// Idle is how long a session has to be quiet before the sweep summarises it.
	Idle time.Duration
	// Spine is how long after a summary that it does not have the spine of a coach is written, once for all until then.
	// Where only Idle is given it is as long as that, so that a stack with short times has all of them short.
	Spine time.Duration
	// Timeout is how long the model has before a fallback summary is stored (prompt-assembly-map, "v1.3.2 changes").
	Timeout time.Duration
	// Sweep and Canary are the rates of the schedules of a local stack. Zero keeps the template's.
	Sweep, Canary time.Duration
}

const triggersRule = "positive values of messages, memories, idle, spine, timeout, sweep and canary, each once, " +
	"as in messages=20,idle=15m,sweep=1m"

// UnmarshalText reads "messages=20,idle=15m". Each part is optional and may be given once.
func (t *Triggers) UnmarshalText(text []byte) error {
	*t = Triggers{
		Messages: 20, Memories: 50, Idle: 15 * time.Minute, Spine: 18 * time.Hour, Timeout: 2500 * time.Millisecond,
	}
	counts := map[string]*int{"messages": &t.Messages, "memories": &t.Memories}
	periods := map[string]*time.Duration{
		"idle": &t.Idle, "spine": &t.Spine, "timeout": &t.Timeout, "sweep": &t.Sweep, "canary": &t.Canary,
	}
	for part := range strings.SplitSeq(string(text), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		isPositive := false
		if count := counts[name]; count != nil {
			n, err := strconv.Atoi(value)
			*count, isPositive = n, err == nil && n > 0
			delete(counts, name)
		} else if period := periods[name]; period != nil {
			d, err := time.ParseDuration(value)
			*period, isPositive = d, err == nil && d > 0
			delete(periods, name)
		}
		if !isPositive {
			return errors.New("not triggers")
		}
	}
	if periods["idle"] == nil && periods["spine"] != nil {
		t.Spine = t.Idle
	}
	return nil
}
