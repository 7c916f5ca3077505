// Package prompt builds each model call's prompt from everything that Throughline knows, within a token budget, and
// records what went in and why (design 4.4).
//
// One engine does it in five steps. Gather reads every source at once (gather.go), and the view takes out what
// preferences and scope forbid (view.go). Choosers pick each block's candidates, most valuable first (choose_*.go).
// Fit takes them in until the budget is spent, from the most valuable block down (fit.go), with the tokens that were
// counted when the texts were stored (tally.go). Format and style write them (format*.go). The manifest accounts for
// every item (manifest.go). Only the last steps know of formats; a recipe is data (recipe_*.go).
//
// # Adding to it
//
// A block is an entry in choosers, with its name in blocks.go, and a slot in each recipe that tells it. A recipe is an
// entry in Recipes. An agent is an entry in Agents, a scoping strategy one in strategies, a tool one in tools.
//
// # What rendering guarantees
//
// Whoever can write to the store is not trusted with a prompt's structure: users, the model's own answers, summaries
// and memories that a model drew from them, the app's records. Stored text is data, in every recipe:
//
//   - It opens no section, closes no tag, begins no item and speaks for no other role: whatever a format's structure
//     begins with is guarded by a backslash where a line of content begins with it, angle brackets and ampersands are
//     escaped in the tagged format, and items that are lists are folded into one line each.
//   - What a reader would not see is taken out: control characters, bidirectional overrides and isolates, tag
//     characters, byte-order marks; every kind of line break becomes a line feed.
//   - Stored system messages never enter a prompt.
//   - The current message is the user's own turn and reaches the model unchanged, as a message of its role; in the one
//     payload of context-format it is guarded as stored text is.
//
// The tests read every recipe's prompt back into its blocks by structure alone, from hostile text in every field, and
// compare with the manifest. What no rendering can do is to make a model disbelieve what a text says: the rules that
// stand first in each prompt tell it that everything below is information and never instructions.
package prompt
