package prompt

import (
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
)

// ordered returns the blocks in the order in which they are written.
func (r Recipe) ordered(blocks []*block) []*block {
	if r.Order == nil {
		return blocks
	}
	sorted := slices.Clone(blocks)
	slices.SortStableFunc(sorted, func(a, b *block) int {
		return slices.Index(r.Order, a.slot.Block) - slices.Index(r.Order, b.slot.Block)
	})
	return sorted
}

// The names of the recipes.
const (
	Unified         = "unified"
	WorkingContext  = "working-context"
	ContextFormat   = "context-format"
	ContextFormat05 = "context-format@0.5"
	TieredHistory   = "tiered-history"
	BlockMap        = "block-map"
)

// Recipe is one way to build a prompt. It is data: to add one is to add an entry to Recipes.
type Recipe struct {
	Name string
	// Specification says which document it follows.
	Specification string
	// Budget is the default budget.
	Budget cost
	// MessageApart leaves the current message out of the default budget (design 2, context-format). A budget that a
	// request names is for everything.
	MessageExcluded bool
	// Role, where set, is the role text of requests that name none; else the coach's persona is.
	Role string
	// Rules stand behind the role; Instruction is the recipe's last word.
	Rules, Instruction string
	// TellEmail tells the profile's address too.
	IncludeEmail bool
	// Format writes the prompt.
	Format *Format
	// Scoping names the strategy that chooses recent_messages: LastN, TokenWindow or Compaction; empty means LastN.
	// Slots that choose for themselves, as context-format's do, don't ask it.
	Scoping string
	// Reads is how much it asks of the sources.
	Reads Reads
	// Slots are its blocks, the most valuable first: dropping starts at the other end.
	Slots []Slot
	// Order, where set, is the order in which blocks are written and accounted for, where it is another than that of
	// value.
	Order []string
	// Tools name what the model is offered; the instruction block accounts for their tokens.
	Tools []string
}

// Reads is how much a recipe asks of each source. It is the same for every length of history, so that neither cost nor
// time grows with it.
type Reads struct {
	// Messages is how many of the newest messages over all contexts are read at once; where Chars is set, more are
	// read until there are that many characters.
	Messages, Chars int
	// Sessions is how many of the latest sessions are read, 0 for none; Hits how many answers of the search, 0 for no
	// search.
	Sessions, Hits int
	// Records are the record types that the search is asked for, so that what the recipe does not tell takes no place
	// among its answers; empty means all.
	Records []string
}

// summaryRecords are the record types of summaries.
var summaryRecords = func() []string {
	types := make([]string, len(conversation.Surfaces))
	for i, s := range conversation.Surfaces {
		types[i] = string(s.Writes)
	}
	return types
}()

// Slot is a block's place in a recipe.
type Slot struct {
	// Block names the entry of the blocks registry that fills it.
	Block string
	// Cap limits it.
	Cap Cap
	// Required blocks are never dropped or cut; what they need is the least a budget can be.
	Required bool
	// Protected blocks give way only to required ones.
	Protected bool
	// Heading stands above its entries; Empty, where set, stands in place of entries where there are none. Ending is
	// what the format writes because of the block elsewhere, such as a closing tag.
	Heading, Empty, Ending string
	// Grouped tells each entry within the frame of its conversation.
	Grouped bool
	// Style is how its entries are written.
	Style *Style
	// Choose, where set, fills it instead of the registry's chooser.
	Select selector
	// Only, where set, decides by the request whether the block is there at all.
	When func(*selection) bool
}

// Cap limits a block. Zero fields do not limit.
type Cap struct {
	// Items is at most how many entries, Chars how many characters of each.
	Items, Chars int
	// Sliced lets a text end where Chars cuts it, without a sign that it goes on.
	NoEllipsis bool
	// Tokens is at most how many tokens of the prompt, Percent how many of each hundred of the budget.
	Tokens, Percent int
	// Fill gives the block what the budget leaves in the end, whatever Percent says.
	FillRest bool
	// Cut shortens the first entry that Tokens or the budget keeps out, where there is room for a part of it.
	Shorten bool
}

// Recipes is the registry of recipes.
var Recipes = []Recipe{unified, workingContext, contextFormat, contextFormat05, tieredHistory, blockMap}

func findRecipe(name string) (Recipe, bool) {
	if name == "" {
		name = Unified
	}
	i := slices.IndexFunc(Recipes, func(r Recipe) bool { return r.Name == name })
	if i < 0 {
		return Recipe{}, false
	}
	return Recipes[i], true
}

func recipeNames() string {
	names := make([]string, len(Recipes))
	for i, r := range Recipes {
		names[i] = r.Name
	}
	return strings.Join(names, ", ")
}

// has reports whether the recipe has a block.
func (r Recipe) has(names ...string) bool {
	return slices.ContainsFunc(r.Slots, func(s Slot) bool { return slices.Contains(names, s.Block) })
}
