package prompt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/recall/rank"
)

// Item is the manifest's line for one item: ids and decisions, never its text.
type Item struct {
	Kind       string  `json:"kind" doc:"What the item is, such as message, memory or summary."`
	ID         string  `json:"id" doc:"The id of the record."`
	SessionID  string  `json:"sessionId,omitempty" doc:"The id of the session."`
	Context    string  `json:"context,omitempty" doc:"The context of the session."`
	OccurredAt string  `json:"occurredAt,omitempty" doc:"When it was said, or when the summary ends."`
	Tokens     int     `json:"tokens" doc:"The number of tokens."`
	Score      float64 `json:"score,omitempty" doc:"How well it fits the query; greater is better. Scores of different answers cannot be compared."`
	// Features are the parts of a score of recall. With the intercept they add up to the logarithm of its odds.
	Features rank.Contributions `json:"features,omitempty"`
	Decision pack.Decision      `json:"decision" doc:"What became of the item: included, trimmed (cut to fit) or dropped."`
	// Reason says why, in plain words.
	Reason string `json:"reason" doc:"Why, in words."`
}

// Block is the manifest's record of one block. Tokens and Chars are what it takes of the prompt, its heading included.
// Cap says its limits in words; it is empty if there are none.
type Block struct {
	Name   string `json:"name" doc:"The name of the block."`
	Tokens int    `json:"tokens" doc:"The number of tokens."`
	Chars  int    `json:"chars" doc:"The characters of the block."`
	Cap    string `json:"cap" doc:"The block's own limit."`
	// Cacheable is true for a block before all that changes with each turn: a prompt of the session's next turn may begin
	// with the same text. Of such a block, what came up after the sitting began may be written after the session's
	// messages.
	Cacheable bool   `json:"cacheable" doc:"Whether the block is in the part of the prompt that hardly changes from turn to turn."`
	Items     []Item `json:"items" doc:"The items of the block, those that were left out too."`
}

// Manifest is the record of one prompt: every block and item and its decision, the sources that were missing,
// warnings, and how many milliseconds each source took.
type Manifest struct {
	Blocks   []Block              `json:"blocks" doc:"The blocks of the prompt, in the order in which they are written."`
	Degraded []recall.Degradation `json:"degraded" doc:"The sources that were missing, and why."`
	Warnings []string             `json:"warnings" doc:"What the reader of the manifest should know."`
	Timings  map[string]float64   `json:"timings" doc:"How long each source took, in milliseconds."`
}

// warnShare is the percentage of the budget above which the system blocks cause a warning (prompt-assembly-map,
// "Smallest 3 Improvements", 3).
const warnShare = 80

// newManifest describes a prompt: every block as it is written, every item and its decision. costs are what the blocks
// of the packing take.
func (o checkedRequest) newManifest(src *gather.Sources, packing pack.Packing, costs []pack.Cost) Manifest {
	m := Manifest{
		Blocks: make([]Block, 0, len(packing.Blocks)), Degraded: o.degraded(src),
		Warnings: append([]string{}, src.Warnings...), Timings: map[string]float64{},
	}
	system, cacheable := 0, true
	for i, b := range packing.Blocks {
		slot, _ := o.recipe.slot(b.Block)
		cacheable = cacheable && !o.recipe.changesEachTurn(b)
		m.addBlock(b, newBlock(b, packing.Frames, costs[i], cacheable, slot.Cap))
		if b.Block == block.Current || slot.Style.Message {
			continue // the model gets these as messages, and not as text of the system
		}
		system += costs[i].Tokens
		m.addWarnings(b, costs[i].Tokens)
	}
	if system*100 > o.budget.Tokens*warnShare {
		m.Warnings = append(m.Warnings, fmt.Sprintf("the system blocks take %d of %d tokens, more than %d%% of the budget",
			system, o.budget.Tokens, warnShare))
	}
	for source, took := range src.Timings {
		m.Timings[source] = math.Round(float64(took)/float64(10*time.Microsecond)) / 100
	}
	return m
}

// degraded returns what the sources lack for this prompt, never nil.
func (o checkedRequest) degraded(src *gather.Sources) []recall.Degradation {
	out := append([]recall.Degradation{}, src.Degraded...)
	if src.HasLongTerm && src.Snapshot.Profile == nil && o.recipe.NeedsProfile {
		out = append(out, recall.Degradation{Source: "profile", Reason: "profile missing"})
	}
	if src.Access.NotMigrated || !src.Session.IsMigrated() {
		out = append(out, recall.NotMigrated)
	}
	return out
}

// addBlock adds a block. The fresh items of a block are added to what the manifest has of it.
func (m *Manifest) addBlock(b *pack.Block, record Block) {
	if !b.Fresh {
		m.Blocks = append(m.Blocks, record)
		return
	}
	i := slices.IndexFunc(m.Blocks, func(of Block) bool { return of.Name == record.Name })
	of := &m.Blocks[i]
	of.Tokens, of.Chars, of.Items = of.Tokens+record.Tokens, of.Chars+record.Chars, append(of.Items, record.Items...)
}

// addWarnings warns of a required block that takes more than its share, and of protected items that are left out or
// cut.
func (m *Manifest) addWarnings(b *pack.Block, tokens int) {
	if b.Required && b.MaxTokens > 0 && tokens > b.MaxTokens {
		m.Warnings = append(m.Warnings,
			fmt.Sprintf("%s takes %d tokens; its share is %d", b.Block, tokens, b.MaxTokens))
	}
	left := 0
	for i := range b.Items {
		if b.Items[i].Decision != pack.Included {
			left++
		}
	}
	if b.Protected && left > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%d of %d in %s are left out or cut", left, len(b.Items), b.Block))
	}
}

// changesEachTurn reports whether a block's text depends on the current message or on the time.
func (r Recipe) changesEachTurn(b *pack.Block) bool {
	switch b.Block {
	case block.Now, block.RelevantMemories, block.Timeline, block.RelevantMessages, block.Current:
		return true
	case block.Activity, block.Thread, block.SessionSummaries:
		return !r.StablePrefix || b.Volatile
	}
	return b.Volatile
}

func newBlock(b *pack.Block, frames map[*choose.Group]pack.Cost, cost pack.Cost, cacheable bool, c Cap) Block {
	out := Block{
		Name: b.Block, Tokens: cost.Tokens, Chars: cost.Chars, Cap: capText(b, c), Cacheable: cacheable, Items: []Item{},
	}
	known := map[*choose.Group]bool{}
	for i := range b.Items {
		item := &b.Items[i]
		switch {
		case item.Group == nil, item.Group.Listed:
			out.Items = append(out.Items, newItem(item))
		case !known[item.Group]:
			known[item.Group] = true
			out.Items = append(out.Items, newGroup(b, item.Group, frames[item.Group]))
		}
	}
	return out
}

func newItem(i *pack.Item) Item {
	item := Item{
		Kind: i.Kind, ID: i.ID, SessionID: i.SessionID, Context: i.Context, Tokens: i.Cost.Tokens,
		Score: math.Round(i.Score*1e4) / 1e4, Decision: i.Decision, Reason: i.Reason,
	}
	if i.Features != nil && i.In() {
		item.Score, item.Features = math.Round(i.Score*1e6)/1e6, i.Features
	}
	if item.Tokens == 0 {
		item.Tokens = cmp.Or(i.Tokens, (len(i.Text)+3)/4) // what is out and was never counted is estimated
	}
	if !i.At.IsZero() {
		item.OccurredAt = conversation.FormatTime(i.At)
	}
	return item
}

// newGroup is one line for a conversation: how many of its messages are in the prompt, and why the others are not.
func newGroup(b *pack.Block, g *choose.Group, frame pack.Cost) Item {
	item := Item{
		Kind: g.Kind, ID: g.ID, SessionID: g.SessionID, Context: g.Context, Decision: pack.Dropped,
		OccurredAt: conversation.FormatTime(g.Began), Tokens: frame.Tokens,
	}
	total, in, out := 0, 0, ""
	for i := range b.Items {
		of := &b.Items[i]
		if of.Group != g {
			continue
		}
		total++
		if of.In() {
			in++
			item.Tokens += of.Cost.Tokens
		} else {
			out = cmp.Or(out, of.Reason)
		}
	}
	switch {
	case in == total && g.Kind == choose.KindSummary:
		item.Decision, item.Reason = pack.Included, "its summary"
	case in == total && g.Unread != "":
		item.Decision = pack.Trimmed
		item.Reason = fmt.Sprintf("its last %s; those before were not read: %s", calendar.Count(total, "message"), g.Unread)
	case in == total:
		item.Decision, item.Reason = pack.Included, "all of its "+calendar.Count(total, "message")
	case in > 0 && g.Unread != "":
		item.Decision = pack.Trimmed
		item.Reason = fmt.Sprintf("%d of its last %d messages; the others: %s; those before were not read: %s",
			in, total, out, g.Unread)
	case in > 0:
		item.Decision, item.Reason = pack.Trimmed, fmt.Sprintf("%d of its %d messages; the others: %s", in, total, out)
	default:
		item.Reason = out
	}
	return item
}

// capText says a block's limits in words.
func capText(b *pack.Block, c Cap) string {
	var words []string
	if c.Items > 0 {
		words = append(words, fmt.Sprintf("%d items", c.Items))
	}
	if c.Chars > 0 {
		words = append(words, fmt.Sprintf("%d characters each", c.Chars))
	}
	if b.MaxTokens > 0 {
		tokens := fmt.Sprintf("%d tokens", b.MaxTokens)
		if c.FillRest && !b.Capped {
			tokens += " and what the budget leaves"
		}
		words = append(words, tokens)
	}
	return strings.Join(words, ", ")
}
