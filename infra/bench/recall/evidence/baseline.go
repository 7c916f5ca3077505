package evidence

import (
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/bench/recall/bm25"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
)

// BM25 scores the messages of each conversation by the question's words, those of equal score from the newest to the
// oldest. Its prompts are whole messages within the budget of a prompt.
func (b *Bench) BM25() []Found {
	found := b.score(b.byWords(), slices.Clone)
	for i := range found {
		share := found[i].Shares[cutoff.Prompt]
		found[i].Prompts = map[Place]PromptShares{{}: {share, share}}
	}
	return found
}

// WordPrompts returns for each case the messages that BM25 finds, best first, as many as are within the budget of a
// prompt.
func (b *Bench) WordPrompts() []string {
	texts := make([]string, len(b.Cases))
	for i, list := range b.byWords() {
		for _, m := range list {
			if (len(texts[i])+len(m.line))/cutoff.CharsPerToken > cutoff.PromptTokens {
				break
			}
			texts[i] += m.line
		}
	}
	return texts
}

// byWords ranks the messages of each case by the words of its question.
func (b *Bench) byWords() [][]ranked {
	messages, indexes := map[string][]ranked{}, map[string]*bm25.Index{}
	for _, c := range b.conversations() {
		var texts []string
		for _, s := range c.Sessions {
			for _, m := range s.Messages {
				messages[c.ID] = append(messages[c.ID], ranked{
					MessageID: b.ids[c.ID][m.ID], Content: m.Content,
					line: fmt.Sprintf("[%s] %s: %s\n", m.Timestamp.Format(time.DateOnly), m.Role, m.Content),
				})
				texts = append(texts, m.Content)
			}
		}
		indexes[c.ID] = bm25.New(texts)
	}
	lists := make([][]ranked, len(b.Cases))
	for i, c := range b.Cases {
		for _, n := range indexes[c.Conversation.ID].Search(c.Question.Text) {
			lists[i] = append(lists[i], messages[c.Conversation.ID][n])
		}
	}
	return lists
}
