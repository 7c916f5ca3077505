package httpapi

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
)

// SessionRemover deletes a session with its messages, summaries, vectors and the facts drawn only from it. Another
// user's session is NotFound.
type SessionRemover interface {
	DeleteSession(ctx context.Context, user conversation.UserID, id string) error
}

// session is conversation.Session as the API shows it.
type session struct {
	ID            string          `json:"sessionId" doc:"The id of the session."`
	Context       string          `json:"context" doc:"The context of the session."`
	CoachID       string          `json:"coachId" doc:"The id of the coach."`
	Mode          string          `json:"mode" doc:"The mode of the conversation, a word of the app's own."`
	Status        string          `json:"status" enum:"active,completed,archived" doc:"The state of the record."`
	Title         string          `json:"title,omitempty" doc:"The title, for people."`
	Attributes    object          `json:"attributes,omitempty"`
	MessageCount  int             `json:"messageCount" doc:"How many messages the session has."`
	StartedAt     *timestamp      `json:"startedAt" nullable:"true" doc:"The time of the first message, or null."`
	LastMessageAt *timestamp      `json:"lastMessageAt" nullable:"true" doc:"The time of the last message, or null."`
	Summary       *sessionSummary `json:"summary,omitempty" from:"-"`
	Skipped       []string        `json:"skippedMessages,omitempty" from:"-" doc:"Not read for memories after bad answers."`
}

// sessionSummary is the summary of a session so far.
type sessionSummary struct {
	Text           string    `json:"text" doc:"The text."`
	Kind           string    `json:"kind" enum:"model,extractive" doc:"Written by the model, or extracted as a fallback."`
	InProgress     bool      `json:"inProgress" doc:"Whether the session was still open."`
	CoveredThrough int       `json:"coveredThrough" doc:"The seq of the last message that it covers."`
	UpdatedAt      timestamp `json:"updatedAt"`
	Fields         object    `json:"fields" from:"-" doc:"The record type's own fields, as in a context query."`
}

func (out *session) complete(s conversation.Session) {
	for _, m := range s.Reading.Skipped {
		out.Skipped = append(out.Skipped, m.MessageID)
	}
	if record, ok := summary.Of(s); ok {
		shown := shown[sessionSummary](*s.Summary)
		shown.Fields, out.Summary = record.Fields, &shown
	}
}

type newSession struct {
	Context    contextName `json:"context" doc:"The surface of the app."`
	CoachID    id          `json:"coachId" doc:"The persona that the user talks to."`
	ID         id          `json:"sessionId,omitempty" doc:"The app's own id. Default: generated."`
	Mode       string      `json:"mode,omitempty" minLength:"1" maxLength:"128" doc:"Default: the context's mode."`
	Title      string      `json:"title,omitempty" maxLength:"1024" doc:"The title, for people."`
	Attributes object      `json:"attributes,omitempty" doc:"The app's own data, at most 64 KiB. No name may be messages."`
}

// namedSession is a session whose id is in the path.
type namedSession struct {
	Context    contextName `json:"context" doc:"The context of the session."`
	CoachID    id          `json:"coachId" doc:"The persona that the user talks to."`
	Mode       string      `json:"mode,omitempty" minLength:"1" maxLength:"128" doc:"Default: the context's mode."`
	Title      string      `json:"title,omitempty" maxLength:"1024" doc:"The title, for people."`
	Attributes object      `json:"attributes,omitempty" doc:"The app's own data, at most 64 KiB. No name may be messages."`
}

type changedSession struct {
	Status     *string          `json:"status,omitempty" enum:"active,completed,archived" doc:"completed is summarised."`
	Mode       *string          `json:"mode,omitempty" minLength:"1" maxLength:"128" doc:"The mode of the conversation, a word of the app's own."`
	Title      optional[string] `json:"title,omitzero" maxLength:"1024" doc:"null removes it."`
	Attributes object           `json:"attributes,omitempty" doc:"Merged by key, at most 64 KiB; null removes a key."`
}

// SessionPath is the path of what belongs to one session.
type SessionPath struct {
	ID id `path:"id" doc:"The session's id."`
}

type (
	sessionsInput struct {
		ListInput
		Context contextName `query:"context" doc:"Only sessions of this context."`
		Status  string      `query:"status" enum:"active,completed,archived" doc:"Only sessions of this status."`
		// Attributes is parsed by document.ParseFilter.
		Attributes string `query:"attributes" maxLength:"4096" doc:"Conditions on attributes, as a JSON object."`
	}
	newSessionInput struct {
		Idempotent
		Body newSession
	}
	namedSessionInput struct {
		SessionPath
		Body namedSession
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
	register(s.server, op("POST /v1/sessions", "createSession", tag, "Create a session",
		"A sessionId that this user has in any context is a conflict. Creating a session is not activity in it.",
	).answers(http.StatusCreated).or(http.StatusConflict), s.create)
	registerDoc(s.server, op("GET /v1/sessions", "listSessions", tag, "List sessions",
		"The latest activity first, to the quarter hour. attributes is a JSON object of values that top-level "+
			"attributes equal, or of operators as in the filter of documents. A page of such a list reads a bounded number of "+
			"sessions, so it may be short or empty, with a nextCursor.",
	), s.list)
	registerDoc(s.server, op("GET /v1/sessions/{id}", "getSession", tag, "Get a session"), s.get)
	register(s.server, op("PUT /v1/sessions/{id}", "getOrCreateSession", tag, "Get a session, or create it",
		"Creates the session, 201, or returns the one that has the id, 200, as it is: its mode, title and "+
			"attributes stay. A session of another context or coach is a conflict. The call may be repeated without a key.",
	).or(http.StatusConflict).responds(
		bodyOf[session](http.StatusOK),
		bodyOf[session](http.StatusCreated, header("Location", &huma.Schema{
			Type: huma.TypeString, Description: "The path of the new record.",
		}))), s.getOrCreate)
	registerDoc(s.server, op("PATCH /v1/sessions/{id}", "changeSession", tag, "Change a session",
		"A completed session is summarised, and is active again when the user says something after that. An "+
			"archived session stays archived.",
	).or(http.StatusConflict), s.change)
	registerDone(s.server, op("DELETE /v1/sessions/{id}", "deleteSession", tag, "Delete a session",
		"Also deletes its messages, summaries, vectors and the facts drawn only from it.",
	), s.delete)
	registerDone(s.server, op("POST /v1/sessions/{id}/leave", "leaveSession", tag, "Leave a session",
		"The user navigated away. A summary of the session so far follows.",
	).answers(http.StatusAccepted), s.leave)
}

func (s sessions) create(ctx context.Context, c Caller, in *newSessionInput) (*created[session], error) {
	if err := c.checkNames(slices.Collect(maps.Keys(in.Body.Attributes))...); err != nil {
		return nil, err
	}
	made, err := s.store.CreateSession(ctx, c.User, filled[conversation.NewSession](in.Body), in.idempotency(in.Body))
	if err != nil {
		return nil, err
	}
	return newCreated(shown[session](made.Session), pathOf("sessions", made.Session.ID), made.Replayed), nil
}

// getOrCreate makes two attempts, because the session that was there may be deleted before it is read.
func (s sessions) getOrCreate(ctx context.Context, c Caller, in *namedSessionInput) (*varied, error) {
	wanted := filled[conversation.NewSession](in.Body)
	wanted.ID = string(in.ID)
	err := c.checkNames(slices.Collect(maps.Keys(in.Body.Attributes))...)
	if err != nil {
		return nil, err
	}
	for range 2 {
		var made conversation.Created
		made, err = s.store.CreateSession(ctx, c.User, wanted, conversation.Idempotency{})
		if err == nil {
			return &varied{
				Status: http.StatusCreated, Location: pathOf("sessions", string(in.ID)), Body: shown[session](made.Session),
			}, nil
		}
		if !fault.Is(err, fault.Conflict) {
			return nil, err
		}
		there, readErr := s.store.Session(ctx, c.User, string(in.ID))
		switch {
		case fault.Is(readErr, fault.NotFound):
			continue
		case readErr != nil:
			return nil, readErr
		case there.Context != wanted.Context || there.CoachID != wanted.CoachID:
			return nil, fault.Newf(fault.Conflict, "the session has the context %s and the coach %s", there.Context,
				there.CoachID)
		}
		return &varied{Status: http.StatusOK, Body: shown[session](there)}, nil
	}
	return nil, err
}

func (s sessions) list(ctx context.Context, c Caller, in *sessionsInput) (list[session], error) {
	return listed(s.server, c, in.ListInput, true, shown[session],
		func(page conversation.Page) ([]conversation.Session, conversation.Position, error) {
			attributes, err := document.ParseFilter("attributes", in.Attributes)
			if err != nil {
				return nil, "", err
			}
			var keep func(conversation.Session) bool
			if len(attributes) > 0 {
				keep = func(of conversation.Session) bool { return attributes.MatchesObject(of.Attributes) }
			}
			filter := conversation.SessionFilter{Context: string(in.Context), Status: conversation.Status(in.Status)}
			return filtered(page, keep, func(page conversation.Page) ([]conversation.Session, conversation.Position, error) {
				return s.store.Sessions(ctx, c.User, filter, page)
			})
		})
}

func (s sessions) get(ctx context.Context, c Caller, in *SessionPath) (session, error) {
	return show[session](s.store.Session(ctx, c.User, string(in.ID)))
}

func (s sessions) change(ctx context.Context, c Caller, in *changedSessionInput) (session, error) {
	if err := c.checkNames(slices.Collect(maps.Keys(in.Body.Attributes))...); err != nil {
		return session{}, err
	}
	change := filled[conversation.SessionChange](in.Body)
	if in.Body.Title.set && change.Title == nil {
		change.Title = new(string)
	}
	return show[session](s.store.UpdateSession(ctx, c.User, string(in.ID), change))
}

func (s sessions) delete(ctx context.Context, c Caller, in *SessionPath) error {
	return s.remove.DeleteSession(ctx, c.User, string(in.ID))
}

func (s sessions) leave(ctx context.Context, c Caller, in *SessionPath) error {
	return s.store.LeaveSession(ctx, c.User, string(in.ID), s.storedNow())
}
