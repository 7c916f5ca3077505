package main

import (
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/bench/dataset"
)

// variant changes the data, to see what rests on the habits of one data set.
type variant string

const (
	original variant = "original"
	// merged joins every third message with the one before it, so that roles do not alternate.
	merged variant = "merged"
	// oneRole gives every message to the user.
	oneRole variant = "one role"
	// lower writes everything in lower case, so that no name is seen.
	lower variant = "lower case"
	// long puts four messages of one session into each.
	long variant = "four in one"
)

var variants = []variant{merged, oneRole, lower, long}

// utterance is a message with the ids of the messages of the file that are in it.
type utterance struct {
	dataset.Message
	ids []string
}

func (v variant) apply(messages []dataset.Message) []utterance {
	var out []utterance
	for i, m := range messages {
		u := utterance{m, []string{m.ID}}
		switch v {
		case oneRole:
			u.Role = "user"
		case lower:
			u.Content = strings.ToLower(u.Content)
		}
		joins := v == merged && i%3 == 1 || v == long && i%4 != 0
		if last := len(out) - 1; joins && last >= 0 {
			out[last].Content += "\n" + u.Content
			out[last].ids = slices.Concat(out[last].ids, u.ids)
			continue
		}
		out = append(out, u)
	}
	return out
}
