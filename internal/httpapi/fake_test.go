package httpapi_test

import (
	"strconv"

	"github.com/throughline/throughline/internal/conversation"
)

// paged returns a page of a list. A position is an index.
func paged[T any](all []T, page conversation.Page) ([]T, conversation.Position, error) {
	from := 0
	if page.After != "" {
		var err error
		if from, err = strconv.Atoi(string(page.After)); err != nil {
			return nil, "", err
		}
	}
	from = min(from, len(all))
	to := min(from+page.Limit, len(all))
	if to == len(all) {
		return all[from:to], "", nil
	}
	return all[from:to], conversation.Position(strconv.Itoa(to)), nil
}

// fakeCounter counts four bytes as one token.
type fakeCounter struct{}

func (fakeCounter) Count(text string) int { return len(text) / 4 }
