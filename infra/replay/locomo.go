package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// sample is one conversation of a LoCoMo file (Maharana et al., ACL 2024): two speakers, many sessions.
type sample struct {
	ID       string
	SpeakerA string
	Sessions []session
	// Questions are those that have an answer among the turns.
	Questions []question
}

// session is one conversation of the two speakers.
type session struct {
	Number int
	At     time.Time
	Turns  []turn
}

type turn struct {
	ID      string `json:"dia_id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// content returns what the speaker said, with the caption of a shared picture.
func (t turn) content() string {
	if t.Caption == "" {
		return t.Text
	}
	return fmt.Sprintf("%s [shares a picture: %s]", t.Text, t.Caption)
}

// readSamples reads a LoCoMo file. Its sessions are numbered fields of one object.
func readSamples(path string) ([]sample, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read data: %w", err)
	}
	var file []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           json.RawMessage            `json:"qa"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("parse data: %w", err)
	}
	samples := make([]sample, 0, len(file))
	for _, entry := range file {
		s := sample{ID: entry.ID}
		if err := json.Unmarshal(entry.Conversation["speaker_a"], &s.SpeakerA); err != nil {
			return nil, fmt.Errorf("parse speaker_a of %s: %w", entry.ID, err)
		}
		if s.Sessions, err = readSessions(entry.Conversation); err != nil {
			return nil, fmt.Errorf("parse sessions of %s: %w", entry.ID, err)
		}
		if s.Questions, err = readQuestions(entry.QA, s.turns()); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.ID, err)
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// turns returns where the sample's turns are after the replay, by their ids in the file.
func (s sample) turns() map[string]turnRef {
	turns := map[string]turnRef{}
	for _, session := range s.Sessions {
		for i, t := range session.Turns {
			turns[t.ID] = turnRef{sessionID(session), i + 1}
		}
	}
	return turns
}

func readSessions(conversation map[string]json.RawMessage) ([]session, error) {
	var sessions []session
	for n := 1; ; n++ {
		name := fmt.Sprintf("session_%d", n)
		raw, ok := conversation[name+"_date_time"]
		if !ok {
			return sessions, nil
		}
		turns, ok := conversation[name]
		if !ok {
			continue // a date without a conversation
		}
		s := session{Number: n}
		var at string
		if err := json.Unmarshal(raw, &at); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var err error
		if s.At, err = time.Parse("3:04 pm on 2 January, 2006", at); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := json.Unmarshal(turns, &s.Turns); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sessions = append(sessions, s)
	}
}
