package httpapi

import (
	"context"

	"github.com/throughline/throughline/internal/longterm"
)

// coach is longterm.Coach as the API shows it. The persona is the app's text for the model, so only the app sees it.
type coach struct {
	ID      string  `json:"coachId" doc:"The id of the coach."`
	Name    string  `json:"name" doc:"The name."`
	Persona *string `json:"persona,omitempty" from:"-" doc:"Only with the scope throughline/app."`
	Model   string  `json:"model,omitempty" doc:"The model that is asked. Absent where the default is."`
}

type coachDoc struct {
	Name    string `json:"name" minLength:"1" maxLength:"500" doc:"The name."`
	Persona string `json:"persona" maxLength:"32000" doc:"Who the model is, in words for the model."`
	Model   string `json:"model,omitempty" maxLength:"200" doc:"Default: the configured chat model."`
}

// coachFor returns a coach as the caller may see it.
func (c Caller) coachFor(stored longterm.Coach) coach {
	out := shown[coach](stored)
	if c.isApp() {
		out.Persona = &stored.Persona
	}
	return out
}

// CoachPath is the path of one coach.
type CoachPath struct {
	CoachID id `path:"coachId" doc:"The app's own id of the coach."`
}

type coachInput struct {
	CoachPath
	Body coachDoc
}

// coaches serves /v1/coaches.
type coaches struct {
	*server
	store longterm.CoachStore
}

const personaDetail = "The persona is the app's text for the model: it is absent without the scope " + ScopeApp + "."

func (s coaches) register() {
	registerDoc(s.server, op("GET /v1/coaches", "listCoaches", longTermTag, "List coaches",
		personaDetail,
	), s.list)
	registerDoc(s.server, op("GET /v1/coaches/{coachId}", "getCoach", longTermTag, "Get a coach",
		personaDetail,
	), s.get)
	registerDoc(s.server,
		op("PUT /v1/coaches/{coachId}", "putCoach", longTermTag, "Create or replace a coach").forApp(), s.put)
	registerDone(s.server,
		op("DELETE /v1/coaches/{coachId}", "deleteCoach", longTermTag, "Delete a coach").forApp(), s.delete)
}

func (s coaches) list(ctx context.Context, c Caller, in *ListInput) (list[coach], error) {
	return listed(s.server, c, *in, false, c.coachFor, of(ctx, c.User, s.store.Coaches))
}

func (s coaches) get(ctx context.Context, c Caller, in *CoachPath) (coach, error) {
	stored, err := s.store.Coach(ctx, c.User, string(in.CoachID))
	return c.coachFor(stored), err
}

func (s coaches) put(ctx context.Context, c Caller, in *coachInput) (coach, error) {
	given := filled[longterm.Coach](in.Body)
	given.ID = string(in.CoachID)
	stored, err := s.store.PutCoach(ctx, c.User, given)
	return c.coachFor(stored), err
}

func (s coaches) delete(ctx context.Context, c Caller, in *CoachPath) error {
	return s.store.DeleteCoach(ctx, c.User, string(in.CoachID))
}
