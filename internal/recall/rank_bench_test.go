package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// BenchmarkRerank reranks 80 messages of about 250 characters, as the search for a prompt does.
func BenchmarkRerank(b *testing.B) {
	words := strings.Fields("Can we swap the barbell hip thrusts for banded glute bridges today, " +
		"because my lower back is sore again?")
	hits := make([]recall.Hit, 80)
	for i := range hits {
		var text []string
		for j := range 46 {
			text = append(text, words[(i*7+j*j)%len(words)])
		}
		hits[i] = recall.Hit{ID: fmt.Sprint(i), Score: 1 / float64(i+1), Message: &conversation.Message{
			ID: fmt.Sprint(i), Seq: i, SessionID: "s", Context: "coach_conversation", Role: conversation.User,
			Content: strings.Join(text, " "),
		}}
	}
	for b.Loop() {
		recall.Rerank("What about the hip thrusts and my sore back?", hits)
	}
}
