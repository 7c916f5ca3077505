package httpapi

import (
	"cmp"

	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
)

type goal struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Status    string     `json:"status" enum:"active,paused,completed,abandoned"`
	GoalType  string     `json:"goalType" enum:"habit,target,project"`
	CreatedAt *timestamp `json:"createdAt,omitempty"`
	UpdatedAt *timestamp `json:"updatedAt,omitempty"`
}

type newGoal struct {
	Title    string `json:"title" minLength:"1" maxLength:"1000"`
	Status   string `json:"status,omitempty" enum:"active,paused,completed,abandoned" default:"active"`
	GoalType string `json:"goalType" enum:"habit,target,project"`
}

type changedGoal struct {
	Title    *string `json:"title,omitempty" minLength:"1" maxLength:"1000"`
	Status   *string `json:"status,omitempty" enum:"active,paused,completed,abandoned"`
	GoalType *string `json:"goalType,omitempty" enum:"habit,target,project"`
}

func goals(s *server, store longterm.Collection[longterm.Goal]) collection[longterm.Goal, newGoal, changedGoal, goal] {
	return collection[longterm.Goal, newGoal, changedGoal, goal]{
		server: s, store: store, path: "goals", id: "Goal", name: "goal",
		fromNew: func(n newGoal) (longterm.Goal, error) {
			return longterm.Goal{
				Title: n.Title, Status: longterm.GoalStatus(cmp.Or(n.Status, string(longterm.GoalActive))),
				GoalType: longterm.GoalType(n.GoalType),
			}, nil
		},
		applyPatch: func(p changedGoal, g *longterm.Goal) error {
			assign(p.Title, &g.Title)
			assign((*longterm.GoalStatus)(p.Status), &g.Status)
			assign((*longterm.GoalType)(p.GoalType), &g.GoalType)
			g.UpdatedAt = s.storedNow()
			return nil
		},
		toView: func(g longterm.Goal) goal {
			return goal{
				g.ID, g.Title, string(g.Status), string(g.GoalType), newTimestamp(g.CreatedAt), newTimestamp(g.UpdatedAt),
			}
		},
		recordID: func(g longterm.Goal) string { return g.ID },
	}
}

type checkIn struct {
	ID        string     `json:"id"`
	Timestamp *timestamp `json:"timestamp,omitempty"`
	Note      string     `json:"note,omitempty"`
}

type newCheckIn struct {
	Timestamp *timestamp `json:"timestamp,omitempty" doc:"Default: now."`
	Note      string     `json:"note,omitempty" maxLength:"16000" doc:"Indexed and recalled as messages are."`
}

func checkIns(
	s *server, store longterm.Collection[longterm.CheckIn], tokens llm.Counter,
) collection[longterm.CheckIn, newCheckIn, noInput, checkIn] {
	return collection[longterm.CheckIn, newCheckIn, noInput, checkIn]{
		server: s, store: store, path: "check-ins", id: "CheckIn", name: "check-in",
		fromNew: func(n newCheckIn) (longterm.CheckIn, error) {
			c := longterm.CheckIn{Timestamp: storedTime(n.Timestamp), Note: n.Note, Tokens: tokens.Count(n.Note)}
			return c, invalidFields(n.Timestamp.check("timestamp"))
		},
		toView:   func(c longterm.CheckIn) checkIn { return checkIn{c.ID, newTimestamp(c.Timestamp), c.Note} },
		recordID: func(c longterm.CheckIn) string { return c.ID },
	}
}
