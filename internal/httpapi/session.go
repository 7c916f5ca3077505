package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// SessionRemover deletes a session with its messages, summaries, vectors and the facts drawn only from it. Another
// user's session is NotFound.
type SessionRemover interface {
	DeleteSession(ctx context.Context, user conversation.UserID, id string) error
}

// session is conversation.Session as the API shows it.
type session struct {
	SessionID     string      `json:"sessionId"`
	Context       string      `json:"context"`
	CoachID       string      `json:"coachId"`
	Mode          string      `json:"mode"`
	Status        string      `json:"status" enum:"active,completed,archived"`
	Title         string      `json:"title,omitempty"`
	Attributes    object      `json:"attributes,omitempty"`
	MessageCount  int         `json:"messageCount"`
	StartedAt     *stamp      `json:"startedAt" nullable:"true" doc:"The first message's time; null without messages."`
	LastMessageAt *stamp      `json:"lastMessageAt" nullable:"true" doc:"The last message's time; null without messages."`
	Summary       *summarised `json:"summary,omitempty"`
}

// summarised is what a session came to so far.
type summarised struct {
	Text           string `json:"text"`
	Kind           string `json:"kind" enum:"model,extractive" doc:"Who wrote it: the model, or the stand-in made in process."`
	InProgress     bool   `json:"inProgress" doc:"Whether the session was still open."`
	CoveredThrough int    `json:"coveredThrough" doc:"The seq of the last message that it covers."`
	UpdatedAt      stamp  `json:"updatedAt"`
}

func viewSession(s conversation.Session) session {
	out := session{
		SessionID: s.ID, Context: s.Context, CoachID: s.CoachID, Mode: s.Mode, Status: string(s.Status),
		Title: s.Title, Attributes: s.Attributes, MessageCount: s.MessageCount,
		StartedAt: stampOf(s.StartedAt), LastMessageAt: stampOf(s.LastMessageAt),
	}
	if s.Summary != nil {
		out.Summary = &summarised{
			Text: s.Summary.Text, Kind: string(s.Summary.Kind), InProgress: s.Summary.InProgress,
			CoveredThrough: s.Summary.CoveredThrough, UpdatedAt: stamp(s.Summary.UpdatedAt),
		}
	}
	return out
}

type newSession struct {
	Context    surfaceName `json:"context" doc:"The surface of the app."`
	CoachID    id          `json:"coachId" doc:"The persona that the user talks to."`
	SessionID  id          `json:"sessionId,omitempty" doc:"The app's own id; made where absent."`
	Mode       string      `json:"mode,omitempty" minLength:"1" maxLength:"128" doc:"The context's default where absent."`
	Title      string      `json:"title,omitempty" maxLength:"1024"`
	Attributes object      `json:"attributes,omitempty" doc:"Of the app's own, at most 64 KiB: the summary carries its context's."`
}

type changedSession struct {
	Status     *string          `json:"status,omitempty" enum:"active,completed,archived" doc:"completed triggers the session's summary."`
	Mode       *string          `json:"mode,omitempty" minLength:"1" maxLength:"128"`
	Title      optional[string] `json:"title,omitzero" maxLength:"1024" doc:"null removes it."`
	Attributes object           `json:"attributes,omitempty" doc:"Merged key by key, at most 64 KiB then; a null value removes its key."`
}

// SessionPath is the path of what belongs to one session.
type SessionPath struct {
	ID string `path:"id" doc:"The session's id."`
}

type (
	sessionOutput struct{ Body session }
	sessionsInput struct {
		ListInput
		Context surfaceName `query:"context" doc:"Only sessions of this context."`
		Status  string      `query:"status" enum:"active,completed,archived" doc:"Only sessions of this status."`
	}
	newSessionInput struct {
		Keyed
		Body newSession
	}
	changedSessionInput struct {
		SessionPath
		Body changedSession
	}
)

// sessions serves /v1/sessions.
type sessions struct {
	*server
	store  conversation.SessionStore
	remove SessionRemover
}

func (s sessions) register() {
	const tag = "Sessions"
	register(s.server, operation{
		method: http.MethodPost, path: "/v1/sessions", id: "createSession", tag: tag, status: http.StatusCreated,
		summary: "Create a session", errors: []int{http.StatusConflict},
		detail: "A sessionId that this user has in any context is a conflict. Creating a session does not count as appearing in it.",
	}, s.create)
	register(s.server, operation{
		method: http.MethodGet, path: "/v1/sessions", id: "listSessions", tag: tag,
		summary: "List sessions", detail: "The latest activity first, to the quarter hour.",
	}, s.list)
	register(s.server, operation{
		method: http.MethodGet, path: "/v1/sessions/{id}", id: "getSession", tag: tag, summary: "Get a session",
	}, s.get)
	register(s.server, operation{
		method: http.MethodPatch, path: "/v1/sessions/{id}", id: "changeSession", tag: tag, summary: "Change a session",
		errors: []int{http.StatusConflict},
	}, s.change)
	register(s.server, operation{
		method: http.MethodDelete, path: "/v1/sessions/{id}", id: "deleteSession", tag: tag, status: noContent,
		summary: "Delete a session", detail: "Its messages, summaries, vectors and the facts drawn only from it go too.",
	}, s.delete)
	register(s.server, operation{
		method: http.MethodPost, path: "/v1/sessions/{id}/leave", id: "leaveSession", tag: tag, status: http.StatusAccepted,
		summary: "Leave a session", detail: "The user navigated away: a summary of the session so far follows.",
	}, s.leave)
}

func (s sessions) create(ctx context.Context, c Caller, in *newSessionInput) (*created[session], error) {
	idem, err := in.idempotency(in.Body)
	if err != nil {
		return nil, err
	}
	b := in.Body
	made, err := s.store.CreateSession(ctx, c.User, conversation.NewSession{
		ID: string(b.SessionID), Context: string(b.Context), CoachID: string(b.CoachID), Mode: b.Mode, Title: b.Title,
		Attributes: b.Attributes,
	}, idem)
	if err != nil {
		return nil, err
	}
	return newCreated(viewSession(made.Session), pathOf("sessions", made.Session.ID), made.Replayed), nil
}

func (s sessions) list(ctx context.Context, c Caller, in *sessionsInput) (*listOutput[session], error) {
	page, bound, err := s.page(c, in.ListInput, true)
	if err != nil {
		return nil, err
	}
	filter := conversation.SessionFilter{Context: string(in.Context), Status: conversation.Status(in.Status)}
	found, next, err := s.store.Sessions(ctx, c.User, filter, page)
	if err != nil {
		return nil, err
	}
	return listed(s.server, bound, found, next, viewSession), nil
}

func (s sessions) get(ctx context.Context, c Caller, in *SessionPath) (*sessionOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	return sessionAnswer(s.store.Session(ctx, c.User, in.ID))
}

func (s sessions) change(ctx context.Context, c Caller, in *changedSessionInput) (*sessionOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	b := in.Body
	change := conversation.SessionChange{Status: (*conversation.Status)(b.Status), Mode: b.Mode, Attributes: b.Attributes}
	if b.Title.set {
		change.Title = new(string)
		b.Title.apply(change.Title)
	}
	return sessionAnswer(s.store.UpdateSession(ctx, c.User, in.ID, change))
}

func (s sessions) delete(ctx context.Context, c Caller, in *SessionPath) (*empty, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	return &empty{}, s.remove.DeleteSession(ctx, c.User, in.ID)
}

func (s sessions) leave(ctx context.Context, c Caller, in *SessionPath) (*empty, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	return &empty{}, s.store.LeaveSession(ctx, c.User, in.ID, s.moment())
}

func sessionAnswer(s conversation.Session, err error) (*sessionOutput, error) {
	if err != nil {
		return nil, err
	}
	return &sessionOutput{Body: viewSession(s)}, nil
}

// check answers for the store where no session can have the id.
func (p SessionPath) check() error {
	if !conversation.ValidID(p.ID) {
		return fault.Missing("session")
	}
	return nil
}
