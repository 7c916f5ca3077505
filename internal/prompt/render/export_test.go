package render

// What the tests count with.
var IsBoundary = isBoundary

// Framed counts a body in its frame, of which only the body's own count is stored.
func Framed(c Counter, prefix, body, suffix string) int {
	t := tokenCounter{counter: c, constants: &Constants{}, edges: map[string]int{}}
	return t.framed(prefix, body, suffix, c.Count(body))
}
