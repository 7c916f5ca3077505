// Package offlinemodel is the OpenAI-compatible endpoint of the local stack (design 5): embeddings, chat completions
// and the list of models, answered on this machine with no key, no network and no weights. The product talks to it as
// it talks to the real service, so what the service would refuse is refused here, in the same form.
//
// What it is: deterministic. The same request gets the same answer, `created` aside. Its embeddings place texts by
// their words, word forms and small fields of meaning; its chat answers quote the parts of the prompt that they rest
// on, so that a person sees the memory work; its summaries and extractions are built from the sentences they are given.
//
// What it is not: a language model. It understands nothing, invents nothing, follows no instruction in a prompt, and
// speaks English only; it says so by naming itself [ModelID] in every response. Its quality is a floor, not a promise.
package offlinemodel
