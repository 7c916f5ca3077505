package offlinemodel

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
)

// How an answer quotes.
const (
	maxQuotes     = 3
	maxQuoteBytes = 260
	maxEchoBytes  = 100
	// related is the share of the question's weight that a passage must bear to count as an answer to it.
	related = 0.18
	// conceptRelated is what a shared field of meaning counts against a shared word.
	conceptRelated = 0.35
)

// chat answers the last user message from the rest of the prompt, or asks for a search.
func (s *server) chat(request *chatRequest) answer {
	p := readPrompt(request.Messages)
	query := s.lex.topic(p.query)
	found := s.rank(p.passages, query)
	if call := s.callTool(request, p, len(found) > 0); call != nil {
		return answer{call: call}
	}
	return answer{text: strings.Join(s.phrases(p, query, found), " ")}
}

// phrases are the sentences of an answer: what was asked, what it rests on, and what is not known.
func (s *server) phrases(p prompt, query topic, found []passage) []string {
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

// intention is how people speak of what they have not done yet.
var intention = regexp.MustCompile(`(?i)\b(swap|chang|replac|switch|want|would like|plan(s|ned|ning)? to|going to|instead|thinking|could|should|discuss)`)

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

// planning are the stems that make a question concern the user's plans or days.
var planning = map[string]bool{
	"today": true, "tomorrow": true, "tonight": true, "next": true, "week": true, "session": true, "workout": true,
	"program": true, "plan": true, "train": true, "exercis": true, "routin": true, "schedul": true, "continu": true,
	"gym": true, "recent": true, "late": true, "discuss": true, "talk": true,
}

// speech are the stems for talking itself: in a question about a conversation they name no topic.
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

// rank returns the passages that bear on the question, best first and equal ones in their order, at most maxQuotes.
func (s *server) rank(passages []passage, query topic) []passage {
	type scored struct {
		passage
		score float64
	}
	stemsOf := make([]map[string]bool, len(passages))
	frequency := map[string]int{}
	for i, p := range passages {
		stemsOf[i] = s.lex.stemSet(p.text)
		for stem := range stemsOf[i] {
			frequency[stem]++
		}
	}
	rarity := func(stem string) float64 {
		return math.Log(1 + float64(1+len(passages))/float64(1+frequency[stem]))
	}
	var found []scored
	for i, p := range passages {
		share, score := s.relation(query, stemsOf[i], rarity)
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

// relation compares a passage with the question: the share of the question's weight that it bears, and a score that
// counts words rare in this prompt for more.
func (s *server) relation(query topic, stems map[string]bool, rarity func(string) float64) (share, score float64) {
	if query.total == 0 {
		return 0, 0
	}
	for _, stem := range query.stems {
		if stems[stem] {
			weight := s.lex.weight(stem)
			share += weight
			score += weight * rarity(stem)
		}
	}
	met := map[int]bool{}
	for stem := range stems {
		for _, field := range s.lex.concepts[stem] {
			met[field] = met[field] || query.fields[field] && !slices.Contains(query.stems, stem)
		}
	}
	for _, yes := range met {
		if yes {
			share += conceptRelated
			score += conceptRelated
		}
	}
	return share / query.total, score
}

// stemSet returns a text's topic stems, without stop words.
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

// searched returns what a search brought first, for a question that names no topic.
func searched(passages []passage) []passage {
	var first []passage
	for _, p := range passages {
		if p.source == fromTool && len(first) < maxQuotes {
			first = append(first, p)
		}
	}
	return first
}

// elsewhere returns the newest passages about other contexts that are not quoted yet. Prompts name the newest first.
func elsewhere(passages, quoted []passage) []passage {
	var recent []passage
	for _, p := range passages {
		if p.source == fromActivity && len(recent) < 2 && !slices.Contains(quoted, p) {
			recent = append(recent, p)
		}
	}
	return recent
}
