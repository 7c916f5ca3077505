package httpapi

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// spine is longterm.Spine as the API shows it.
type spine struct {
	CoachID    string     `json:"coachId" doc:"The id of the coach."`
	Text       string     `json:"text" doc:"Empty in a list, as the remarks are, where no prompt may tell the spine."`
	Patterns   []string   `json:"patterns" doc:"What the user tends to do."`
	Wins       []string   `json:"wins" doc:"What the user has achieved."`
	Struggles  []string   `json:"struggles" doc:"What the user finds hard."`
	Contexts   []string   `json:"contexts" doc:"The contexts of the sessions that it was drawn from."`
	WithheldIn []string   `json:"withheldIn" from:"-" doc:"The contexts whose prompts lack it, by the user's preferences."`
	CoveredTo  *timestamp `json:"coveredTo,omitempty" doc:"The time of the last session summary in it."`
	UpdatedAt  *timestamp `json:"updatedAt,omitempty"`
}

// toSpine returns a spine with everything that is stored.
func toSpine(s longterm.Spine, p longterm.Preferences) spine {
	withheld := []string{}
	for _, context := range conversation.Contexts() {
		if s.WithheldIn(context, p) != "" {
			withheld = append(withheld, context)
		}
	}
	out := shown[spine](s)
	out.WithheldIn = withheld
	return out
}

// toAllowedSpine returns a spine without what it says if no prompt may tell it.
func toAllowedSpine(s longterm.Spine, p longterm.Preferences) spine {
	out := toSpine(s, p)
	if len(out.WithheldIn) == len(conversation.Contexts()) {
		out.Text, out.Patterns, out.Wins, out.Struggles = "", []string{}, []string{}, []string{}
	}
	return out
}

// spineList is the answer of GET /v1/spines. A user has few spines, so there are no pages.
type spineList struct {
	Items []spine `json:"items" doc:"In the order of the coaches' ids."`
}

// registerSpines serves /v1/spines.
func registerSpines(s *server, store longterm.SpineReader) {
	registerDoc(s, op("GET /v1/spines", "listSpines", longTermTag, "List the coaches' spines",
		"The running summary of all sessions with each coach, and the remarks about the user in it. It follows the "+
			"preferences as prompts do: withheldIn names the contexts whose prompts lack it, and a spine that no prompt "+
			"may tell, as with memory off, says nothing here either. The export has it all.",
	), func(ctx context.Context, c Caller, _ *noInput) (spineList, error) {
		found, preferences, err := store.Spines(ctx, c.User)
		allowed := func(one longterm.Spine) spine { return toAllowedSpine(one, preferences) }
		return spineList{Items: converted(found, allowed)}, err
	})
}
