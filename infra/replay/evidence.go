package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"
)

// question is a question with the turns that hold its answer.
type question struct {
	text     string
	evidence map[turnRef]bool
}

// turnRef identifies a turn by its session's id and its seq there.
type turnRef struct {
	session string
	seq     int
}

// adversarial is the category of questions that have no answer.
const adversarial = 5

// turnID matches a turn in an evidence string. Some strings hold several turns, or stray characters.
var turnID = regexp.MustCompile(`D\d+:\d+`)

// readQuestions reads the questions that have an answer among the turns.
func readQuestions(raw json.RawMessage, turns map[string]turnRef) ([]question, error) {
	var records []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &records); err != nil {
		return nil, fmt.Errorf("parse questions: %w", err)
	}
	var questions []question
	for _, r := range records {
		q := question{text: r.Question, evidence: map[turnRef]bool{}}
		for _, text := range r.Evidence {
			for _, id := range turnID.FindAllString(text, -1) {
				if at, ok := turns[id]; ok {
					q.evidence[at] = true
				}
			}
		}
		if r.Category != adversarial && len(q.evidence) > 0 {
			questions = append(questions, q)
		}
	}
	return questions, nil
}

// The cutoffs of evidence recall: the first k messages, and the messages that fit, best first, a budget of tokens of
// four characters.
var (
	ranks   = [...]int{5, 10, 25}
	budgets = [...]int{500, 1000, 2000}
)

// score sums the share of evidence within each cutoff over questions.
type score struct {
	questions int
	ranks     [len(ranks)]float64
	budgets   [len(budgets)]float64
}

// recalled is one message that recall found.
type recalled struct {
	SessionID string
	Seq       int
	Content   string
}

func (s *score) add(q question, found []recalled) {
	s.questions++
	share := 1 / float64(len(q.evidence))
	var used [len(budgets)]int
	for i, m := range found {
		gain := 0.0
		if q.evidence[turnRef{m.SessionID, m.Seq}] {
			gain = share
		}
		for c, k := range ranks {
			if i < k {
				s.ranks[c] += gain
			}
		}
		for c, tokens := range budgets {
			if used[c]+len(m.Content) <= 4*tokens {
				used[c] += len(m.Content)
				s.budgets[c] += gain
			}
		}
	}
}

// String returns one line of percentages.
func (s *score) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d questions:", s.questions)
	for i, k := range ranks {
		fmt.Fprintf(&text, " R@%d %.1f", k, 100*s.ranks[i]/float64(max(s.questions, 1)))
	}
	for i, tokens := range budgets {
		fmt.Fprintf(&text, " B%d %.1f", tokens, 100*s.budgets[i]/float64(max(s.questions, 1)))
	}
	return text.String()
}

// scoreRecall searches for each question and scores how much of the evidence recall finds.
func (r *replay) scoreRecall(ctx context.Context, samples []sample) (*score, error) {
	found := make([][][]recalled, len(samples))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(r.parallel)
	for i, s := range samples {
		found[i] = make([][]recalled, len(s.Questions))
		api, err := r.api.As(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		for j, q := range s.Questions {
			work.Go(func() error {
				var answer struct{ Messages []recalled }
				body := map[string]any{"query": q.text, "limit": 100}
				if err := api.Do(ctx, http.MethodPost, "/v1/recall", body, &answer); err != nil {
					return fmt.Errorf("recall: %w", err)
				}
				found[i][j] = answer.Messages
				return nil
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	total := &score{}
	for i, s := range samples {
		for j, q := range s.Questions {
			total.add(q, found[i][j])
		}
	}
	return total, nil
}
