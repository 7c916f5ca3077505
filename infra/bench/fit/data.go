package main

import (
	"cmp"
	"fmt"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/internal/conversation"
)

// sample is one conversation as messages of one user, with its questions.
type sample struct {
	// set is the name of its data set.
	set       string
	id        string
	messages  []conversation.Message
	questions []question
}

// question is a question with the ids of the messages that hold its answer. Small talk has no category.
type question struct {
	text     string
	category string
	evidence map[string]bool
}

// samplesOf returns the conversations of a data set.
func samplesOf(set dataset.Set) []sample {
	samples := make([]sample, len(set.Conversations))
	for n, c := range set.Conversations {
		s := sample{set: set.Name, id: c.ID}
		ids := map[string]string{} // of the messages, by those of the file
		for _, session := range c.Sessions {
			for i, m := range session.Messages {
				ids[m.ID] = fmt.Sprintf("%s-%s-%d", s.id, session.ID, i+1)
				s.messages = append(s.messages, conversation.Message{
					ID: ids[m.ID], Seq: i + 1, SessionID: session.ID, Context: session.Context, CoachID: "coach",
					Role: conversation.Role(m.Role), Content: m.Content, Timestamp: m.Timestamp,
				})
			}
		}
		for _, q := range c.Questions {
			asked := question{text: q.Text, category: cmp.Or(q.Category, "question"), evidence: map[string]bool{}}
			for _, id := range q.Evidence {
				asked.evidence[ids[id]] = true
			}
			s.questions = append(s.questions, asked)
		}
		samples[n] = s
	}
	return samples
}

// The groups that questions are reported and weights are left out by.
func bySet(p pool) string          { return p.set }
func byConversation(p pool) string { return p.set + "/" + p.conversation }
func byCategory(p pool) string     { return p.set + " " + p.category }

// grouped returns the pools of questions by their group, and the names of the groups in the order of the data.
func grouped(pools []pool, group func(p pool) string) (names []string, groups map[string][]pool) {
	groups = map[string][]pool{}
	for _, p := range pools {
		if p.category == "" {
			continue
		}
		name := group(p)
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], p)
	}
	return names, groups
}
