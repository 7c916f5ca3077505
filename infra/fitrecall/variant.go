package main

import (
	"fmt"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
)

// variant changes the data, to see what rests on the habits of this one data set.
type variant string

const (
	original variant = "original"
	// merged joins every second pair of turns of the two speakers into one message, so that roles do not alternate.
	merged variant = "merged"
	// oneRole gives every message to the user.
	oneRole variant = "one-role"
	// named begins each text with the speaker's name, in one role.
	named variant = "named"
	// lower writes everything in lower case, so that no name is seen.
	lower variant = "lower-case"
	// long puts four turns of one session into each message.
	long variant = "long"
)

var variants = []variant{original, merged, oneRole, named, lower, long}

// utterance is the content of one message, with the ids of the turns in it.
type utterance struct {
	role  conversation.Role
	text  string
	turns []string
}

func (v variant) apply(turns []turn, user string) []utterance {
	var out []utterance
	for i, t := range turns {
		u := utterance{conversation.Assistant, t.Text, []string{t.ID}}
		if t.Speaker == user {
			u.role = conversation.User
		}
		if t.Caption != "" {
			u.text = fmt.Sprintf("%s [shares a picture: %s]", t.Text, t.Caption)
		}
		join := false
		switch v {
		case merged:
			join = i%3 == 1
		case oneRole:
			u.role = conversation.User
		case named:
			u.role, u.text = conversation.User, t.Speaker+": "+u.text
		case lower:
			u.text = strings.ToLower(u.text)
		case long:
			join = i%4 != 0
		}
		if join && len(out) > 0 {
			last := &out[len(out)-1]
			last.text, last.turns = last.text+"\n"+u.text, append(last.turns, t.ID)
			continue
		}
		out = append(out, u)
	}
	return out
}
