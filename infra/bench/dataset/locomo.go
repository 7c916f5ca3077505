package dataset

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// categories are LoCoMo's (Maharana et al., ACL 2024). Questions of the fifth, adversarial, have no answer.
var categories = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}

// evidenceID matches a turn in an evidence string. Some strings hold several turns, or stray characters.
var evidenceID = regexp.MustCompile(`D\d+:\d+`)

// parseLoCoMo reads a LoCoMo file. Its first speaker is the user, the second one the assistant.
func parseLoCoMo(raw []byte) ([]Conversation, error) {
	var file []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []locomoQuestion           `json:"qa"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("parse data: %w", err)
	}
	conversations := make([]Conversation, 0, len(file))
	for _, entry := range file {
		c := Conversation{ID: entry.ID}
		var err error
		if c.Sessions, err = locomoSessions(entry.Conversation); err != nil {
			return nil, fmt.Errorf("parse %s: %w", entry.ID, err)
		}
		for _, q := range entry.QA {
			if category, ok := categories[q.Category]; ok {
				c.Questions = append(c.Questions, Question{q.Question, category, q.answer(), q.evidence(c)})
			}
		}
		conversations = append(conversations, c)
	}
	return conversations, nil
}

type locomoQuestion struct {
	Question string   `json:"question"`
	Answer   any      `json:"answer"`
	Evidence []string `json:"evidence"`
	Category int      `json:"category"`
}

// answer returns the answer, which is a text or a number.
func (q locomoQuestion) answer() string {
	if q.Answer == nil {
		return ""
	}
	return fmt.Sprint(q.Answer)
}

// evidence returns the turns of a question's evidence, each once, that the conversation has.
func (q locomoQuestion) evidence(c Conversation) []string {
	var ids []string
	for _, text := range q.Evidence {
		for _, id := range evidenceID.FindAllString(text, -1) {
			if !slices.Contains(ids, id) && c.has(id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (c Conversation) has(id string) bool {
	return slices.ContainsFunc(c.Sessions, func(s Session) bool {
		return slices.ContainsFunc(s.Messages, func(m Message) bool { return m.ID == id })
	})
}

// locomoSessions reads the sessions, which are numbered fields of one object.
func locomoSessions(fields map[string]json.RawMessage) ([]Session, error) {
	var first string
	if err := json.Unmarshal(fields["speaker_a"], &first); err != nil {
		return nil, fmt.Errorf("speaker_a: %w", err)
	}
	var sessions []Session
	for n := 1; ; n++ {
		name := fmt.Sprintf("session_%d", n)
		date, ok := fields[name+"_date_time"]
		if !ok {
			return sessions, nil
		}
		if _, ok := fields[name]; !ok {
			continue // a date without a conversation
		}
		s := Session{ID: fmt.Sprintf("session-%d", n)}
		var at string
		var turns []locomoTurn
		err := json.Unmarshal(date, &at)
		if err == nil {
			s.StartedAt, err = time.Parse("3:04 pm on 2 January, 2006", at)
		}
		if err == nil {
			err = json.Unmarshal(fields[name], &turns)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, t := range turns {
			s.Messages = append(s.Messages, t.message(first))
		}
		sessions = append(sessions, s)
	}
}

type locomoTurn struct {
	ID      string `json:"dia_id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// message returns what the speaker said, with the caption of a shared picture.
func (t locomoTurn) message(user string) Message {
	m := Message{ID: t.ID, Role: "assistant", Content: t.Text}
	if t.Speaker == user {
		m.Role = "user"
	}
	if t.Caption != "" {
		m.Content += " [shares a picture: " + t.Caption + "]"
	}
	return m
}
