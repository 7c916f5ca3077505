package evidence

import (
	"context"
	"strings"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/internal/vector"
)

// Coverage says how much of the answers' words is in some texts, as a mean over the questions that have an answer
// in words.
type Coverage struct {
	Questions int `json:"questions"`
	// Summaries is the share in the summaries of the sessions that hold the evidence, and Messages that in the evidence
	// itself, which is the most that can be had: answers are also put in other words.
	Summaries float64 `json:"summaries"`
	Messages  float64 `json:"messages"`
}

// Summaries compares the answers with the summaries.
func (b *Bench) Summaries(ctx context.Context) (Coverage, error) {
	var sum Coverage
	texts := map[*dataset.Conversation]map[string]string{}
	for _, c := range b.conversations() {
		var err error
		if texts[c], err = dataset.Summaries(ctx, b.api, c.ID); err != nil {
			return sum, err
		}
	}
	for _, c := range b.Cases {
		answer := vector.Terms(c.Question.Answer)
		if len(answer) == 0 {
			continue
		}
		var summaries, messages strings.Builder
		for _, s := range c.Conversation.Sessions {
			hasEvidence := false
			for _, m := range s.Messages {
				if c.Evidence[b.ids[c.Conversation.ID][m.ID]] {
					messages.WriteString(" " + m.Content)
					hasEvidence = true
				}
			}
			if hasEvidence {
				summaries.WriteString(" " + texts[c.Conversation][s.ID])
			}
		}
		sum.Questions++
		sum.Summaries += share(answer, summaries.String())
		sum.Messages += share(answer, messages.String())
	}
	n := float64(max(sum.Questions, 1))
	sum.Summaries, sum.Messages = sum.Summaries/n, sum.Messages/n
	return sum, nil
}

// share returns the share of words that a text has.
func share(words []string, text string) float64 {
	has := map[string]bool{}
	for _, term := range vector.Terms(text) {
		has[term] = true
	}
	n := 0
	for _, word := range words {
		if has[word] {
			n++
		}
	}
	return float64(n) / float64(len(words))
}
