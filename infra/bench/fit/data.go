package main

import (
	"slices"
	"strconv"
	"strings"
)

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
