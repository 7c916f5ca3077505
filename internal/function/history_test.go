package function_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

var none conversation.Idempotency

const (
	trains = "Trains at six."
	slept  = "Slept well."
)

// isRecord reports whether a text that was embedded is that of a memory or of a check-in.
func isRecord(text string) bool {
	return strings.Contains(text, trains) || strings.Contains(text, slept)
}

// history is what two users do. The first moves between sessions, and asks a question that gets no answer.
var history = []func(context.Context, *pipeline) error{
	func(ctx context.Context, p *pipeline) error {
		return errors.Join(p.open(ctx, "ann", "coach_conversation", "chat"), p.chat(ctx, "ann", "chat", 3),
			p.open(ctx, "bob", "coach_conversation", "other"), p.append(ctx, "bob", "other", 24))
	},
	func(ctx context.Context, p *pipeline) error {
		return errors.Join(p.open(ctx, "ann", "workout_log", "log"), p.append(ctx, "ann", "log", 2),
			p.chat(ctx, "ann", "log", 1), p.ask(ctx, "bob", "other"))
	},
	func(ctx context.Context, p *pipeline) error {
		_, _, memory := p.memories.Create(ctx, "ann", longterm.Memory{Type: "PROFILE", Content: trains}, none)
		_, _, checkIn := p.checkIns.Create(ctx, "ann", longterm.CheckIn{Note: slept}, none)
		return errors.Join(memory, checkIn, p.chat(ctx, "ann", "chat", 2), p.append(ctx, "bob", "other", 22))
	},
	func(ctx context.Context, p *pipeline) error {
		completed := conversation.Completed
		_, err := p.sessions.UpdateSession(ctx, "bob", "other", conversation.SessionChange{Status: &completed})
		return errors.Join(err, p.chat(ctx, "ann", "log", 1), p.ask(ctx, "ann", "log"))
	},
}

// open creates a session.
func (p *pipeline) open(ctx context.Context, user conversation.UserID, appContext, id string) error {
	_, err := p.sessions.CreateSession(ctx, user, conversation.NewSession{ID: id, Context: appContext, CoachID: "c"}, none)
	return err
}

// say returns the next message. It is longer than what a vector takes of the message before.
func (p *pipeline) say(user conversation.UserID, id string, role conversation.Role) conversation.NewMessage {
	p.now = p.now.Add(time.Second)
	text := fmt.Sprintf("%s in %s at %s: %s", role, id, p.now.Format(time.TimeOnly), strings.Repeat("We lift. ", 40))
	return conversation.NewMessage{Role: role, Content: text + string(user), Timestamp: p.now}
}

// ask stores a question of a chat.
func (p *pipeline) ask(ctx context.Context, user conversation.UserID, id string) error {
	_, err := p.begin(ctx, user, id)
	return err
}

func (p *pipeline) begin(ctx context.Context, user conversation.UserID, id string) (conversation.Turn, error) {
	question := p.say(user, id, conversation.RoleUser)
	question.AwaitsAnswer = true
	in := conversation.Append{SessionID: id, Messages: []conversation.NewMessage{question}}
	return p.turns.BeginTurn(ctx, user, in, time.Minute)
}

// chat stores turns of a chat.
func (p *pipeline) chat(ctx context.Context, user conversation.UserID, id string, turns int) error {
	for range turns {
		turn, err := p.begin(ctx, user, id)
		if err != nil {
			return err
		}
		if _, err := p.turns.FinishTurn(ctx, user, turn, p.say(user, id, conversation.RoleAssistant)); err != nil {
			return err
		}
	}
	return nil
}

// append stores messages, two in each call, with the system's among them.
func (p *pipeline) append(ctx context.Context, user conversation.UserID, id string, n int) error {
	for i := 0; i < n; i += 2 {
		second := conversation.RoleAssistant
		if i%6 == 4 {
			second = conversation.RoleSystem
		}
		in := conversation.Append{SessionID: id}
		in.Messages = append(in.Messages, p.say(user, id, conversation.RoleUser), p.say(user, id, second))
		if _, err := p.messages.Append(ctx, user, in); err != nil {
			return err
		}
	}
	return nil
}
