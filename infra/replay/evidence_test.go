package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEvidence reads questions with the errors that such files have, and scores what was found for one.
func TestEvidence(t *testing.T) {
	t.Parallel()
	turns := map[string]turnRef{"D1:2": {"session-1", 2}, "D8:6": {"session-8", 6}}
	raw := json.RawMessage(`[
		{"question":"a","category":1,"evidence":["D1:2; D8:6"]}, {"question":"none there","category":2,"evidence":["D9:1"]},
		{"question":"no answer","category":5,"evidence":["D1:2"]}, {"question":"nothing","category":3,"evidence":[]}
	]`)
	questions, err := readQuestions(raw, turns)
	if err != nil || len(questions) != 1 || questions[0].text != "a" || len(questions[0].evidence) != 2 {
		t.Fatalf("read %+v, %v", questions, err)
	}
	found := []recalled{{"session-1", 1, strings.Repeat("x", 1500)}, {"session-1", 2, strings.Repeat("x", 1000)}}
	found = append(found, make([]recalled, 4)...)
	found = append(found, recalled{"session-8", 6, "y"})
	s := &score{}
	s.add(questions[0], found)
	const want = "1 questions: R@5 50.0 R@10 100.0 R@25 100.0 B500 50.0 B1000 100.0 B2000 100.0"
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
