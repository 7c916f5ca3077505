package httpapi

import (
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

type goal struct {
	ID        string     `json:"id" doc:"The id of the record."`
	Title     string     `json:"title" doc:"The title, for people."`
	Status    string     `json:"status" enum:"active,paused,completed,abandoned" doc:"The state of the record."`
	GoalType  string     `json:"goalType" enum:"habit,target,project" doc:"What kind of goal it is."`
	CreatedAt *timestamp `json:"createdAt,omitempty"`
	UpdatedAt *timestamp `json:"updatedAt,omitempty"`
}

type newGoal struct {
	Title    string `json:"title" minLength:"1" maxLength:"1000" doc:"The title, for people." visible:"true"`
	Status   string `json:"status,omitempty" enum:"active,paused,completed,abandoned" default:"active" doc:"The state of the record."`
	GoalType string `json:"goalType" enum:"habit,target,project" doc:"What kind of goal it is."`
}

type changedGoal struct {
	Title    *string `json:"title,omitempty" minLength:"1" maxLength:"1000" doc:"The title, for people." visible:"true"`
	Status   *string `json:"status,omitempty" enum:"active,paused,completed,abandoned" doc:"The state of the record."`
	GoalType *string `json:"goalType,omitempty" enum:"habit,target,project" doc:"What kind of goal it is."`
}

func (changedGoal) complete(s *server, g *longterm.Goal) error {
	g.UpdatedAt = s.storedNow()
	return nil
}

type checkIn struct {
	ID        string     `json:"id" doc:"The id of the record."`
	Timestamp *timestamp `json:"timestamp,omitempty"`
	Note      string     `json:"note,omitempty" doc:"What the user noted."`
}

type newCheckIn struct {
	Timestamp *timestamp `json:"timestamp,omitempty" doc:"Default: now."`
	Note      string     `json:"note,omitempty" maxLength:"16000" doc:"Indexed and recalled as messages are." visible:"true"`
}

func (newCheckIn) complete(s *server, c *longterm.CheckIn) error {
	if problem := conversation.TimestampProblem(c.Timestamp, s.storedNow()); problem != "" {
		return fault.InvalidField("timestamp", problem)
	}
	c.Tokens = s.tokens.Count(c.Note)
	return nil
}
