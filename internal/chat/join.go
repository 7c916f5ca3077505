package chat

import (
	"context"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/fault"
)

const (
	// followAfter is how often one who has joined a turn looks how far it is.
	followAfter = 400 * time.Millisecond
	// askAfter is how often one asks for the progress. The function that generates the answer looks every watchAfter.
	askAfter = 8 * time.Second
)

// Join returns the stream of the answer that is being generated in a session, from its beginning, whichever process
// generates it. Events is nil where there is none. The text comes in steps: the first within watchAfter and a second,
// the next ones each second, and the rest when the answer is stored. The stream ends with an error when the turn is
// given up, and when the session is deleted or the user erased. When the caller stops ranging over the events, the
// answer goes on.
//
// Errors are NotFound for a session that the user does not have, and RateLimited with RetryAfter for a user who has
// joined as many answers as may be at once.
func (s *Service) Join(ctx context.Context, user conversation.UserID, sessionID string) (Answer, error) {
	if !conversation.ValidID(sessionID) {
		return Answer{}, fault.Missing("session")
	}
	turn, err := s.Joins.JoinTurn(ctx, user, sessionID, Longest(s.Timeout))
	if err != nil || turn.End == nil {
		return Answer{}, err
	}
	f := &follower{Service: s, user: user, turn: turn}
	return Answer{Events: func(yield func(Event) bool) { f.run(ctx, yield) }}, nil
}

// follower is one who has joined a turn.
type follower struct {
	*Service
	user conversation.UserID
	turn conversation.Joined
	// begun says that the first event was sent, sent is the text that was.
	begun bool
	sent  string
}

func (f *follower) run(ctx context.Context, yield func(Event) bool) {
	defer f.leave(ctx)
	ctx, cancel := context.WithDeadline(ctx, beforeEnd(ctx, time.Now().Add(Longest(f.Timeout))))
	defer cancel()
	for asked := time.Now(); ; {
		p, err := f.Joins.FollowTurn(ctx, f.user, f.turn)
		if err != nil {
			yield(Event{"error", fault.From(err)})
			return
		}
		for _, e := range f.news(p) {
			if !yield(e) || e.Name == "done" || e.Name == "error" {
				return
			}
		}
		if time.Since(asked) > askAfter {
			asked = time.Now()
			if err := f.Joins.AskForProgress(ctx, f.user, f.turn); err != nil {
				f.Report(ctx, "ask for progress", err)
			}
		}
		if delay.Sleep(ctx, followAfter) != nil {
			yield(Event{"error", errTooLong})
			return
		}
	}
}

// leave gives the place of this follower back. It lapses by itself if that fails.
func (f *follower) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTimeout)
	defer cancel()
	if err := f.turn.End(ctx); err != nil {
		f.Report(ctx, "leave turn", err)
	}
}

// news returns the events that follow what was sent.
func (f *follower) news(p conversation.Progress) []Event {
	var events []Event
	said := p.Text
	if p.Answer != nil {
		said, p.PromptID = p.Answer.Content, answerDataOf(*p.Answer).PromptID
		p.AnswerID = p.Answer.ID
	}
	if !f.begun && p.PromptID != "" {
		f.begun = true
		events = append(events, Event{"prompt", Built{
			PromptID: p.PromptID, UserMessageID: p.QuestionID, AnswerID: p.AnswerID,
		}})
	}
	rest, ok := strings.CutPrefix(said, f.sent)
	if !ok && !strings.HasPrefix(f.sent, said) {
		return append(events, Event{"error", errAnsweredAnew})
	}
	if rest != "" && f.begun && ok {
		f.sent = said
		events = append(events, Event{"token", Token{Text: rest}})
	}
	switch {
	case p.Answer != nil && len(said) < len(f.sent):
		events = append(events, Event{"error", errAnsweredAnew})
	case p.Answer != nil:
		events = append(events, Event{"done", doneOf(*p.Answer)})
	case p.Ended:
		events = append(events, Event{"error", errGivenUp})
	}
	return events
}

var (
	errAnsweredAnew error = fault.New(fault.Conflict, "the question is being answered anew")
	errGivenUp      error = fault.New(fault.Unavailable, "the answer has ended before it was complete")
	errTooLong      error = fault.New(fault.Unavailable, "the answer takes longer than this stream may; join it again")
)
