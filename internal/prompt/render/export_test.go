package render

import "github.com/throughline/throughline/internal/llm"

// What the tests count with.
var IsBoundary = isBoundary

// Framed counts a body in its frame, of which only the body's own count is stored.
func Framed(c llm.Counter, prefix, body, suffix string) int {
	t := tokenCounter{counter: c, constants: &Constants{}, edges: map[string]int{}}
	return t.framed(prefix, body, suffix, c.Count(body))
}
