package prompt_test

import (
	"regexp"
	"strings"

	"github.com/throughline/throughline/internal/prompt"
)

// A shownMessage is one message as a prompt has it: which one it is, and what is written around it.
type shownMessage struct {
	id string
	// clock is the time in front of the message, heading the nearest heading or tag above it.
	clock, heading string
}

// shownSummary is one session's summary as a prompt has it, with the words or the tag in front of it.
type shownSummary struct{ id, heading, text string }

var (
	messageMark = regexp.MustCompile(`\b((?:s\d{2,3}|chat)\.\d{3})\b`)
	summaryMark = regexp.MustCompile(`\bsum\.(s\d{2,3}|chat)\b`)
	clockMark   = regexp.MustCompile(`^\[[^\]]*\b(\d\d:\d\d)\]`)
)

// readShown reads messages and summaries from a text, line by line. Headings are lines that begin with one of marks.
func readShown(text string, marks ...string) (messages []shownMessage, summaries []shownSummary) {
	heading := ""
	for line := range strings.SplitSeq(text, "\n") {
		for _, mark := range marks {
			if strings.HasPrefix(line, mark) {
				heading = line
			}
		}
		if !strings.Contains(line, ".") { // as each mark does
			continue
		}
		clock := ""
		if m := clockMark.FindStringSubmatch(line); m != nil {
			clock = m[1]
		}
		for _, m := range messageMark.FindAllString(line, -1) {
			messages = append(messages, shownMessage{id: m, clock: clock, heading: heading})
		}
		for _, m := range summaryMark.FindAllStringSubmatch(line, -1) {
			summaries = append(summaries, shownSummary{id: m[1], heading: heading, text: line})
		}
	}
	return messages, summaries
}

func ids(messages []shownMessage) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.id
	}
	return all
}

// roleMessages are the marks of the user's and the assistant's messages before the current one.
func roleMessages(p prompt.Prompt) []string {
	all := []string{}
	for _, m := range p.Messages[:len(p.Messages)-1] {
		if m.Role != "system" {
			all = append(all, messageMark.FindString(m.Content))
		}
	}
	return all
}

var attribute = regexp.MustCompile(`(\w+)="([^"]*)"`)

// attributesOf reads the attributes of a tag.
func attributesOf(tag string) map[string]string {
	all := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(tag, -1) {
		all[m[1]] = m[2]
	}
	return all
}
