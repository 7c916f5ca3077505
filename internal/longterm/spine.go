package longterm

import (
	"slices"
	"strings"
	"time"
)

// MaxSpines is how many spines a user has, because every prompt reads them all.
const MaxSpines = 32

// Spine is the running summary of all conversations between the user and one coach, in all contexts. It is drawn from
// the summaries of their sessions, and so are its remarks about the user.
type Spine struct {
	CoachID string
	// Text is empty if the spine was cleared, because something that it was drawn from is deleted, and as long as the
	// sessions have nothing to tell.
	Text   string `stored:"content"`
	Tokens int    `stored:"tokens"`
	// Patterns, Wins and Struggles are its part of the user summary.
	Patterns  []string `stored:"patterns,omitempty"`
	Wins      []string `stored:"wins,omitempty"`
	Struggles []string `stored:"struggles,omitempty"`
	// Contexts are those of the sessions that it was drawn from, sorted.
	Contexts []string `stored:"contexts,omitempty"`
	// Unshared are the contexts that the user kept apart when it was written, sorted. None of their sessions is in it.
	Unshared []string `stored:"unshared,omitempty"`
	// CoveredTo is the time of the last session summary in it.
	CoveredTo time.Time `stored:"coveredTo,omitempty"`
	// UpdatedAt is when what it is drawn from was read.
	UpdatedAt time.Time `stored:"updatedAt,omitempty"`
	// Model and PromptVersion name the model and the prompt that wrote it.
	Model         string `stored:"model,omitempty"`
	PromptVersion string `stored:"promptVersion,omitempty"`
	// Version counts the writes of its record, 0 where there is none.
	Version int64 `stored:"version"`
}

// WithheldIn says why a spine and its remarks may not be shown in a context. It is empty if they may. A spine whose
// contexts are not known is shown only if the user keeps none apart.
func (s Spine) WithheldIn(context string, p Preferences) string {
	if !p.Memory {
		return "the user has memory off"
	}
	isHidden := func(from string) bool { return !p.Shares(from, context) }
	if p.SeparatesContexts() && (len(s.Contexts) == 0 || slices.ContainsFunc(s.Contexts, isHidden)) {
		return "the user keeps contexts apart"
	}
	return ""
}

// UserSummary is what the app and the summariser have observed about the user.
type UserSummary struct {
	Patterns    []string  `stored:"patterns,omitempty"`
	Wins        []string  `stored:"wins,omitempty"`
	Struggles   []string  `stored:"struggles,omitempty"`
	LastUpdated time.Time `stored:"lastUpdated,omitempty"`
	// StoredAt is when the app stored it. It replaced the remarks of all spines of that time.
	StoredAt time.Time `stored:"updatedAt,omitempty"`
}

const (
	// MaxRemarks is how many remarks of spines each list of a user summary has.
	MaxRemarks = 8
	// maxListed is how many remarks a list has with those of the app (see the HTTP API).
	maxListed = 200
)

// With returns the app's user summary with the remarks of spines after the app's own, those of the latest spine first.
// It leaves out what repeats another remark, and spines that are older than the app's user summary.
func (u UserSummary) With(spines []Spine) UserSummary {
	spines = slices.SortedFunc(slices.Values(spines), func(a, b Spine) int {
		if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.CoachID, b.CoachID)
	})
	out := u
	add := func(list *[]string, own, remarks []string) {
		for _, r := range remarks {
			isKnown := func(known string) bool { return Normalize(known) == Normalize(r) }
			if len(*list) < min(len(own)+MaxRemarks, maxListed) && !slices.ContainsFunc(*list, isKnown) {
				*list = append(slices.Clip(*list), r)
			}
		}
	}
	for _, s := range spines {
		if !s.UpdatedAt.After(u.StoredAt) || !s.hasRemarks() {
			continue
		}
		add(&out.Patterns, u.Patterns, s.Patterns)
		add(&out.Wins, u.Wins, s.Wins)
		add(&out.Struggles, u.Struggles, s.Struggles)
		if s.UpdatedAt.After(out.LastUpdated) {
			out.LastUpdated = s.UpdatedAt
		}
	}
	return out
}

func (s Spine) hasRemarks() bool { return len(s.Patterns)+len(s.Wins)+len(s.Struggles) > 0 }

// IsEmpty reports whether nothing is observed about the user.
func (u UserSummary) IsEmpty() bool { return len(u.Patterns)+len(u.Wins)+len(u.Struggles) == 0 }
