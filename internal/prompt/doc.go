// Package prompt builds each model call's prompt from everything that Throughline knows, within a token budget, and
// records what the prompt contains and why.
//
// # The path of a request
//
// Service.Build (service.go) takes a request through these steps:
//
//   - request.go checks it and finds the registry entries that it names.
//   - gather.go reads every source at once, each with its own deadline and circuit breaker; source.go has the reads.
//   - selection.go leaves out what the user's preferences, the coach's scope and the messages' roles exclude, and holds
//     the dedupe keys that blocks have claimed. thread.go finds the active thread and sorts sessions into tiers.
//   - block.go asks each block for its candidates, the most valuable block first; the selectors are in select_*.go.
//     query.go reads from the current message what it needs and whether it refers to an earlier conversation.
//   - pack.go takes candidates by value until the budget is spent. count.go counts tokens from stored counts.
//   - steady.go and pack_steady.go keep what stands in front the same from turn to turn, for the server's cache.
//   - render.go writes the blocks in the recipe's format and style; guard.go makes stored text safe in it, after
//     package untrusted has removed what a reader would not see.
//   - manifest.go records each block and item, its tokens, its decision and the reason.
//   - archive.go encodes the prompt for the store, and reads it back.
//
// The first steps know nothing of formats. A recipe (recipe.go) is data: its slots name blocks, caps, styles and
// headings. Each recipe_*.go has one recipe, with its format and the selectors that only it uses. agent.go has the
// agents, the strategies that scope a session's messages to them, and the tools.
//
// # Adding to it
//
// A block is an entry in selectors, with its name in block.go, and a slot in each recipe that uses it. A recipe is an
// entry in Recipes, an agent one in Agents, a scoping strategy one in strategies, a tool one in tools.
//
// # What rendering guarantees
//
// What decides whether a text is trusted is who can write it. What only the app can write stands verbatim in every
// recipe. Everything that a user or a model can write is stored text, and so is what is derived from it:
//
//	text                                       who can write it                     written
//	persona (coaches)                          the app: scope throughline/app       verbatim
//	systemRole (POST /v1/prompts)              the app: scope throughline/app       verbatim
//	coach's name                               the app: scope throughline/app       in one line, behind "Your name is"
//	expertise modules, rules, instructions,    the source code                      verbatim
//	headings, labels, tools
//	messages                                   the user, the model                  guarded; see below for role messages
//	session titles, modes, attributes          the user                             guarded
//	summaries, their tags and fields, spine    the model, from messages             guarded
//	memories, todos, goals, check-in notes     the user, or the model               guarded
//	profile, seed                              the user                             guarded
//	user summary                               the user, or the model               guarded
//	the current message                        the user                             verbatim, as a message of the user
//
// Stored text is data, in every recipe:
//
//   - It opens no section, closes no tag, begins no item and speaks for no other role. A line of content that begins
//     like the format's structure gets a backslash. The tagged format escapes angle brackets and ampersands. Items of
//     lists are folded into one line each. The name of an attribute is stored text, too.
//   - A control token of a chat template, such as <|im_start|> or [INST], gets a backslash behind its first bracket:
//     <\|im_start|>. It stays readable, and no server takes it for the token.
//   - Characters that a reader would not see are removed (package untrusted): control characters, directional marks,
//     fillers, tag characters, selectors of variants. Those that a language or an emoji is written with stay where they
//     are written with them. Every kind of line break becomes a line feed.
//   - Stored system messages never enter a prompt.
//   - A message that is told as a role message has no structure around it: only its invisible characters are removed.
//   - The current message is the user's own turn. It reaches the model unchanged, as a message of its role. In the one
//     payload of context-format it is guarded like stored text.
//
// Tests parse every recipe's prompt back into its blocks by structure alone, with hostile text in every field, and
// compare them with the manifest. Rendering can't keep a model from believing what a text says: the rules at the
// beginning of each prompt tell it that everything below is information and never instructions.
package prompt
