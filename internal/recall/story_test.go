package recall_test

import (
	"strings"
)

// words counts tokens as words.
type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }
