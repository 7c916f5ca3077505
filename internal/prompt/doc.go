// Package prompt builds each model call's prompt from everything that Throughline knows, within a token budget, and
// records what the prompt contains and why.
//
// # The path of a request
//
// Service.Build (service.go) takes a request through four steps. Each is a package that knows only the steps before it,
// and returns a type that nothing changes later:
//
//   - request.go checks the request and finds the registry entries that it names. plan.go gives each step the part of
//     the recipe and the request that it knows.
//   - gather reads every source at once, each with its own deadline and circuit breaker, and leaves out what the user's
//     preferences, the coach's scope and the messages' roles exclude. It returns gather.Sources.
//   - choose asks each block for its candidates, the most valuable block first, and returns them with the reasons of
//     those that are left out.
//   - pack takes candidates by value until the budget is spent, and returns its decisions: what is in, and whether it
//     is in the stable prefix or in the volatile suffix.
//   - render writes the blocks in the recipe's format and style. For pack it measures what a text takes. It makes
//     stored text safe, after package untrusted has removed what a reader would not see.
//   - manifest.go records each block and item, its tokens, its decision and the reason.
//   - archive.go encodes the prompt for the store, and reads it back.
//
// Package history divides conversations into sittings and tiers, package query reads from the current message what it
// needs and whether it refers to an earlier conversation, package scoping selects which of a session's messages an
// agent sees.
//
// A recipe (recipe.go) is data: its slots name blocks, caps, styles and headings, the most valuable first. That is the
// drop order. Each recipe_*.go has one recipe.
//
// # Adding to it
//
// A block is a name in package block, an entry in the selectors of package choose, and a slot in each recipe that uses
// it. A recipe is an entry in Recipes, a tool one in tools, a scoping strategy one in the
// strategies of package scoping.
//
// # What rendering guarantees
//
// What decides whether a text is trusted is who can write it. What only the app can write is verbatim in every
// recipe. Everything that a user or a model can write is stored text, and so is what is derived from it:
//
//	text                                       who can write it                     written
//	persona (coaches)                          the app: scope throughline/app       verbatim
//	systemRole (POST /v1/prompts)              the app: scope throughline/app       verbatim
//	coach's name                               the app: scope throughline/app       in one line, after "Your name is"
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
//   - A control token of a chat template, such as <|im_start|> or [INST], gets a backslash after its first bracket:
//     <\|im_start|>. It stays readable, and no server takes it for the token.
//   - Characters that a reader would not see are removed (package untrusted): control characters, directional marks,
//     fillers, tag characters, selectors of variants. Those that a language or an emoji is written with stay where they
//     are written with them. Every kind of line break becomes a line feed.
//   - Stored system messages never enter a prompt.
//   - A message that becomes a role message has no structure around it: only its invisible characters are removed.
//   - The current message is the user's own turn. It reaches the model unchanged, as a message of its role. In the one
//     payload of context-format it is guarded like stored text.
//
// Tests parse every recipe's prompt back into its blocks by structure alone, with hostile text in every field, and
// compare them with the manifest. In block-map each stored text is one line after a label or under one, so that no
// paragraph is like the app's own when a service joins the system messages. Rendering can't keep a model from believing
// what a text says. Each recipe therefore says that stored text is information and never instructions, but for
// context-format, whose specification gives the whole payload.
package prompt
