package offlinemodel

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// The limits of what an answer quotes.
const (
	maxQuotes     = 3
	maxQuoteBytes = 260
	maxEchoBytes  = 100
	// related is the share of the question's weight that a passage needs to count as an answer.
	related = 0.18
	// conceptRelated is the weight of a shared field of meaning. A shared word weighs about 1.
	conceptRelated = 0.35
)

// composer writes answers out of the prompt that it is given.
type composer struct {
	lex        *lexicon
	summarizer *summarizer
}

func newComposer(lex *lexicon) *composer {
	return &composer{lex: lex, summarizer: &summarizer{lex: lex, writer: writer{lex: lex}}}
}

// chat answers the last user message from the rest of the prompt, or asks for a search.
func (c *composer) chat(request *chatRequest) answer {
	p := readPrompt(request.Messages)
	query := c.lex.topic(p.query)
	found := c.rank(p.passages, query)
	if call := c.callTool(request, p, len(found) > 0); call != nil {
		return answer{call: call}
	}
	return answer{text: strings.Join(c.phrases(p, query, found), " ")}
}

// phrases returns the sentences of an answer: what was asked, what the prompt says about it, and what is not known.
func (c *composer) phrases(p prompt, query topic, found []passage) []string {
	said := []string{ownMark, echo(p.query)}
	var recent []passage
	if query.forward {
		recent = elsewhere(p.passages, found)
	}
	if len(query.stems) == 0 && len(found) == 0 {
		found = searched(p.passages)
	}
	switch {
	case len(query.stems) == 0 && len(found) == 0 && !query.forward:
		return append(said, "I'm here. Ask me about your plan, your training or anything you told me before.")
	case len(found) == 0 && len(recent) > 0:
		found, recent = recent, nil
		said = append(said, "From what I know: "+quote(found))
	case len(found) == 0 && p.searched:
		said = append(said, "I searched our conversations and found nothing about that.")
	case len(found) == 0:
		said = append(said, "I found nothing related to that in what I know about you.")
	default:
		said = append(said, "From what I know: "+quote(found))
	}
	if len(recent) > 0 {
		said = append(said, "Lately, elsewhere: "+quote(recent))
	}
	if slices.ContainsFunc(append(found, recent...), func(q passage) bool { return intention.MatchString(q.text) }) {
		said = append(said, "That was talked about; whether it was done I can't tell from here.")
	}
	return said
}

// intention matches how people speak of what they have not done yet.
var intention = regexp.MustCompile(`(?i)\b(swap|chang|replac|switch|want|would like|plan(s|ned|ning)? to|going ` +
	`to|instead|thinking|could|should|discuss)`)

func echo(query string) string {
	verb := "You said"
	if strings.Contains(query, "?") {
		verb = "You asked"
	}
	if query == "" {
		return "Hello."
	}
	return verb + `: "` + clip(oneLine(query), maxEchoBytes) + `"`
}

func quote(passages []passage) string {
	quotes := make([]string, len(passages))
	for i, p := range passages {
		quotes[i] = `"` + clip(strings.Trim(p.text, "\". "), maxQuoteBytes) + `"`
		if p.label != "" {
			quotes[i] = "[" + clip(p.label, maxEchoBytes) + "]: " + quotes[i]
		}
	}
	return strings.Join(quotes, "; ") + "."
}

// topic is what a question is about.
type topic struct {
	stems   []string // distinct
	fields  map[int]bool
	total   float64 // weight of all stems
	forward bool    // it concerns the user's plans or days, to which recent activity belongs
}

// planning holds the stems of questions about the user's plans or days.
var planning = map[string]bool{
	"today": true, "tomorrow": true, "tonight": true, "next": true, "week": true, "session": true, "workout": true,
	"program": true, "plan": true, "train": true, "exercis": true, "routin": true, "schedul": true, "continu": true,
	"gym": true, "recent": true, "late": true, "discuss": true, "talk": true,
}

// speech holds the stems for talking itself. In a question about a conversation they are not its topic.
var speech = map[string]bool{
	"say": true, "tell": true, "talk": true, "discuss": true, "mention": true, "rememb": true, "ask": true, "speak": true,
	"decid": true, "know": true, "last": true, "time": true, "recal": true, "remind": true, "agre": true,
}

func (lex *lexicon) topic(query string) topic {
	t := topic{fields: map[int]bool{}}
	stems, _ := lex.topicStems(query)
	for _, stem := range stems {
		t.forward = t.forward || planning[stem]
		if slices.Contains(t.stems, stem) || lex.stop[stem] || speech[stem] {
			continue
		}
		const longest = 200 // a question that long needs no more to find its passages
		if len(t.stems) == longest {
			break
		}
		t.stems = append(t.stems, stem)
		t.total += lex.weight(stem)
		for _, field := range lex.concepts[stem] {
			t.fields[field] = true
		}
	}
	return t
}

// rank returns the passages that are related to the question, at most maxQuotes, best first. Equal ones keep their
// order.
func (c *composer) rank(passages []passage, query topic) []passage {
	type scored struct {
		passage
		score float64
	}
	stemsOf := make([]map[string]bool, len(passages))
	frequency := map[string]int{}
	for i, p := range passages {
		stemsOf[i] = c.lex.stemSet(p.text)
		for stem := range stemsOf[i] {
			frequency[stem]++
		}
	}
	rarity := func(stem string) float64 {
		return math.Log(1 + float64(1+len(passages))/float64(1+frequency[stem]))
	}
	var found []scored
	for i, p := range passages {
		share, score := c.relation(query, stemsOf[i], rarity)
		if share*min(1, p.trust) >= related {
			found = append(found, scored{p, score * p.trust / math.Sqrt(8+float64(len(stemsOf[i])))})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var best []passage
	for _, f := range found[:min(len(found), maxQuotes)] {
		const tail = 0.4 // of the best score; what is weaker only distracts
		if f.score >= tail*found[0].score {
			best = append(best, f.passage)
		}
	}
	return best
}

// relation compares a passage with the question. share is the part of the question's weight that the passage has.
// In score, words that are rare in this prompt count more.
func (c *composer) relation(query topic, stems map[string]bool, rarity func(string) float64) (share, score float64) {
	if query.total == 0 {
		return 0, 0
	}
	for _, stem := range query.stems {
		if stems[stem] {
			weight := c.lex.weight(stem)
			share += weight
			score += weight * rarity(stem)
		}
	}
	shared := map[int]bool{}
	for stem := range stems {
		for _, field := range c.lex.concepts[stem] {
			shared[field] = shared[field] || query.fields[field] && !slices.Contains(query.stems, stem)
		}
	}
	for _, yes := range shared {
		if yes {
			share += conceptRelated
			score += conceptRelated
		}
	}
	return share / query.total, score
}

// stemSet returns a text's topic stems without stop words.
func (lex *lexicon) stemSet(text string) map[string]bool {
	set := map[string]bool{}
	stems, _ := lex.topicStems(text)
	for _, stem := range stems {
		if !lex.stop[stem] {
			set[stem] = true
		}
	}
	return set
}

// searched returns the first results of a search, for a question without a topic.
func searched(passages []passage) []passage {
	var first []passage
	for _, p := range passages {
		if p.source == fromTool && len(first) < maxQuotes {
			first = append(first, p)
		}
	}
	return first
}

// elsewhere returns the newest passages about other contexts that are not quoted yet. Prompts list the newest first.
func elsewhere(passages, quoted []passage) []passage {
	var recent []passage
	for _, p := range passages {
		if p.source == fromActivity && len(recent) < 2 && !slices.Contains(quoted, p) {
			recent = append(recent, p)
		}
	}
	return recent
}

// searchTool is the tool that prompts offer for finding older conversations.
const searchTool = "search_conversations"

// aboutPast matches questions about the past.
var aboutPast = regexp.MustCompile(`(?i)\b(did (i|we|you)|have i|had i|was i|were we|what (was|were)|when (did|` +
	`was)|remember|remind me what|last (time|week|month|year)|before|earlier|previous(ly)?|ago|(i|we) (said|told|` +
	`talked|discussed|mentioned|decided|agreed)|told you|as we|like we|ever|back when|where we left)\b`)

// callTool returns a call of a tool, or nil. It calls the tool that the request demands, or searches where a question
// about the past has no answer in the prompt. It searches once for a question.
func (c *composer) callTool(request *chatRequest, p prompt, known bool) *toolCall {
	choice := request.ToolChoice
	switch {
	case len(request.Tools) == 0 || choice.mode == "none" || p.searched:
		return nil
	case choice.function != "":
		return c.newCall(request.tool(choice.function), p.query)
	case choice.mode == "required" && request.tool(searchTool) == nil:
		return c.newCall(&request.Tools[0], p.query)
	case choice.mode == "required", !known && request.tool(searchTool) != nil && aboutPast.MatchString(p.query):
		return c.newCall(request.tool(searchTool), p.query)
	default:
		return nil
	}
}

// newCall fills a tool's parameters: the query with the question's topic words, everything else with its least value.
func (c *composer) newCall(t *tool, query string) *toolCall {
	arguments := "{}"
	if len(t.Function.Parameters) > 0 {
		parameters, err := parseSchema(t.Function.Parameters)
		if err != nil {
			panic(err) // validate has read it
		}
		arguments = marshalText(parameters.build(map[string]any{}, func(name string, _ *schema) any {
			if name == "query" {
				return c.searchWords(query)
			}
			return nil
		}))
	}
	return &toolCall{
		ID:       fmt.Sprintf("call_%016x", hash(t.Function.Name+"\x00"+query)),
		Type:     "function",
		Function: functionCall{Name: t.Function.Name, Arguments: arguments},
	}
}

// searchWords returns the question's topic words, or the whole question when it has none.
func (c *composer) searchWords(query string) string {
	const longest = 300
	var words []string
	for _, w := range splitWords(query) {
		if !c.lex.stop[w.lower] && w.kind != vocativeWord {
			words = append(words, query[w.start:w.end])
		}
	}
	if len(words) == 0 {
		return clip(oneLine(query), longest)
	}
	return clip(strings.Join(words, " "), longest)
}
