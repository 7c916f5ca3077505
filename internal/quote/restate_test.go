package quote_test

import (
	"testing"

	"github.com/throughline/throughline/internal/quote"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestIsRestatedBy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		said, fact string
		want       bool
	}{
		{"I'm allergic to peanuts.", "The user is allergic to peanuts", true},
		{"By the way, I'm allergic to PEANUTS!", "The user is allergic to peanuts", true},
		{"My left knee hurts when I squat.", "The user's left knee hurts when they squat", true},
		{"I take blood thinners", "The user takes blood thinners", true},
		{"I'm not allergic to peanuts.", "The user is allergic to peanuts", false},
		{"I was allergic to peanuts.", "The user is allergic to peanuts", false},
		{"I'm allergic to peanuts and latex.", "The user is allergic to peanuts", false},
		{"I'm allergic to peanuts.", "The user's daughter is allergic to peanuts", false},
		{"My daughter is allergic to peanuts.", "The user is allergic to peanuts", false},
		{"I'm allergic to peanuts.", "The user is allergic to peanuts and latex", false},
		{"My left knee hurts", "The user's right knee hurts", false},
		{"Note that, please", "The user", false},
		{"", "", false},
	} {
		check.Equal(t, tc.want, quote.NewStatement(tc.fact).IsRestatedBy(tc.said), "%q and %q", tc.said, tc.fact)
	}
}
