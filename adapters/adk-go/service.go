// Package adk is the memory of Throughline for the Agent Development Kit in Go: a session.Service and a memory.Service.
//
// An event is a message: its text is what other screens hear of, and the event comes back as it was. The state of a
// session is that which it was created with and the changes of its events. What sessions share is in documents: the
// user's state with the user, and the app's with a user of its own.
package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"time"

	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/session"

	throughline "github.com/throughline/throughline/clients/go"
)

// Options are what the services are made with. Client is needed, and for sessions Context and CoachID.
type Options struct {
	// Client has the server's credential, which acts for users.
	Client *throughline.Client
	// Context is the screen of the app, by its name in the app's registry. CoachID is whom the user talks to.
	Context, CoachID string
	// User returns the user of Throughline for a user of the app. The one for "" holds what all users of the app share.
	// Default: the same id, and for "" one that is made of the app's name.
	User func(appName, userID string) string
	// Timeout is how long an agent waits for a search of the memory. Default: 1.5 s.
	Timeout time.Duration
}

// appPrefix begins the names that the API lets only the app write, and the id of the one who is no user.
const appPrefix = "app:"

// as returns a client that acts for a user; for "", for the one who holds what all users share.
func (o Options) as(appName, userID string) *throughline.Client {
	switch {
	case o.User != nil:
		userID = o.User(appName, userID)
	case userID == "":
		userID = appPrefix + "adk-" + hashed(appName)
	case strings.HasPrefix(userID, appPrefix):
		userID = "" // which the API refuses
	}
	return o.Client.As(userID)
}

// Sessions is a session.Service. It is safe for concurrent use, also by several processes for one session.
type Sessions struct{ Options }

var _ session.Service = (*Sessions)(nil)

// NewSessions returns the sessions of one screen.
func NewSessions(o Options) *Sessions { return &Sessions{o} }

// The attributes of a session: the app that created it, and the state that it was created with, as JSON.
const (
	appAttribute   = appPrefix + "adkApp"
	stateAttribute = appPrefix + "adkState"
)

// Create creates a session. One that exists is an error.
func (s *Sessions) Create(ctx context.Context, r *session.CreateRequest) (*session.CreateResponse, error) {
	if r.AppName == "" || r.UserID == "" {
		return nil, fmt.Errorf("create session: AppName %q and UserID %q are required", r.AppName, r.UserID)
	}
	id := r.SessionID
	if id == "" {
		id = platform.NewUUID(ctx)
	}
	app, user, own := split(r.State)
	text, err := json.Marshal(own)
	if err != nil {
		return nil, fmt.Errorf("create session: state: %w", err)
	}
	if err := s.note(ctx, r.AppName, r.UserID); err != nil {
		return nil, err
	}
	created, err := s.as(r.AppName, r.UserID).CreateSession(ctx, throughline.NewSession{
		SessionID: throughline.EncodeSessionID(id), Context: s.Context, CoachID: s.CoachID,
		Attributes: map[string]any{appAttribute: r.AppName, stateAttribute: string(text)},
	})
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	if err := s.putShared(ctx, r.AppName, r.UserID, app, user); err != nil {
		return nil, err
	}
	out, err := s.open(ctx, r.AppName, r.UserID, created)
	if err != nil {
		return nil, err
	}
	return &session.CreateResponse{Session: out}, nil
}

// open returns a session with the state that it was created with and what sessions share, without its events.
func (s *Sessions) open(ctx context.Context, app, user string, stored *throughline.Session) (*Session, error) {
	id, ok := throughline.DecodeSessionID(stored.SessionID)
	if !ok {
		id = stored.SessionID // of a very long id only the hash is kept
	}
	state, err := s.shared(ctx, app, user)
	if err != nil {
		return nil, err
	}
	if text, ok := stored.Attributes[stateAttribute].(string); ok {
		own := map[string]any{}
		if err := json.Unmarshal([]byte(text), &own); err != nil {
			slog.WarnContext(ctx, "skip the state of a session", "session", id, "error", err)
		}
		_, _, own = split(own)
		maps.Copy(state, own)
	}
	out := &Session{id: id, app: app, user: user, state: state}
	if stored.LastMessageAt != nil {
		out.updated = *stored.LastMessageAt
	}
	return out, nil
}

// Get returns a session with its events. All of them are read, because the session's state follows from them.
func (s *Sessions) Get(ctx context.Context, r *session.GetRequest) (*session.GetResponse, error) {
	if r.AppName == "" || r.UserID == "" || r.SessionID == "" {
		return nil, fmt.Errorf("get session: AppName %q, UserID %q and SessionID %q are required",
			r.AppName, r.UserID, r.SessionID)
	}
	client, id := s.as(r.AppName, r.UserID), throughline.EncodeSessionID(r.SessionID)
	stored, err := client.GetSession(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("get session %s: %w", r.SessionID, err)
	}
	if !isOf(stored, r.AppName) {
		return nil, fmt.Errorf("get session %s: it is of another app than %s", r.SessionID, r.AppName)
	}
	out, err := s.open(ctx, r.AppName, r.UserID, stored)
	if err != nil {
		return nil, err
	}
	out.id = r.SessionID
	for message, err := range client.ListMessages(ctx, id, throughline.ListMessagesQuery{Limit: 200}).All() {
		if err != nil {
			return nil, fmt.Errorf("get session %s: %w", r.SessionID, err)
		}
		event := toEvent(&message)
		_, _, own := split(event.Actions.StateDelta)
		maps.Copy(out.state, own)
		out.events = append(out.events, event)
	}
	out.keep(r.NumRecentEvents, r.After)
	return &session.GetResponse{Session: out}, nil
}

// isOf reports whether an app sees a session. One that another screen created is of any app.
func isOf(stored *throughline.Session, app string) bool {
	creator, known := stored.Attributes[appAttribute]
	return !known || creator == app
}

// List returns the sessions of a user, or of all users of the app, without events and the state that follows from them.
func (s *Sessions) List(ctx context.Context, r *session.ListRequest) (*session.ListResponse, error) {
	if r.AppName == "" {
		return nil, errors.New("list sessions: AppName is required")
	}
	if r.UserID == "" {
		return s.listAll(ctx, r.AppName)
	}
	sessions, err := s.listOf(ctx, r.AppName, r.UserID)
	return &session.ListResponse{Sessions: sessions}, err
}

func (s *Sessions) listOf(ctx context.Context, app, user string) ([]session.Session, error) {
	out := []session.Session{}
	for stored, err := range s.as(app, user).ListSessions(ctx, throughline.ListSessionsQuery{}).All() {
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		if !isOf(&stored, app) {
			continue
		}
		listed, err := s.open(ctx, app, user, &stored)
		if err != nil {
			return nil, err
		}
		out = append(out, listed)
	}
	return out, nil
}

// note stores that a user has a session, for the list of all users' sessions.
func (s *Sessions) note(ctx context.Context, app, user string) error {
	document := throughline.NewDocument{Value: map[string]any{"userId": user}, Index: []string{}}
	if _, err := s.as(app, "").PutDocument(ctx, usersNamespace+hashed(app), hashed(user), document); err != nil {
		return fmt.Errorf("note the user: %w", err)
	}
	return nil
}

// noteAge is how old the note of a user is at least who has no session and is forgotten. A younger one may be of a
// session that is being created.
var noteAge = time.Hour

// listAll returns the sessions of all users who have created one. It forgets users who have none any more, such as
// those who were erased.
func (s *Sessions) listAll(ctx context.Context, app string) (*session.ListResponse, error) {
	out := &session.ListResponse{Sessions: []session.Session{}}
	holder, namespace := s.as(app, ""), usersNamespace+hashed(app)
	for noted, err := range holder.ListDocuments(ctx, throughline.ListDocumentsQuery{Namespace: namespace}).All() {
		if err != nil {
			return nil, fmt.Errorf("list users: %w", err)
		}
		user, _ := noted.Value["userId"].(string)
		sessions, err := s.listOf(ctx, app, user)
		if err != nil {
			return nil, err
		}
		out.Sessions = append(out.Sessions, sessions...)
		if len(sessions) > 0 || time.Since(noted.UpdatedAt) < noteAge {
			continue
		}
		if err := holder.DeleteDocument(ctx, namespace, noted.Key); err != nil && !isStatus(err, http.StatusNotFound) {
			return nil, fmt.Errorf("forget user: %w", err)
		}
	}
	return out, nil
}

// Delete deletes a session with its messages and what was drawn from them. One that does not exist is no error.
func (s *Sessions) Delete(ctx context.Context, r *session.DeleteRequest) error {
	if r.AppName == "" || r.UserID == "" || r.SessionID == "" {
		return fmt.Errorf("delete session: AppName %q, UserID %q and SessionID %q are required",
			r.AppName, r.UserID, r.SessionID)
	}
	err := s.as(r.AppName, r.UserID).DeleteSession(ctx, throughline.EncodeSessionID(r.SessionID))
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// isStatus reports whether an error is the API's answer with a status.
func isStatus(err error, status int) bool {
	problem, ok := errors.AsType[*throughline.ProblemError](err)
	return ok && problem.Status == status
}

// AppendEvent stores an event, and applies it to the session that the caller has. Temporary state and partial events
// are not stored. The state that sessions share is stored first: an event that is stored has its state, and a repeat of
// an event whose answer was lost stores nothing twice.
func (s *Sessions) AppendEvent(ctx context.Context, current session.Session, event *session.Event) error {
	if current == nil || event == nil {
		return errors.New("append event: the session and the event are required")
	}
	if event.Partial {
		return nil
	}
	if event.ID == "" {
		event.ID = platform.NewUUID(ctx)
	}
	stored := withoutTemp(event)
	message, err := toMessage(stored)
	if err != nil {
		return err
	}
	app, user, _ := split(stored.Actions.StateDelta)
	if err := s.putShared(ctx, current.AppName(), current.UserID(), app, user); err != nil {
		return err
	}
	client := s.as(current.AppName(), current.UserID())
	_, err = client.AppendMessages(ctx, throughline.EncodeSessionID(current.ID()),
		throughline.NewMessages{Messages: []throughline.NewMessage{message}})
	if err != nil {
		return fmt.Errorf("append event %s: %w", event.ID, err)
	}
	if own, ok := current.(*Session); ok {
		own.apply(event, stored)
	}
	return nil
}
