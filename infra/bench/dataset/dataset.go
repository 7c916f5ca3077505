// Package dataset reads conversations with questions about them from a file, and imports them through the public HTTP
// API as users of an app would have produced them.
//
// A file has LoCoMo's form (snap-research/locomo), or this one:
//
//	{"conversations": [{
//	  "id": "ana",
//	  "sessions": [{
//	    "id": "monday", "context": "coach_conversation", "startedAt": "2026-01-05T07:00:00Z",
//	    "messages": [{"id": "m1", "role": "user", "content": "…", "timestamp": "2026-01-05T07:00:20Z"}]
//	  }],
//	  "questions": [{"text": "…", "category": "one turn", "answer": "…", "evidence": ["m1"]}]
//	}]}
//
// A conversation is one user's. Its id and those of its sessions are ids of the API; ids of messages only have to
// differ within the conversation. Sessions are in the order of their beginnings. The roles of messages are user,
// assistant and system, in any order. A message without a timestamp follows the one before it by 20 seconds, and a
// session without a context alternates between two. The evidence of a question are the messages that hold its answer.
// A question without evidence is left out. The answer may be missing: it is only compared with summaries. A message
// that is longer than the API takes is cut.
package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/truncate"
)

// Conversation is everything that one user and an app have said, with questions about it.
type Conversation struct {
	ID        string     `json:"id"`
	Sessions  []Session  `json:"sessions"`
	Questions []Question `json:"questions"`
}

// Session is one session of a conversation.
type Session struct {
	ID        string    `json:"id"`
	Context   string    `json:"context"`
	StartedAt time.Time `json:"startedAt"`
	Messages  []Message `json:"messages"`
}

// Message is one turn.
type Message struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`
	Content   string    `json:"content"`
	Timestamp time.Time `json:"timestamp"`
}

// Question is a question with the ids of the messages that hold its answer.
type Question struct {
	Text     string   `json:"text"`
	Category string   `json:"category"`
	Answer   string   `json:"answer"`
	Evidence []string `json:"evidence"`
}

// Messages returns the number of messages of the conversation.
func (c Conversation) Messages() (n int) {
	for _, s := range c.Sessions {
		n += len(s.Messages)
	}
	return n
}

// appContexts are the two contexts that sessions alternate between, so that recall has to cross them.
var appContexts = [2]string{"coach_conversation", "program_designer"}

// messageInterval is the time between two messages of a session whose file has only the time of its beginning.
const messageInterval = 20 * time.Second

// Set is a data set: the conversations of a file.
type Set struct {
	Name          string
	Conversations []Conversation
}

// Has reports whether a conversation is one of the set's.
func (s Set) Has(c *Conversation) bool {
	return slices.ContainsFunc(s.Conversations, func(other Conversation) bool { return other.ID == c.ID })
}

// NameOf is the name of the data set in a file: that of the file.
func NameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }

// ReadSets reads files, whose names have spaces between them. The ids of all conversations differ.
func ReadSets(paths string) ([]Set, error) {
	var sets []Set
	known := map[string]string{}
	for path := range strings.FieldsSeq(paths) {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read data: %w", err)
		}
		list, err := parse(raw)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if other := known[c.ID]; other != "" {
				return nil, fmt.Errorf("%s is the id of two conversations, of %s and %s: give one another", c.ID, other, path)
			}
			known[c.ID] = path
		}
		sets = append(sets, Set{NameOf(path), list})
	}
	return sets, nil
}

func parse(raw []byte) (conversations []Conversation, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		conversations, err = parseLoCoMo(raw)
	} else {
		conversations, err = parseOwn(raw)
	}
	if err != nil {
		return nil, err
	}
	for i := range conversations {
		if err := conversations[i].complete(); err != nil {
			return nil, fmt.Errorf("conversation %q: %w", conversations[i].ID, err)
		}
	}
	return conversations, nil
}

func parseOwn(raw []byte) ([]Conversation, error) {
	var file struct {
		Conversations []Conversation `json:"conversations"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("parse data: %w", err)
	}
	return file.Conversations, nil
}

// complete fills in what a file may leave out, and drops the questions without evidence.
func (c *Conversation) complete() error {
	known := map[string]bool{}
	for i := range c.Sessions {
		s := &c.Sessions[i]
		s.ID, s.Context = cmp.Or(s.ID, fmt.Sprintf("session-%d", i+1)), cmp.Or(s.Context, appContexts[i%len(appContexts)])
		at := s.StartedAt.Add(-messageInterval)
		for j := range s.Messages {
			m := &s.Messages[j]
			m.Content = truncate.Bytes(m.Content, conversation.MaxContentBytes)
			if at = at.Add(messageInterval); !m.Timestamp.IsZero() {
				at = m.Timestamp
			}
			if m.Timestamp = at; at.Year() < 1970 {
				return fmt.Errorf("session %s: neither it nor its message %d has a time", s.ID, j+1)
			}
			if m.ID != "" && known[m.ID] {
				return fmt.Errorf("two messages have the id %s", m.ID)
			}
			known[m.ID] = true
		}
	}
	var questions []Question
	for _, q := range c.Questions {
		if len(q.Evidence) == 0 {
			continue
		}
		for _, id := range q.Evidence {
			if !known[id] {
				return fmt.Errorf("the evidence %s of %q is no message", id, q.Text)
			}
		}
		questions = append(questions, q)
	}
	c.Questions = questions
	if len(c.Sessions) == 0 {
		return errors.New("it has no session")
	}
	return nil
}
