package conversation

import (
	"fmt"
	"time"

	"github.com/throughline/throughline/internal/fault"
)

// MaxTruncated is how many messages one truncation deletes. With the messages and ids that take their place there are
// at most maxTruncationWrites: a transaction of DynamoDB has at most 100 writes.
const (
	MaxTruncated        = 80
	maxTruncationWrites = 92
)

// Truncation deletes the last messages of a session, and appends others in their place, in one step.
type Truncation struct {
	SessionID string
	// AfterSeq, if set, deletes the messages after that seq, and LastN the last ones. One of them is set.
	AfterSeq *int
	LastN    *int
	// Expected, if it is not nil, are the ids of the messages that the caller expects to delete, in their order.
	Expected    []string
	Replacement []NewMessage
	Idempotency Idempotency
}

// Truncated is the result of a truncation: the ids of the messages that were deleted, those that were appended, and the
// session after both.
type Truncated struct {
	Deleted  []string
	Messages []Message
	Session  Session
	Replayed bool
}

// Prepare checks a truncation and returns it as it will be carried out. All invalid fields are reported in one Invalid
// error.
func (t Truncation) Prepare(now time.Time) (Truncation, error) {
	switch {
	case (t.AfterSeq == nil) == (t.LastN == nil):
		return t, fault.InvalidField("afterSeq", "is needed, or lastN instead of it")
	case t.AfterSeq != nil && *t.AfterSeq < 0:
		return t, fault.InvalidField("afterSeq", "must be at least 0")
	case t.LastN != nil && (*t.LastN < 1 || *t.LastN > MaxTruncated):
		return t, fault.InvalidField("lastN", fmt.Sprintf("must be from 1 to %d", MaxTruncated))
	case len(t.Replacement) == 0:
		return t, nil
	}
	prepared, err := Append{SessionID: t.SessionID, Messages: t.Replacement}.Prepare(now)
	if err != nil {
		return t, fault.Renamed(err, "messages", "replacement")
	}
	t.Replacement = prepared.Messages
	return t, nil
}

// CheckCut checks the messages that a truncation would delete, which are in their order.
func (t Truncation) CheckCut(cut []Message) error {
	writes := len(cut) + writesOf(t.Replacement)
	if len(cut) > MaxTruncated || writes > maxTruncationWrites {
		return fault.InvalidField("afterSeq", fmt.Sprintf("would delete %d messages or more: one call deletes at most %d, "+
			"and at most %d with the messages and ids that take their place; DELETE of the session's messages deletes all",
			len(cut), MaxTruncated, maxTruncationWrites))
	}
	if t.Expected == nil {
		return nil
	}
	same := len(cut) == len(t.Expected)
	for i := 0; same && i < len(cut); i++ {
		same = cut[i].ID == t.Expected[i]
	}
	if !same {
		return fault.New(fault.Conflict, "the last messages are not those of expected: read the session's messages, and "+
			"send what it ends with now")
	}
	return nil
}

// writesOf returns how many writes the messages and their ids take.
func writesOf(messages []NewMessage) int {
	n := len(messages)
	for _, m := range messages {
		if m.ClientMessageID != "" {
			n++
		}
	}
	return n
}
