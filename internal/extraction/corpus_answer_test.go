package extraction_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// answerOf returns an answer of the model, from notes of a file (testdata/README.md).
func answerOf(notes string) string {
	lists := map[string][]any{"facts": {}, "ended": {}, "forgetMessages": {}, "openLoops": {}, "closedLoops": {}}
	for line := range strings.Lines(notes) {
		line = strings.TrimSpace(line)
		if ids, ok := strings.CutPrefix(line, "forget "); ok {
			for id := range strings.SplitSeq(ids, ",") {
				lists["forgetMessages"] = append(lists["forgetMessages"], id)
			}
		} else if line != "" {
			list, item := parseNote(line)
			lists[list] = append(lists[list], item)
		}
	}
	text, err := json.Marshal(lists)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return string(text)
}

// parseNote reads a note: its kind, its words, and a text after "|".
func parseNote(line string) (list string, item map[string]any) {
	head, text, _ := strings.Cut(line, "|")
	words := strings.Fields(head)
	item = map[string]any{"content": strings.TrimSpace(text), "confidence": 0.9, "messageIds": []string{}}
	switch words[0] {
	case "fact":
		list = "facts"
		for _, name := range []string{"about", "from", "until", "safety", "repeats"} {
			item[name] = ""
		}
		item["status"], item["supersedes"] = "stated", []string{}
	case "end":
		list, item = "ended", map[string]any{"messageIds": []string{}}
	case "open":
		list, item["by"], item["due"], item["every"] = "openLoops", "user", "", ""
	case "close":
		list, item = "closedLoops", map[string]any{"messageIds": []string{}}
	default:
		panic(fmt.Sprintf("%q is no kind of note", words[0]))
	}
	for _, word := range words[1:] {
		setWord(item, word)
	}
	return list, item
}

// setWord sets what a word of a note says.
func setWord(item map[string]any, word string) {
	name, value, named := strings.Cut(word, "=")
	switch {
	case name == "supersedes" || name == "messageIds":
		item[name] = strings.Split(value, ",")
	case named:
		item[name] = strings.ReplaceAll(value, "_", " ")
	case word == "PROFILE" || word == "PEOPLE" || word == "PROJECT" || word == "MANNER":
		item["type"] = word
	case word == "health" || word == "danger":
		item["safety"] = word
	case word == "planned" || word == "reported":
		item["status"] = word
	case word == "assistant":
		item["by"] = word
	case word == "over" || word == "false" || word == "forgotten":
		item["reason"] = word
	case word == "done" || word == "dropped" || word == "moved":
		item["outcome"] = word
	case strings.HasPrefix(word, "m"):
		item["messageIds"] = strings.Split(word, ",")
	case strings.HasPrefix(word, "k") || strings.HasPrefix(word, "l"):
		item["id"] = word
	default:
		item["confidence"] = json.Number(word)
	}
}
