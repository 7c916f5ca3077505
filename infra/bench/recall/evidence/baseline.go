package evidence

import (
	"slices"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/bm25"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
)

// BM25 scores the messages of each conversation by the question's words, those of equal score from the newest to the
// oldest. Its prompts are whole messages within the budget of a prompt.
func (b *Bench) BM25() []Found {
	messages, indexes := map[string][]ranked{}, map[string]*bm25.Index{}
	for _, c := range b.conversations() {
		messages[c.ID] = b.messages(c)
		texts := make([]string, len(messages[c.ID]))
		for i, m := range messages[c.ID] {
			texts[i] = m.Content
		}
		indexes[c.ID] = bm25.New(texts)
	}
	lists := make([][]ranked, len(b.Cases))
	for i, c := range b.Cases {
		for _, n := range indexes[c.Conversation.ID].Search(c.Question.Text) {
			lists[i] = append(lists[i], messages[c.Conversation.ID][n])
		}
	}
	found := b.score(lists, slices.Clone)
	for i := range found {
		share := found[i].Shares[cutoff.Prompt]
		found[i].Prompts = map[Place]PromptShares{{}: {share, share}}
	}
	return found
}

// messages returns the messages of a conversation with their ids in the stack.
func (b *Bench) messages(c *dataset.Conversation) []ranked {
	out := make([]ranked, 0, c.Messages())
	for _, s := range c.Sessions {
		for _, m := range s.Messages {
			out = append(out, ranked{MessageID: b.ids[c.ID][m.ID], Content: m.Content})
		}
	}
	return out
}
