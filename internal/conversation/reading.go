package conversation

import "slices"

// Reading is what bad answers of the model have done to the reading of a session for memories. It holds no content.
type Reading struct {
	// Tries counts the bad answers in a row to the messages after the watermark, through the seq Through.
	Tries   int `json:"tries,omitempty"`
	Through int `json:"through,omitempty"`
	// SkippedCount is how many messages were skipped because the model never gave a usable answer to them, and Skipped
	// the newest of them, at most MaxSkipped.
	SkippedCount int              `json:"skippedCount,omitempty"`
	Skipped      []SkippedMessage `json:"skipped,omitempty"`
}

// MaxSkipped is how many skipped messages a session names.
const MaxSkipped = 50

// SkippedMessage is a message that was not read for memories. Prompt is the version of the rules that it was asked with
// last: another version asks again at once, and the sweep each week.
type SkippedMessage struct {
	Seq       int    `json:"seq"`
	MessageID string `json:"messageId"`
	Prompt    string `json:"prompt"`
}

// Skips reports whether the message of a seq was skipped.
func (r Reading) Skips(seq int) bool {
	return slices.ContainsFunc(r.Skipped, func(m SkippedMessage) bool { return m.Seq == seq })
}

// IsZero reports whether no answer was bad.
func (r Reading) IsZero() bool { return r.Tries == 0 && r.SkippedCount == 0 }
