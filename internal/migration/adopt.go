package migration

import (
	"crypto/sha256"
	"errors"
	"slices"
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
	// Messages were written. Writes counts the records of all transactions.
	Messages, Writes int
	// Throttles counts the calls that the table throttled or did not answer.
	Throttles int
}

// Entry is a place of an array: an entry that is there, by its index, or a message to encode. ID is what the entry's id
// has to be, empty for one that only the array has.
type Entry struct {
	Index   int
	Message *conversation.Message
	ID      string
}

// Adopted is a dual session and its array as they agree. Added are messages that are new to the store, Changed those of
// the store that have another seq, or the words of their entry.
type Adopted struct {
	Entries        []Entry
	Added, Changed []conversation.Message
	Session        conversation.Session
}

// Adopt compares the array of a dual session with its messages, after the app has changed the array, or has put an old
// record in the session's place. copied is the seq of the last message that only the array has. decoded are the
// messages of all entries. stored are the messages of the shared store with a later seq than copied, ordered by time.
// copies says of these, by their ids, which the backfill has copied from the array.
//
// At most limit messages are added or changed. New entries come after all others. A message whose entry is missing gets
// it again. Where entries up to copied are missing, the last ones of these count as deleted.
func Adopt(s conversation.Session, copied int, decoded, stored []conversation.Message, copies map[string]bool,
	ids IDs, limit int,
) Adopted {
	out, next := Adopted{Session: s}, 0
	after := &out.Session
	for seq := 1; seq <= copied; seq++ {
		switch {
		case s.Deleted.Contains(seq):
		case next < len(decoded) && (len(stored) == 0 || decoded[next].Timestamp.Before(stored[0].Timestamp)):
			out.Entries = append(out.Entries, Entry{Index: next})
			next++
		default:
			after.Deleted = after.Deleted.Add(seq)
		}
	}
	places := placesOf(decoded, stored, copies)
	out.addStored(copied, decoded, stored, places)
	out.Changed = out.Changed[:min(limit, len(out.Changed))]
	if after.MessageCount = len(out.Entries); after.MessageCount == 0 {
		after.StartedAt, after.LastMessageAt = time.Time{}, time.Time{}
	}
	for i := next; i < len(decoded); i++ {
		if slices.Contains(places, i) {
			continue
		}
		e := Entry{Index: i}
		if len(out.Added)+len(out.Changed) < limit {
			var m conversation.Message
			m, *after = extend(*after, decoded[i], ids)
			out.Added = append(out.Added, m)
			e = Entry{Message: &m, ID: m.ID}
		}
		out.Entries = append(out.Entries, e)
	}
	return out
}

// addStored adds the entries of the store's messages after the seq last. Where the app has put an old record in the
// session's place, its counters are older than these messages, and the same seq may have been given twice. So counters
// are raised, and the later message of a seq gets another one.
func (a *Adopted) addStored(last int, decoded, stored []conversation.Message, places []int) {
	s := &a.Session
	for i, was := range stored {
		m, e := was, Entry{Message: &stored[i], ID: was.ID}
		if at := places[i]; at >= 0 {
			e = Entry{Index: at, ID: was.ID}
			if now := decoded[at]; len(m.Parts) == 0 && (now.Content != m.Content || now.Role != m.Role) {
				m.Content, m.Role, m.Tokens = now.Content, now.Role, now.Tokens
			}
		}
		a.Entries = append(a.Entries, e)
		for m.Seq <= last || s.Deleted.Contains(m.Seq) {
			m.Seq = max(m.Seq, last) + 1
		}
		if last = m.Seq; last != was.Seq || m.Content != was.Content || m.Role != was.Role {
			a.Changed = append(a.Changed, m)
		}
		if m.Role == conversation.RoleUser {
			s.UserSeq = max(s.UserSeq, last)
		}
		if s.LastSeq = max(s.LastSeq, last); m.Timestamp.After(s.LastMessageAt) {
			s.LastMessageAt = m.Timestamp
		}
	}
}

// sameEntry is how far the times of an entry that has been adopted may be apart at two reads.
const sameEntry = time.Second

// placesOf returns the place of each stored message in the array, -1 for a message without an entry. The entry is the
// one with the message's id. Else it is one with the same words between the entries of the messages before and after,
// because an entry without an id gets id and time from the entries before it. Else it is a copy's entry of the same
// time that directly follows the entry of the message before: the app has changed its words.
func placesOf(decoded, stored []conversation.Message, copies map[string]bool) []int {
	byID, places := map[any]int{}, make([]int, len(stored))
	for j, m := range decoded {
		byID[m.Metadata[keptMessageID]] = j // the id that the entry had before its time was raised
	}
	for j, m := range decoded {
		byID[m.ID] = j
	}
	used := make([]bool, len(decoded))
	for i, m := range stored {
		at, ok := byID[m.ID]
		if places[i] = at; !ok {
			places[i] = -1
		} else {
			used[at] = true
		}
	}
	for _, isSame := range []func(was, now conversation.Message, isNext bool) bool{
		func(was, now conversation.Message, _ bool) bool {
			isNear := copies[was.ID] || now.Timestamp.Sub(was.Timestamp).Abs() < sameEntry
			return isNear && now.Content == was.Content
		},
		func(was, now conversation.Message, isNext bool) bool {
			return isNext && copies[was.ID] && now.Timestamp.Equal(was.Timestamp)
		},
	} {
		last := -1
		for i, was := range stored {
			end := len(decoded)
			if k := slices.IndexFunc(places[i:], func(at int) bool { return at >= 0 }); k >= 0 {
				end = places[i+k]
			}
			for j := last + 1; j < end && places[i] < 0; j++ {
				if !used[j] && decoded[j].Role == was.Role && isSame(was, decoded[j], last >= 0 && j == last+1) {
					places[i], used[j] = j, true
				}
			}
			last = max(last, places[i])
		}
	}
	return places
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
