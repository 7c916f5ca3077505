package prompt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// The prompt's own CPU time with 120,000 characters of history, from decoded records to the rendered prompt. It should
// be about 2 ms at the median.
func BenchmarkBuild(b *testing.B) {
	for _, recipe := range prompt.Recipes {
		b.Run(recipe.Name, func(b *testing.B) {
			w := newFixture()
			r := longHistory(w)
			r.Recipe, r.SkipSave = recipe.Name, true
			deps := w.deps(now)
			var own []time.Duration
			deps.Observe = func(_ context.Context, o prompt.Observation) { own = append(own, o.Own) }
			s := prompt.New(deps)
			var p prompt.Prompt
			for b.Loop() {
				var err error
				if p, err = s.Build(b.Context(), "u", r); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(own)
			b.ReportMetric(float64(own[len(own)/2].Microseconds()), "own-µs-p50")
			b.ReportMetric(float64(p.Tokens.Total), "tokens")
			b.ReportMetric(float64(len(p.System)+len(p.Text)), "bytes")
		})
	}
}

// Encoding a prompt for the store. Its memory is that of the answer: the tables of the compression are used again.
func BenchmarkNewStoredPrompt(b *testing.B) {
	w := newFixture()
	r := longHistory(w)
	r.Recipe, r.SkipSave = prompt.Unified, true
	p := check.Got(prompt.New(w.deps(now)).Build(b.Context(), "u", r))(b)
	b.ReportAllocs()
	for b.Loop() {
		check.Got(prompt.NewStoredPrompt(p, prompt.SaveOptions{Now: now, Text: true}))(b)
	}
}

// longHistory is a user with 120,000 characters of messages of today, about 250 characters each.
func longHistory(w *fixture) prompt.Request {
	p := w.user("u")
	sentences := strings.Fields("Can we swap the barbell hip thrusts for banded glute bridges today? I slept badly " +
		"and my lower back is sore, so let's keep it light. Then add 2 easy kilometres, please!")
	for i := range 16 {
		var lines []line
		for j := range 30 {
			role := conversation.RoleUser
			if j%2 == 1 {
				role = conversation.RoleAssistant
			}
			var words []string
			for k := range 46 {
				words = append(words, sentences[(i*7+j*3+k*k)%len(sentences)])
			}
			lines = append(lines, line{time.Duration(j) * 20 * time.Second, role, strings.Join(words, " ")})
		}
		p.converse(fmt.Sprintf("s%02d", i), conversation.Contexts()[i%5], "c", now.Add(-time.Duration(16-i)*20*minute),
			lines...)
	}
	for i := range p.messages {
		if i%10 == 0 {
			p.hits = append(p.hits, recall.Hit{ID: p.messages[i].ID, Message: &p.messages[i], Score: 1 / float64(i+1)})
		}
	}
	return prompt.Request{Context: p.sessions[15].Context, SessionID: "s15", CoachID: "c", Message: "What about tomorrow?"}
}
