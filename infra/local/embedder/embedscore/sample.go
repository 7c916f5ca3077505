package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

// sample is one conversation with its questions.
type sample struct {
	turns     []turn
	questions []question
}

type turn struct{ id, speaker, text string }

// question has the ids of the turns that hold its answer.
type question struct {
	text     string
	evidence map[string]bool
}

// adversarial is the category of questions that have no answer.
const adversarial = 5

// turnID finds the ids in an evidence string; some strings hold several, or stray characters.
var turnID = regexp.MustCompile(`D\d+:\d+`)

func readSamples(path string) ([]sample, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read conversations: %w", err)
	}
	var records []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Evidence []string `json:"evidence"`
			Category int      `json:"category"`
		} `json:"qa"`
	}
	if err := json.Unmarshal(data, &records); err != nil {
		return nil, fmt.Errorf("parse conversations: %w", err)
	}
	samples := make([]sample, len(records))
	for i, record := range records {
		if samples[i].turns, err = readTurns(record.Conversation); err != nil {
			return nil, err
		}
		for _, qa := range record.QA {
			q := question{text: qa.Question, evidence: map[string]bool{}}
			for _, evidence := range qa.Evidence {
				for _, id := range turnID.FindAllString(evidence, -1) {
					q.evidence[id] = true
				}
			}
			if qa.Category != adversarial && len(q.evidence) > 0 {
				samples[i].questions = append(samples[i].questions, q)
			}
		}
	}
	return samples, nil
}

// readTurns reads session_1, session_2, … in their order; the conversation's other keys are not sessions.
func readTurns(conversation map[string]json.RawMessage) ([]turn, error) {
	var turns []turn
	for n := 1; n <= len(conversation); n++ {
		session, ok := conversation[fmt.Sprintf("session_%d", n)]
		if !ok {
			continue
		}
		var records []struct {
			ID      string `json:"dia_id"`
			Speaker string `json:"speaker"`
			Text    string `json:"text"`
			Caption string `json:"blip_caption"`
		}
		if err := json.Unmarshal(session, &records); err != nil {
			return nil, fmt.Errorf("parse session %d: %w", n, err)
		}
		for _, r := range records {
			turns = append(turns, turn{id: r.ID, speaker: r.Speaker, text: r.Text + " " + r.Caption})
		}
	}
	return turns, nil
}
