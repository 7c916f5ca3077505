package prompt

import (
	"slices"

	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/render"
	"github.com/throughline/throughline/internal/prompt/scoping"
)

// The worked example of docs/extending.md. TestExtending compares the two.

var standup = Recipe{
	Name:          "standup",
	Specification: "ours",
	Budget:        pack.Cost{Tokens: 1000},
	Format:        render.Markdown,
	Scoping:       scoping.TokenWindow, // or LastN, or Compaction
	Reads:         Reads{Messages: 50},
	Slots: []Slot{ // the most valuable first; what does not fit is dropped from the end
		{Block: block.Role, Required: true, Style: render.Prose},
		{Block: block.Current, Required: true, Style: render.VerbatimMessage},
		{Block: block.Goals, Style: render.Bullet, Heading: "# GOALS", Cap: Cap{Items: 5}},
		{Block: block.Recent, Style: render.RoleMessage, Cap: Cap{Chars: 800}},
	},
}

// Contribute adds the example to the recipes as docs/extending.md says. The returned function removes it again.
func Contribute() (remove func()) {
	before := Recipes
	Recipes = append(slices.Clip(before), standup)
	return func() { Recipes = before }
}
