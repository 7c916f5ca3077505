package conversation

import (
	"slices"

	"github.com/throughline/throughline/internal/fault"
)

// Replaces says what a turn takes the place of: the messages after a seq, or the turn of a message. One of them is set.
type Replaces struct {
	MessageID string
	AfterSeq  *int
}

// replaceExtraWrites is how many more writes a turn that replaces has than a truncation: its record, that of the turn
// before, the mark of the session, the permit and the quota.
const replaceExtraWrites = 5

// Cut is what a turn that replaces does to the last messages of its session.
type Cut struct {
	// Kept is the user's message that stays and is answered again. It is nil for a turn with a message of its own.
	Kept *Message
	// Deleted are the messages that go.
	Deleted []Message
}

// Prepare checks what a turn replaces, without its session.
func (r Replaces) Prepare() error {
	if (r.MessageID == "") == (r.AfterSeq == nil) {
		return fault.InvalidField("replaces", "needs either messageId or afterSeq")
	}
	if r.AfterSeq != nil && *r.AfterSeq < 0 {
		return fault.InvalidField("replaces.afterSeq", "must be at least 0")
	}
	return nil
}

// Cut returns which of a session's last messages a turn keeps and deletes. last are in their order, and all those of
// the session unless there are more than MaxTruncated of them. given are the messages of the turn.
//
// Without given messages, or with the words that the user's message has, the user's message stays and is answered
// again. Otherwise the given messages come instead of the user's message, or after the answer that MessageID names.
//
// It is a Conflict where the history is another: the message is not there, it ends before the seq, or what is left has
// no message of the user to answer.
func (r Replaces) Cut(last []Message, given []NewMessage, session Session) (Cut, error) {
	from, err := r.first(last, given, session)
	if err != nil {
		return Cut{}, err
	}
	cut := Cut{Deleted: last[from:]}
	switch {
	case from < len(last) && isAskedAgain(last[from], given):
		cut.Kept, cut.Deleted = &last[from], last[from+1:]
	case from > 0 && isAskedAgain(last[from-1], given):
		cut.Kept = &last[from-1]
	case len(given) == 0:
		return Cut{}, fault.New(fault.Conflict,
			"the session's history is another: without a message, what is left has to end with one of the user")
	}
	writes := len(cut.Deleted) + replaceExtraWrites
	if cut.Kept == nil {
		writes += writesOf(given)
	}
	if len(cut.Deleted) > MaxTruncated || writes > maxTruncationWrites {
		return Cut{}, fault.InvalidField("replaces", "would delete too many messages in one step: truncate the session first")
	}
	return cut, nil
}

// first returns the place of the first message that the turn replaces.
func (r Replaces) first(last []Message, given []NewMessage, session Session) (int, error) {
	if r.AfterSeq != nil {
		if *r.AfterSeq > session.LastSeq {
			return 0, errOtherHistory()
		}
		at := slices.IndexFunc(last, func(m Message) bool { return m.Seq > *r.AfterSeq })
		if at < 0 {
			at = len(last)
		}
		return at, nil
	}
	at := slices.IndexFunc(last, func(m Message) bool { return m.ID == r.MessageID })
	switch {
	case at < 0 && len(last) > MaxTruncated:
		return 0, fault.InvalidField("replaces.messageId", "must be one of the last 80 messages of the session")
	case at < 0:
		return 0, errOtherHistory()
	case last[at].Role == RoleUser:
		return at, nil
	}
	question := at
	for question > 0 && last[question].Role != RoleUser {
		question--
	}
	if isAskedAgain(last[question], given) {
		return question, nil
	}
	return at + 1, nil
}

func errOtherHistory() error {
	return fault.New(fault.Conflict, "the session's history is another: read its messages, and name one that is there")
}

// isAskedAgain reports whether a turn without messages, or with one of the same words, answers that message again.
func isAskedAgain(m Message, given []NewMessage) bool {
	if m.Role != RoleUser || len(given) == 0 {
		return m.Role == RoleUser
	}
	return len(given) == 1 && given[0].Content == m.Content && EqualParts(m.Parts, given[0].Parts)
}
