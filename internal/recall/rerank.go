package recall

import (
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// candidates is how many of the index's answers are ranked again at least: two batch reads of the table, side by side.
const candidates = 200

// What is added to a hit's likeness, in shares that were tuned on LoCoMo's development half.
const (
	// wordShare is of the words that it shares with the query, rare ones more, the best hit's being 1. The index cannot
	// know which words are rare with this user.
	wordShare = 0.7
	// beforeShare and behindShare are of the likeness of the message in front of it and of the one behind it: what is
	// asked for often stands beside what sounds like the question.
	beforeShare = 0.45
	behindShare = 0.55
	// wordForWord is for what is said just as it is asked, were it in common words alone, which no index tells apart.
	wordForWord = 1
)

// rerank ranks the messages and check-ins of a search again, among themselves.
func rerank(query string, hits []Hit) {
	var said []*Hit
	var texts []string
	for i := range hits {
		if h := &hits[i]; h.Message != nil || h.CheckIn != nil {
			said, texts = append(said, h), append(texts, h.text())
		}
	}
	words := lexical(query, texts)
	best := slices.Max(append(words, 0))
	asked := longterm.Normalize(query)
	own := make(map[beside]float64, len(said))
	for i, h := range said {
		h.Rank = h.Score
		if best > 0 {
			h.Rank += wordShare * words[i] / best
		}
		if h.Message != nil {
			own[besideOf(*h.Message, 0)] = h.Rank
		}
		if said := h.content(); len(said) <= 4*len(asked) && longterm.Normalize(said) == asked {
			h.Rank += wordForWord
		}
	}
	for _, h := range said {
		if h.Message != nil {
			h.Rank += max(0, beforeShare*own[besideOf(*h.Message, -1)], behindShare*own[besideOf(*h.Message, 1)])
		}
	}
}

// content is what was said or noted.
func (h Hit) content() string {
	if h.Message != nil {
		return h.Message.Content
	}
	return h.CheckIn.Note
}

// text is what a hit is compared with the query by.
func (h Hit) text() string {
	if h.Message != nil {
		return messageText(*h.Message, h.Message.Content, "")
	}
	return checkInText(*h.CheckIn)
}

// beside is a place in a session.
type beside struct {
	context, session string
	seq              int
}

func besideOf(m conversation.Message, by int) beside {
	return beside{m.Context, m.SessionID, m.Seq + by}
}
