package longterm_test

import (
	"slices"
	"testing"

	"github.com/throughline/throughline/internal/longterm"
)

// TestNamed finds the memories that a request to forget names.
func TestNamed(t *testing.T) {
	t.Parallel()
	known := []string{
		"The user is allergic to peanuts.",
		"The user has pain in the left knee.",
		"The user had surgery on the left knee in 2019.",
		"The user's sister Ana lives in Porto.",
		"Der Nutzer verträgt keine Laktose.",
		"用户对花生过敏。",
	}
	tests := map[string][]int{
		"my peanut allergy":                      {0},
		"I am allergic to peanuts":               {0},
		"that I'm allergic to peanuts, please":   {0},
		"the knee":                               {1, 2},
		"the surgery on my left knee":            {2},
		"that Ana lives in Porto":                {3},
		"meine Laktoseintoleranz":                {},
		"das mit der Laktose":                    {4},
		"花生过敏":                                   {5},
		"my cat":                                 {},
		"it":                                     {},
		"":                                       {},
		"everything about my brother's new boat": {},
	}
	for request, want := range tests {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			var memories []longterm.Memory
			for _, content := range known {
				memories = append(memories, longterm.Memory{Content: content})
			}
			var got []int
			for _, m := range longterm.Named(request, memories) {
				got = append(got, slices.Index(known, m.Content))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
