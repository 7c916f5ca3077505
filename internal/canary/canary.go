// Package canary has turns of the chat that no user asked for: an outage is seen in hours without users, too. Each turn
// is whole. It has a session of its own, and the question, the prompt, the model's answer and the deletion are those of
// any user.
package canary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/registry"
)

// User is the user of all turns. No issuer gives this id to a person.
const User conversation.UserID = "throughline:canary"

const (
	question = "This checks that you can answer. Answer with one word."
	// leftover is the age from which a session is no turn under way: a turn whose deletion failed has left it.
	leftover = 15 * time.Minute
	// leftovers is how many sessions one turn looks at.
	leftovers = 20
	// deleteTimeout limits the deletion of the turn's session, which is also tried where the turn's time is over.
	deleteTimeout = 20 * time.Second
)

// Sessions makes and lists sessions.
type Sessions interface {
	CreateSession(ctx context.Context, user conversation.UserID, in conversation.NewSession,
		idem conversation.Idempotency) (conversation.Created, error)
	Sessions(ctx context.Context, user conversation.UserID, filter conversation.SessionFilter,
		page conversation.Page) ([]conversation.Session, conversation.Position, error)
}

// Chat answers a question.
type Chat interface {
	Start(ctx context.Context, user conversation.UserID, r chat.Request) (chat.Answer, error)
}

// Eraser deletes a session with everything derived from it.
type Eraser interface {
	DeleteSession(ctx context.Context, user conversation.UserID, id string) error
}

// Service has turns. All fields are needed.
type Service struct {
	Sessions Sessions
	Chat     Chat
	Eraser   Eraser
	Now      func() time.Time
}

// Turn has one turn in the first context of the app, and deletes it. An answer that was cut, or is empty, is an error.
func (s *Service) Turn(ctx context.Context) (err error) {
	created, err := s.Sessions.CreateSession(ctx, User, newSession(registry.Live()), conversation.Idempotency{})
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	defer func() { err = errors.Join(err, s.clean(ctx, created.Session.ID)) }()
	answer, err := s.Chat.Start(ctx, User, chat.Request{SessionID: created.Session.ID, Message: question})
	if err != nil {
		return fmt.Errorf("begin turn: %w", err)
	}
	return read(answer)
}

// newSession returns a session on the first screen of the app, with its first coach.
func newSession(app *registry.App) conversation.NewSession {
	in := conversation.NewSession{CoachID: "canary"}
	for _, c := range slices.Backward(app.Contexts) {
		if !c.Retired {
			in.Context = c.Name
		}
	}
	if len(app.Coaches) > 0 {
		in.CoachID = app.Coaches[0].ID
	}
	return in
}

// read reads the answer to its end.
func read(answer chat.Answer) error {
	var text strings.Builder
	err := errors.New("the answer has no end")
	for event := range answer.Events {
		switch data := event.Data.(type) {
		case chat.Token:
			text.WriteString(data.Text)
		case chat.Done:
			err = nil
			if data.FinishReason == chat.Interrupted {
				err = errors.New("the answer was cut")
			}
		case error:
			err = fmt.Errorf("answer: %w", data)
		}
	}
	if err == nil && strings.TrimSpace(text.String()) == "" {
		err = errors.New("the answer is empty")
	}
	return err
}

// clean deletes the turn's session, and what earlier turns have left.
func (s *Service) clean(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	failures := []error{s.delete(ctx, id)}
	sessions, _, err := s.Sessions.Sessions(ctx, User, conversation.SessionFilter{}, conversation.Page{Limit: leftovers})
	failures = append(failures, err)
	for _, session := range sessions {
		if session.ID != id && s.Now().Sub(session.CreatedAt) > leftover {
			failures = append(failures, s.delete(ctx, session.ID))
		}
	}
	return errors.Join(failures...)
}

func (s *Service) delete(ctx context.Context, id string) error {
	if err := s.Eraser.DeleteSession(ctx, User, id); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}
