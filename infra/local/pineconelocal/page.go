package pineconelocal

import (
	"encoding/base64"
	"encoding/json"
)

// page is one page of an ordered listing.
type page struct {
	limit  int
	prefix string
	after  string // the last key of the page before
}

// token is what a pagination token holds, as base64 of JSON.
type token struct {
	SkipPast string `json:"skip_past"`
	Prefix   string `json:"prefix"`
}

// readPage reads the fields limit and pagination_token.
func readPage(in message, prefix string, maxLimit int) (page, error) {
	p := page{limit: maxListLimit, prefix: prefix}
	if in.has("limit") {
		p.limit = in.count("limit")
	}
	if p.limit < 1 || p.limit > maxLimit {
		return p, invalid("limit must be between 1 and %d, got %d", maxLimit, p.limit)
	}
	if in.text("pagination_token") == "" {
		return p, nil
	}
	var t token
	b, err := base64.StdEncoding.DecodeString(in.text("pagination_token"))
	if err != nil || json.Unmarshal(b, &t) != nil || t.SkipPast == "" {
		return p, invalid("Invalid pagination token")
	}
	if t.Prefix != prefix {
		return p, invalid("The pagination token was made for another prefix: '%s'", t.Prefix)
	}
	p.after = t.SkipPast
	return p, nil
}

// cutPage takes a page off items, which are one more than a page when another page follows; then it writes the token
// for that one.
func cutPage[T any](p page, items []T, out message, key func(T) string) []T {
	if len(items) <= p.limit {
		return items
	}
	items = items[:p.limit]
	b, err := json.Marshal(token{SkipPast: key(items[p.limit-1]), Prefix: p.prefix})
	if err != nil {
		panic(err) // two strings can always be written
	}
	out.open("pagination").set("next", base64.StdEncoding.EncodeToString(b))
	return items
}
