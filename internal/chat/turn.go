package chat

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/truncate"
)

// Answer is the stream of one turn's events. Replayed is true when an earlier call with the same idempotency key
// finished the turn.
type Answer struct {
	Events   iter.Seq[Event]
	Replayed bool
}

// Start stores the user's message, builds the prompt and returns the stream of the answer. The caller ranges over the
// stream once, and may stop early when its client goes away: the answer is generated to its end all the same.
//
// The errors of Start are failures before the first event: Invalid, NotFound for the session, Conflict with RetryAfter
// while another request with the same idempotency key generates, IdempotencyMismatch, RateLimited with RetryAfter when
// the user's tokens of the day are spent or as many answers are under way as may be at once, or Unavailable.
func (s *Service) Start(ctx context.Context, user conversation.UserID, r Request) (Answer, error) {
	ctx, turn := s.startSpan(ctx, r.SessionID, r.AgentID)
	answer, err := s.start(ctx, user, r)
	if err != nil {
		s.observe(ctx, Outcome{Failure: err})
		turn.End(err)
		return answer, err
	}
	return turn.watch(answer, s.Now), nil
}

func (s *Service) observe(ctx context.Context, o Outcome) {
	if s.Observe != nil {
		s.Observe(ctx, o)
	}
}

func (s *Service) start(ctx context.Context, user conversation.UserID, r Request) (Answer, error) {
	began := s.Now()
	if err := r.validate(); err != nil {
		return Answer{}, err
	}
	question := s.message(r)
	if err := prompt.CheckTurn(
		prompt.Request{Recipe: r.Recipe, AgentID: r.AgentID}, question.Messages[0].Tokens); err != nil {
		return Answer{}, err
	}
	embedding := s.embed(ctx, r)
	defer embedding.stop()
	taken := time.Now()
	turn, err := s.Turns.BeginTurn(ctx, user, question, leaseTime)
	if err != nil {
		return Answer{}, err
	}
	if turn.Answer != nil {
		return Answer{Events: replay(turn), Replayed: true}, nil
	}
	lease := s.keepLease(ctx, user, turn, taken)
	p, err := s.build(ctx, lease, r, embedding)
	if err != nil {
		return Answer{}, err
	}
	g := &answerRun{turnLease: lease, request: r, prompt: p, began: began}
	return Answer{Events: func(yield func(Event) bool) { g.run(ctx, yield) }}, nil
}

// build has the prompt built. When it can't be built, it gives the turn's lease back.
func (s *Service) build(ctx context.Context, l *turnLease, r Request, e *embedding) (prompt.Prompt, error) {
	building, cancel := context.WithTimeout(l.held, buildTimeout)
	defer cancel()
	//nolint:contextcheck // the prompt is built even when the client goes away
	p, err := s.Prompts.Build(building, l.user, promptRequest(l.turn, r, e.wait()))
	if ended := l.ended(); ended != nil {
		err = ended
	}
	if err != nil {
		l.release(ctx, 0)
	}
	return p, err
}

func (s *Service) message(r Request) conversation.Append {
	return conversation.Append{
		SessionID:   r.SessionID,
		Idempotency: r.Idempotency,
		Messages: []conversation.NewMessage{{
			Role: conversation.RoleUser, Content: r.Message, AgentID: r.AgentID, Tokens: s.Tokens.Count(r.Message),
			AwaitsAnswer: true,
		}},
	}
}

func promptRequest(turn conversation.Turn, r Request, e *recall.Embedding) prompt.Request {
	return prompt.Request{
		Recipe: r.Recipe, Context: turn.Session.Context, SessionID: turn.Session.ID, CoachID: turn.Session.CoachID,
		AgentID: r.AgentID, Message: r.Message, MessageID: turn.Message.ID, SkipSave: true,
		Ahead: &prompt.Ahead{Embedding: e, Generation: turn.Session.Generation},
	}
}

// answerRun is one answer that is being generated.
type answerRun struct {
	*turnLease
	request Request
	prompt  prompt.Prompt
	text    strings.Builder
	// began is when the request came, and first how long the first piece of the answer took from then.
	began time.Time
	first time.Duration
}

// run generates the answer under its own deadline. When the client goes away, only the events stop.
func (g *answerRun) run(ctx context.Context, yield func(Event) bool) {
	listening := true
	emit := func(name string, data any) {
		listening = listening && yield(Event{Name: name, Data: data})
	}
	g.said.begin(g.prompt.ID)
	emit("prompt", Built{PromptID: g.prompt.ID, UserMessageID: g.turn.Message.ID, AnswerID: g.turn.AnswerID})

	ctx, cancel := g.deadline(ctx)
	defer cancel()
	defer g.stop()
	var work errgroup.Group
	work.Go(func() error { return g.savePrompt(ctx) })

	completion, failure := g.generate(ctx, func(delta string) error {
		fits := truncate.Bytes(delta, conversation.MaxContentBytes-g.text.Len())
		if fits != "" {
			g.write(fits)
			emit("token", Token{Text: fits})
		}
		if fits != delta {
			return errOverlong
		}
		return nil
	})
	done, err := g.finish(ctx, completion, failure)
	g.observe(ctx, Outcome{
		Usage: completion.Usage, FirstToken: g.first, Interrupted: done.FinishReason == Interrupted, Failure: err,
	})
	g.stop()
	if werr := work.Wait(); werr != nil {
		g.Report(ctx, "save prompt", werr)
	}
	if err != nil {
		emit("error", fault.From(err))
		return
	}
	emit("done", done)
}

// write adds a piece to the answer.
func (g *answerRun) write(delta string) {
	if g.first == 0 {
		g.first = g.Now().Sub(g.began)
	}
	g.text.WriteString(delta)
	g.said.add(delta)
}

// deadline limits the answer to the service's timeout, to the time that the invocation has left, and to that of the
// lease. The client's cancellation does not end it.
func (g *answerRun) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(g.held, beforeEnd(ctx, g.Now().Add(g.Timeout)))
}

// beforeEnd returns an end, or an earlier one that leaves the reserve before the invocation's deadline.
func beforeEnd(ctx context.Context, end time.Time) time.Time {
	if invocation, ok := ctx.Deadline(); ok && invocation.Add(-reserve).Before(end) {
		return invocation.Add(-reserve)
	}
	return end
}

func (g *answerRun) savePrompt(ctx context.Context) error {
	stored, err := prompt.NewStoredPrompt(g.prompt, prompt.SaveOptions{
		Text: g.StoreText, Now: g.Now(), TTL: g.Retention, Generation: g.turn.Session.Generation,
		SessionCreatedAt: g.turn.Session.CreatedAt,
	})
	if err != nil {
		return err
	}
	// The manifest is stored even when the answer is done first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reserve)
	defer cancel()
	return g.Archive.SavePrompt(ctx, g.user, stored)
}

// finish stores what was generated. An answer that was cut is stored with metadata.interrupted, unless another request
// may be generating a whole one. When nothing is stored, the turn is released and the failure is returned.
func (g *answerRun) finish(ctx context.Context, c llm.Completion, failure error) (Done, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reserve)
	defer cancel()
	spent := g.tokensSpent(c)
	if ended := g.ended(); failure != nil && ended != nil {
		g.release(ctx, spent)
		return Done{}, ended
	}
	if g.text.Len() == 0 {
		g.release(ctx, spent)
		return Done{}, cmp.Or(ofService(failure), errNoAnswer)
	}
	done := Done{Usage: c.Usage, FinishReason: cmp.Or(c.FinishReason, llm.FinishStop), Model: c.Model}
	if failure != nil {
		g.Report(ctx, "generate answer", failure)
		done.FinishReason = Interrupted
	}
	data := answerData{
		PromptID: g.prompt.ID, FinishReason: done.FinishReason, Usage: &done.Usage, Model: done.Model,
		Interrupted: failure != nil,
	}
	answer, err := g.Turns.FinishTurn(ctx, g.user, g.spent(spent), conversation.NewMessage{
		Role: conversation.RoleAssistant, Content: g.text.String(), AgentID: g.request.AgentID,
		Metadata: data.metadata(), Tokens: g.Tokens.Count(g.text.String()),
	})
	if err != nil {
		if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Internal) {
			spent = 0 // the answer may be stored, and is charged then
		}
		g.release(ctx, spent)
		return Done{}, err
	}
	done.MessageID = answer.ID
	return done, nil
}

// tokensSpent returns how many tokens the turn is charged. An answer that was cut, and some services' answers, come
// without their usage. A model that has said nothing is charged what it says it took.
func (g *answerRun) tokensSpent(c llm.Completion) int {
	if c.Usage.TotalTokens > 0 || g.text.Len() == 0 {
		return c.Usage.TotalTokens
	}
	return g.prompt.Tokens.Total + g.Tokens.Count(g.text.String())
}

// ofService returns the failure of a model for the user. That the model's service refuses for its own limits is not
// RateLimited, which would say that the user asks for too much.
func ofService(failure error) error {
	if !fault.Is(failure, fault.RateLimited) {
		return failure
	}
	busy := fault.Wrap(fault.Unavailable, "generate answer", failure)
	busy.Message = "the model's service has reached its limits; try again later"
	busy.RetryAfter = fault.From(failure).RetryAfter
	return busy
}

// errOverlong cuts an answer that is longer than a message may be.
var errOverlong error = fault.New(fault.Unavailable, "the model's answer is longer than a message may be")

// errNoAnswer is the failure of a model that returned neither text nor an error.
var errNoAnswer error = fault.New(fault.Unavailable, "the model gave no answer")
