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

// samplesOf returns the conversations of a data set, changed by the variant.
func samplesOf(set dataset.Set, v variant) []sample {
	samples := make([]sample, len(set.Conversations))
	for n, c := range set.Conversations {
		s := sample{set: set.Name, id: c.ID}
		places := map[string]string{} // the message that a message of the file went into
		for _, session := range c.Sessions {
			s.addSession(session, v.apply(session.Messages), places)
		}
		for _, q := range c.Questions {
			asked := question{text: q.Text, category: cmp.Or(q.Category, "question"), evidence: map[string]bool{}}
			for _, id := range q.Evidence {
				asked.evidence[places[id]] = true
			}
			s.questions = append(s.questions, asked)
		}
		samples[n] = s
	}
	return samples
}

func (s *sample) addSession(session dataset.Session, said []utterance, places map[string]string) {
	for i, u := range said {
		id := fmt.Sprintf("%s-%s-%d", s.id, session.ID, i+1)
		for _, original := range u.ids {
			places[original] = id
		}
		s.messages = append(s.messages, conversation.Message{
			ID: id, Seq: i + 1, SessionID: session.ID, Context: session.Context, CoachID: "coach",
			Role: conversation.Role(u.Role), Content: u.Content, Timestamp: u.Timestamp,
		})
	}
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
