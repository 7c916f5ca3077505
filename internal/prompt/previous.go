package prompt

import (
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/pack"
)

// previous says what came before the prompt, if it should have a stable prefix: the prompt of the session's last
// message.
func (o checkedRequest) previous(src *gather.Sources) pack.Previous {
	n := len(src.Own)
	if !o.recipe.StablePrefix || n == 0 {
		return pack.Previous{}
	}
	previous := pack.PreviousTurn(o.budget, src.Now.Sub(src.Own[n-1].Timestamp))
	previous.Asks, previous.FullWindow = asks(src), o.fullWindow(src)
	return previous
}

const (
	// askedProbability is how likely the best hit is what a message asks for that asks for something from elsewhere, and
	// plainProbability where the message is plainly a question for it. Of messages that go on with a chat, some reach it,
	// too: that costs tokens, and a question without its evidence an answer (docs/adr/0068).
	askedProbability, plainProbability = 0.15, 0.05
	// newest is how many of the user's last messages a prompt most likely has, so that nobody asks for them.
	newest = 20
)

// asks reports whether the message asks for something that was said elsewhere.
func asks(src *gather.Sources) bool {
	known := map[string]bool{}
	for _, m := range src.Timeline[max(len(src.Timeline)-newest, 0):] {
		known[m.ID] = true
	}
	best := 0.0
	for _, h := range src.Hits {
		if h.Message != nil && !known[h.Message.ID] || h.CheckIn != nil {
			best = max(best, h.Value())
		}
	}
	return src.Reference.Refers || src.Overview && len(src.Hits) > 0 || best >= askedProbability ||
		best >= plainProbability && src.Asked().Asks()
}

// longMessage is about how many tokens a message of recent_messages takes at most, and messageFrame what it takes
// besides its text.
const longMessage, messageFrame = 250, 4

// fullWindow is about what the session's messages and the current one take when their window is full, by those before
// this sitting, so that it stays the same while the sitting goes on. It is 0 where these are too few.
func (o checkedRequest) fullWindow(src *gather.Sources) int {
	window, began := o.scopingConfig().MaxMessages, src.History.SittingBegan()
	before := slices.DeleteFunc(slices.Clone(src.Own), func(m *conversation.Message) bool {
		return !m.Timestamp.Before(began)
	})
	if len(before) < window {
		return 0
	}
	tokens := 0
	for _, m := range before {
		tokens += min(m.Tokens, longMessage) + messageFrame
	}
	return tokens * (window + 1) / len(before)
}
