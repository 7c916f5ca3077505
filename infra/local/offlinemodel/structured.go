package offlinemodel

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// The response formats that this model knows more of than their schema.
const (
	summaryFormat    = "session_summary"
	extractionFormat = "memory_extraction"
)

// structured answers a request for JSON of a schema with a value that the schema allows. The schema was read once
// already when the request was checked.
func (s *server) structured(request *chatRequest) string {
	format := request.ResponseFormat.JSONSchema
	root, err := parseSchema(format.Schema)
	if err != nil {
		panic(err) // validate has read it
	}
	at := lastUserMessage(request.Messages)
	if at == len(request.Messages) {
		at--
	}
	t := readTranscript(request.Messages[at].text())
	wish, hint := map[string]any{}, s.hints(request, t)
	switch format.Name {
	case summaryFormat:
		wish = s.summaryWish(t)
	case extractionFormat:
		wish, hint = s.extract(t), nil // what was not said is left empty
	}
	return marshalText(newInstance(root, hint).value(root, wish, 0))
}

// marshalText renders JSON without escaping what only HTML would need escaped.
func marshalText(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // an instance holds only JSON values
	}
	return strings.TrimRight(out.String(), "\n")
}

// Which sentences belong in a list, by the list's name.
var listKinds = []struct{ name, sentence *regexp.Regexp }{
	{regexp.MustCompile(`(?i)win|progress|achiev|complet`), regexp.MustCompile(`(?i)\b(did|finished|managed|hit|completed|achieved|made it|won|best|record|pr|improved)\b`)},
	{regexp.MustCompile(`(?i)struggl|problem|challenge|blocker|pain`), regexp.MustCompile(`(?i)\b(hurts?|pain|sore|struggl\w*|hard|can't|cannot|tired|injur\w*|missed|skipped|stress\w*|worr\w*)\b`)},
	{regexp.MustCompile(`(?i)pattern|habit`), regexp.MustCompile(`(?i)\b(always|usually|every|keep|often|never|each|mornings?|evenings?|weekends?)\b`)},
	{regexp.MustCompile(`(?i)decision|change|agree`), regexp.MustCompile(`(?i)\b(swap\w*|chang\w*|replac\w*|switch\w*|decid\w*|agree\w*|want|instead)\b`)},
}

// hints fill the properties that no format above speaks of: lists by their names, texts with a summary of what the
// request says. Numbers, flags and what may be null stay at the least.
func (s *server) hints(request *chatRequest, t transcript) func(string, *schema) any {
	const textBytes = 300
	if len(t.turns) == 0 && t.previous == "" {
		t.turns = []turn{{role: "user", text: request.Messages[len(request.Messages)-1].text()}}
	}
	digest := sync.OnceValue(func() digest { return s.summarize(t) })
	return func(name string, property *schema) any {
		switch property.kind(nil) {
		case "array":
			return hintList(name, property, t, digest)
		case "string":
			return clip(digest().text, textBytes)
		default:
			return nil
		}
	}
}

func hintList(name string, property *schema, t transcript, digest func() digest) any {
	const length = 3
	if property.Items == nil || property.Items.kind("") != "string" {
		return nil
	}
	if topicList.MatchString(name) {
		return asList(digest().terms, length*2)
	}
	for _, kind := range listKinds {
		if kind.name.MatchString(name) {
			return asList(userSentences(t, kind.sentence), length)
		}
	}
	return nil
}

var topicList = regexp.MustCompile(`(?i)topic|tag|keyword|term|entit`)

// userSentences are the user's sentences that match, in their order.
func userSentences(t transcript, match *regexp.Regexp) []string {
	var sentences []string
	for _, turn := range t.turns {
		if turn.role != "user" {
			continue
		}
		for _, sentence := range splitSentences(turn.text) {
			if match.MatchString(sentence) && !strings.HasSuffix(sentence, "?") {
				sentences = append(sentences, clip(oneLine(sentence), maxQuoteBytes))
			}
		}
	}
	return sentences
}

func asList(texts []string, limit int) []any {
	list := []any{}
	for _, text := range texts[:min(len(texts), limit)] {
		list = append(list, text)
	}
	return list
}
