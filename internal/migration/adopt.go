package migration

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Unmovable is the error of a session that cannot be moved, and says why.
type Unmovable string

func (u Unmovable) Error() string { return "the session cannot be moved: " + string(u) }

// ReasonOf returns the reason for which a session cannot be moved.
func ReasonOf(err error) (string, bool) {
	u, ok := errors.AsType[Unmovable](err)
	return string(u), ok
}

// Work is what a part of the migration has done.
type Work struct {
	// Messages and Bytes are of the messages that were written. Writes counts the records of all transactions.
	Messages, Bytes, Writes int
	// Throttles counts the calls that the table throttled or did not answer.
	Throttles int
}

// Entry is a place of an array: an entry that is there, by its index, or a message to encode.
type Entry struct {
	Index   int
	Message *conversation.Message
}

// Adopt compares the array of a dual session with its messages, after the app has written to the array. decoded are the
// messages of all entries, stored those of the shared store after copied, in order. copied is the seq of the last
// message that only the array has.
//
// It returns the entries that the array has to have, at most limit messages that are new, and the session with these.
// New entries come after all others. Messages whose entry is missing get it again. Entries up to copied that are
// missing at the end are deleted.
func Adopt(s conversation.Session, copied int, decoded, stored []conversation.Message, ids IDs, limit int,
) (array []Entry, added []conversation.Message, after conversation.Session) {
	after = s
	i := 0
	for seq := 1; seq <= copied; seq++ {
		switch {
		case s.Deleted.Contains(seq):
		case i < len(decoded):
			array = append(array, Entry{Index: i})
			i++
		default:
			after.Deleted = after.Deleted.Add(seq)
		}
	}
	places := map[string]int{}
	for j := i; j < len(decoded); j++ {
		places[decoded[j].ID] = j
	}
	for j := range stored {
		if at, ok := places[stored[j].ID]; ok {
			array = append(array, Entry{Index: at})
			delete(places, stored[j].ID)
		} else {
			array = append(array, Entry{Message: &stored[j]})
		}
	}
	after.MessageCount = len(array)
	if after.MessageCount == 0 {
		after.StartedAt, after.LastMessageAt = time.Time{}, time.Time{}
	}
	for ; i < len(decoded); i++ {
		if at, isNew := places[decoded[i].ID]; !isNew || at != i {
			continue
		}
		if len(added) == limit {
			array = append(array, Entry{Index: i})
			continue
		}
		var m conversation.Message
		m, after = extend(after, decoded[i], ids)
		added = append(added, m)
		array = append(array, Entry{Message: &m})
	}
	return array, added, after
}

// extend appends a message that was decoded from an array to a session. Where its time is raised it gets another id.
func extend(s conversation.Session, m conversation.Message, ids IDs) (conversation.Message, conversation.Session) {
	version := s.Version
	out, s := s.Extend([]conversation.NewMessage{{
		Role: m.Role, Content: m.Content, Timestamp: m.Timestamp, Mode: m.Mode, AgentID: m.AgentID, Metadata: m.Metadata,
		Parts: m.Parts, ClientMessageID: m.ClientMessageID, AwaitsAnswer: m.AwaitsAnswer,
		NoIndex: m.NoIndex, NoExtract: m.NoExtract, Tokens: m.Tokens,
	}}, m.Timestamp)
	s.Version = version
	if out[0].ID = m.ID; !out[0].Timestamp.Equal(m.Timestamp) {
		sum := sha256.Sum256([]byte(m.ID))
		out[0].ID = ids.New(out[0].Timestamp, base36(sum[:]))
	}
	return out[0], s
}
