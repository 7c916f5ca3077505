package openai

import (
	"context"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/metric"
)

// flex is the tier for what nobody waits for. It costs half, answers later, and refuses requests with 429 while it has
// no room ("Flex processing"). What it refuses costs nothing.
const flex = "flex"

const (
	// flexMisses is how many answers in a row may fail before flex is not asked for a while.
	flexMisses = 2
	// flexPause is the first such while. Each further one is twice as long, up to longestFlexPause.
	flexPause        = time.Minute
	longestFlexPause = 16 * time.Minute
	// defaultReserve is the time that a call needs for its attempt in the default tier.
	defaultReserve = 15 * time.Second
)

// IsPatient reports whether patient requests to the client's own model are made in the flex tier.
func (c *Client) IsPatient() bool { return c.inFlex(familyOf(c.chatModel, c.own)) }

func (c *Client) inFlex(f family) bool {
	return c.tier == config.TierFlex || c.tier == config.TierAuto && c.own && f.flex
}

// flexTier is what is known of the flex tier from its answers. A wait for it costs time, so it is not asked while it
// fails. The zero value is ready for use.
type flexTier struct {
	mu     sync.Mutex
	misses int       // in a row
	missed time.Time // when the last of them was counted
	paused time.Time // until when flex is not asked
}

// isOpen reports whether flex may be asked now.
func (t *flexTier) isOpen(ctx context.Context, now time.Time) bool {
	end, ok := ctx.Deadline()
	if ok && end.Sub(now) < llm.Patience+defaultReserve {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !now.Before(t.paused)
}

// observe counts an answer, or a miss. Requests that began before the last miss say nothing new.
func (t *flexTier) observe(began time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case ok:
		t.misses = 0
	case began.After(t.missed):
		t.missed = time.Now()
		if t.misses++; t.misses >= flexMisses {
			t.paused = t.missed.Add(min(flexPause<<min(t.misses-flexMisses, 8), longestFlexPause))
		}
	}
}

// askFlex makes one request in the flex tier. answered is false where the request is to be made in the default tier:
// flex refuses it, is too slow, or is not asked now. These are no failures of the service. An answer of no use is an
// answer.
func (c *Client) askFlex(ctx context.Context, ask func(context.Context) (llm.Completion, error),
) (out llm.Completion, answered bool, err error) {
	began := time.Now()
	if !c.flex.isOpen(ctx, began) {
		return out, false, nil
	}
	within, cancel := context.WithTimeout(ctx, llm.Patience)
	defer cancel()
	given := &advice{}
	out, err = ask(context.WithValue(within, adviceKey{}, given))
	if err == nil {
		c.flex.observe(began, true)
		metric.Add(ctx, "FlexCalls", 1, metric.Count)
		metric.Call(ctx, c.retry.service, "")
		return out, true, nil
	}
	failed := failure(completeOp, err, *given)
	if ctx.Err() != nil || llm.IsBadAnswer(failed) {
		metric.Call(ctx, c.retry.service, kindOf(ctx, failed))
		return out, true, failed
	}
	c.flex.observe(began, false)
	metric.Add(ctx, "FlexMissed", 1, metric.Count)
	return out, false, nil
}
