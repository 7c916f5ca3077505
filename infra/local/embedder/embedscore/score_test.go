package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const conversation = `[{"conversation":{"speaker_a":"Ana",
"session_2":[{"speaker":"Rui","dia_id":"D2:1","text":"c","blip_caption":"d"}],"session_2_date_time":"noon",
"session_1":[{"speaker":"Ana","dia_id":"D1:1","text":"a"},{"speaker":"Rui","dia_id":"D1:2","text":"b"}]},
"qa":[{"question":"c","evidence":["D2:1; D1:2"],"category":1},
{"question":"x","evidence":["D1:1"],"category":5},{"question":"y","evidence":[],"category":4}]}]`

func TestScoreFindsEvidence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conversations.json")
	if err := os.WriteFile(path, []byte(conversation), 0o600); err != nil {
		t.Fatal(err)
	}
	samples, err := readSamples(path)
	if err != nil || len(samples) != 1 || len(samples[0].turns) != 3 || len(samples[0].questions) != 1 {
		t.Fatalf("samples %+v, error %v", samples, err)
	}
	if last := samples[0].turns[2]; last.id != "D2:1" || last.text != "c d" {
		t.Errorf("last turn %+v", last)
	}
	s := samples[0]
	for range 9 { // push one turn of the evidence out of the first ten
		s.turns = append(s.turns, turn{id: "other", text: "near"})
	}
	r := scoreSample(s, func(text string) []float32 {
		switch {
		case strings.HasPrefix(text, "c"), text == "near":
			return []float32{1, 0}
		default:
			return []float32{0, 1}
		}
	}, false)
	if r.percent(0) != 50 || r.percent(1) != 50 || r.percent(2) != 100 {
		t.Errorf("recall %v %v %v, want 50 50 100", r.percent(0), r.percent(1), r.percent(2))
	}
}

func TestReadSamplesNamesWhatIsWrong(t *testing.T) {
	if _, err := readSamples(filepath.Join(t.TempDir(), "none.json")); err == nil {
		t.Error("no error for a missing file")
	}
}
