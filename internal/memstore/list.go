package memstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// listing is a list that is read page by page.
type listing[T any] struct {
	// name begins the positions of the list.
	name string
	// key is by what the list is sorted. It is different for each item.
	key        func(T) string
	descending bool
	// size is how many bytes an item takes, nil where pages have no bound of bytes. picks says whether an item is on the
	// list, nil for all.
	size  func(T) int
	picks func(T) bool
}

// page returns a page of a list and the position after it. The items may come in any order. The next page begins after
// the last item that was looked at, whether or not that is still there.
func (l listing[T]) page(items []T, p conversation.Page) (out []T, next conversation.Position, err error) {
	after, ok := strings.CutPrefix(string(p.After), l.name+":")
	if p.After != "" && !ok {
		return nil, "", fault.InvalidField("cursor", "is not one of this list")
	}
	bytes, examined, last := 0, 0, ""
	for _, it := range l.sorted(items) {
		if p.After != "" && l.compare(it.key, after) <= 0 {
			continue
		}
		size := 0
		if l.size != nil {
			size = l.size(it.value)
		}
		end := conversation.Position(l.name + ":" + last)
		if examined += size; examined > conversation.MaxExaminedBytes && last != "" {
			return out, end, nil
		}
		if l.picks == nil || l.picks(it.value) {
			if len(out) == p.Limit || len(out) > 0 && bytes+size > conversation.MaxPageBytes {
				return out, end, nil
			}
			out = append(out, copied(it.value))
			bytes += size
		}
		last = it.key
	}
	return out, "", nil
}

// keyed is an item with its key.
type keyed[T any] struct {
	key   string
	value T
}

func (l listing[T]) sorted(items []T) []keyed[T] {
	out := make([]keyed[T], len(items))
	for i, v := range items {
		out[i] = keyed[T]{l.key(v), v}
	}
	slices.SortFunc(out, func(a, b keyed[T]) int { return l.compare(a.key, b.key) })
	return out
}

func (l listing[T]) compare(a, b string) int {
	if l.descending {
		a, b = b, a
	}
	return cmp.Compare(a, b)
}
