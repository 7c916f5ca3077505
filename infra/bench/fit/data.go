package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// The groups that questions are reported by.
func bySet(p pool) string      { return p.set }
func byCategory(p pool) string { return p.set + " " + p.category }

// labelled returns the pools without those of questions whose evidence is guessed: where a source names only the chat
// or the session of an answer, it is the message that shares most words with question and answer. BM25 finds that one
// by definition, and weights that are fitted on such labels learn to do the same.
func labelled(pools []pool) []pool {
	return slices.DeleteFunc(slices.Clone(pools), func(p pool) bool {
		return strings.HasSuffix(p.category, "+chat") || p.category == "session label"
	})
}

// leastQuestions is how many labelled questions a kind of data needs for weights to be fitted on it. As each kind
// counts the same, a single question of a smaller one would count as ten of another.
const leastQuestions = 100

// enough returns the pools without those of kinds that have too few questions, unless all have.
func enough(pools []pool) []pool {
	_, kinds := grouped(pools, byKind)
	kept := slices.DeleteFunc(slices.Clone(pools), func(p pool) bool { return len(kinds[byKind(p)]) < leastQuestions })
	if len(kept) == 0 {
		return pools
	}
	return kept
}

// byKind groups data sets of one kind: "lifebench-en" and "lifebench-zh" have the same lives in two languages. Weights
// that have not seen one must not have seen the other.
func byKind(p pool) string {
	kind, _, _ := strings.Cut(p.set, "-")
	return kind
}

// byPerson groups the conversations of one person: those whose ids differ in a number or a language only, such as
// "lifebench_en_ann" and "lifebench_zh_ann", or "realmem_ann_1" and "realmem_ann_2".
func byPerson(p pool) string {
	parts := strings.Split(p.conversation, "_")
	return byKind(p) + "/" + strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		_, err := strconv.Atoi(part)
		return err == nil || part == "en" || part == "zh"
	}), "_")
}

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
