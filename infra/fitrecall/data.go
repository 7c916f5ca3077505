package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// sample is one conversation of a LoCoMo file as messages of one user, with its questions.
type sample struct {
	id        string
	messages  []conversation.Message
	questions []question
}

// question is a question with the ids of the messages that hold its answer.
type question struct {
	text     string
	category int
	evidence map[string]bool
}

// adversarial is the category of questions that have no answer.
const adversarial = 5

// turnID matches a turn in an evidence string. Some strings hold several turns, or stray characters.
var turnID = regexp.MustCompile(`D\d+:\d+`)

type record struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type turn struct {
	ID      string `json:"dia_id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// readSamples reads a LoCoMo file. Messages are made as infra/replay sends them, changed by the variant.
func readSamples(path string, v variant) ([]sample, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read data: %w", err)
	}
	var records []record
	if err := json.Unmarshal(raw, &records); err != nil {
		return nil, fmt.Errorf("parse data: %w", err)
	}
	samples := make([]sample, 0, len(records))
	for _, r := range records {
		s := sample{id: r.ID}
		var user string
		if err := json.Unmarshal(r.Conversation["speaker_a"], &user); err != nil {
			return nil, fmt.Errorf("parse speaker_a of %s: %w", r.ID, err)
		}
		places, err := s.addSessions(r, user, v)
		if err != nil {
			return nil, fmt.Errorf("parse sessions of %s: %w", r.ID, err)
		}
		for _, qa := range r.QA {
			q := question{text: qa.Question, category: qa.Category, evidence: map[string]bool{}}
			for _, text := range qa.Evidence {
				for _, id := range turnID.FindAllString(text, -1) {
					if at := places[id]; at != "" {
						q.evidence[at] = true
					}
				}
			}
			if q.category != adversarial && len(q.evidence) > 0 {
				s.questions = append(s.questions, q)
			}
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// addSessions adds the messages of all sessions, and returns the message of each turn by the turn's id.
func (s *sample) addSessions(r record, user string, v variant) (map[string]string, error) {
	places := map[string]string{}
	for n := 1; ; n++ {
		name := fmt.Sprintf("session_%d", n)
		raw, ok := r.Conversation[name+"_date_time"]
		if !ok {
			return places, nil
		}
		var date string
		var turns []turn
		if err := json.Unmarshal(raw, &date); err != nil {
			return nil, err
		}
		at, err := time.Parse("3:04 pm on 2 January, 2006", date)
		if err != nil {
			return nil, err
		}
		if r.Conversation[name] == nil {
			continue // a date without a conversation
		}
		if err := json.Unmarshal(r.Conversation[name], &turns); err != nil {
			return nil, err
		}
		s.addTurns(places, v.apply(turns, user), n, at)
	}
}

// contexts are those that sessions alternate between, as in infra/replay.
var contexts = [2]string{"coach_conversation", "program_designer"}

func (s *sample) addTurns(places map[string]string, said []utterance, session int, at time.Time) {
	for i, u := range said {
		m := conversation.Message{
			ID: fmt.Sprintf("%s-%d-%d", s.id, session, i+1), Seq: i + 1, SessionID: fmt.Sprintf("session-%d", session),
			Context: contexts[(session-1)%2], CoachID: "coach", Role: u.role, Content: u.text,
			Timestamp: at.Add(time.Duration(i) * 20 * time.Second),
		}
		for _, id := range u.turns {
			places[id] = m.ID
		}
		s.messages = append(s.messages, m)
	}
}
