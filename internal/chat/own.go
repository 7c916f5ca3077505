package chat

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
)

// OwnRequest begins a turn whose answer the app's own model generates.
type OwnRequest struct {
	SessionID string
	// Messages are stored. The last one is the user's current message. There may be none where Replaces keeps one.
	Messages []conversation.NewMessage
	// Replaces, if set, is what the turn takes the place of, in the step that stores its message.
	Replaces *conversation.Replaces
	AgentID  string
	Recipe   string
	Format   string
	Budget   *prompt.Budget
	Scoping  *prompt.Scoping
	// Tools are the app's own. They follow the prompt's.
	Tools []llm.Tool
	// Idempotency needs a key.
	Idempotency conversation.Idempotency
}

// OwnTurn is a turn that has begun.
type OwnTurn struct {
	ID            string
	UserMessageID string
	Prompt        prompt.Prompt
	// Replayed says that an earlier call with the same key has begun it.
	Replayed bool
}

// OwnAnswer ends a turn.
type OwnAnswer struct {
	Content      string
	Parts        []conversation.Part
	Usage        llm.Usage
	FinishReason string
	Model        string
	// Failure says why the answer is not whole, or why there is none. It marks the answer as interrupted. It is not
	// stored, because the user may read the message and an error of the app's model is the app's.
	Failure string
}

// OwnEnd is what a turn came to.
type OwnEnd struct {
	// Answer is nil for a turn that failed without one.
	Answer *conversation.Message
	// Session is the session after the turn.
	Session conversation.Session
}

// OwnState is how a turn is.
type OwnState struct {
	UserMessageID string
	// Status is TurnOpen, TurnFinished or TurnInterrupted. MessageID is that of the answer of a finished turn.
	Status    string
	MessageID string
}

// The states of a turn. An interrupted one failed without an answer, or was not finished while its lease lasted.
const (
	TurnOpen        = "open"
	TurnFinished    = "finished"
	TurnInterrupted = "interrupted"
)

const (
	// ownLease is how long an app has to answer a turn with its own model, which may call tools.
	ownLease = 10 * time.Minute
	// ownScope is the scope of the keys of these turns. The key is the turn's id.
	ownScope = "POST /v1/turns"
)

var isTurnID = regexp.MustCompile(`^turn_[0-9a-f]{32}$`).MatchString

// BeginOwn stores the user's message and returns the prompt for the app's own model. Quota and permits are as in a
// chat. A repeat with the same key returns the same turn, with the same prompt while the turn's lease lasts and with a
// new one afterwards.
//
// Errors: Invalid, NotFound for the session, Conflict for a message that is stored already, for a history that is not
// the one that Replaces names, and for a turn that another one has replaced, IdempotencyMismatch, RateLimited with
// RetryAfter, Unavailable. A prompt that cannot be built releases the turn, and a repeat begins it again.
func (s *Service) BeginOwn(ctx context.Context, user conversation.UserID, r OwnRequest) (begun OwnTurn, err error) {
	ctx, span := s.startSpan(ctx, r.SessionID, r.AgentID)
	defer func() {
		span.Set("throughline.prompt.id", begun.Prompt.ID)
		span.Set("throughline.replayed", begun.Replayed)
		span.End(err)
	}()
	if err := s.prepareOwn(&r); err != nil {
		return OwnTurn{}, err
	}
	turn, err := s.Turns.BeginTurn(ctx, user, conversation.Append{
		SessionID: r.SessionID, Messages: r.Messages, Idempotency: r.Idempotency, Replaces: r.Replaces,
		Admit: func(ctx context.Context, session conversation.Session, message string, tokens int) error {
			return s.admit(ctx, user, r.promptRequest(session, message, ""), tokens)
		},
	}, ownLease)
	isRepeat := turn.Answer != nil
	if fault.Is(err, fault.Conflict) {
		if open, openErr := s.Keeper.OpenTurn(ctx, user, r.Idempotency); openErr == nil && !open.Replaced {
			turn, err, isRepeat = open, nil, true
		}
	}
	if err != nil {
		return OwnTurn{}, err
	}
	p, err := s.ownPrompt(ctx, user, turn, r, isRepeat)
	if err != nil {
		if !isRepeat {
			s.release(ctx, user, turn)
		}
		return OwnTurn{}, err
	}
	return OwnTurn{ID: r.Idempotency.Key, UserMessageID: turn.Message.ID, Prompt: p, Replayed: isRepeat}, nil
}

// prepareOwn checks a request, counts its tokens, and makes its key the id of the turn.
func (s *Service) prepareOwn(r *OwnRequest) error {
	if !conversation.ValidID(r.SessionID) {
		return fault.InvalidField("sessionId", "must be 1 to 128 of A-Z a-z 0-9 _ . : -")
	}
	sum := sha256.Sum256([]byte(r.Idempotency.Key))
	r.Idempotency.Scope, r.Idempotency.Key = ownScope, "turn_"+hex.EncodeToString(sum[:16])
	if len(r.Messages) == 0 && r.Replaces != nil {
		return prompt.CheckTurn(r.promptRequest(conversation.Session{}, "", ""), 0)
	}
	if len(r.Messages) == 0 {
		return fault.InvalidField("messages", "must have a message")
	}
	for i, m := range r.Messages {
		r.Messages[i].Content = cmp.Or(m.Content, conversation.TextOf(m.Parts))
		r.Messages[i].Tokens = s.Tokens.Count(r.Messages[i].Content)
	}
	last := &r.Messages[len(r.Messages)-1]
	if last.Role != conversation.RoleUser || last.Content == "" {
		return fault.InvalidField("messages", "must end with a text of the user")
	}
	last.AwaitsAnswer = true
	return prompt.CheckTurn(r.promptRequest(conversation.Session{}, "", ""), last.Tokens)
}

// admit refuses a message that does not fit its prompt, before the turn deletes what it replaces. Any other error of
// the prompt may be gone when the turn has begun.
func (s *Service) admit(ctx context.Context, user conversation.UserID, r prompt.Request, tokens int) error {
	if isTight, err := prompt.IsTight(r, tokens); err != nil || !isTight {
		return err
	}
	r.SkipSave = true
	if _, err := s.Prompts.Build(ctx, user, r); fault.Is(err, fault.Invalid) {
		return err
	}
	return nil
}

// promptRequest asks for the prompt of a turn. The id is empty while the message is not stored.
func (r OwnRequest) promptRequest(session conversation.Session, message, id string) prompt.Request {
	return prompt.Request{
		Recipe: r.Recipe, Context: session.Context, SessionID: session.ID, CoachID: session.CoachID,
		AgentID: r.AgentID, Message: message, MessageID: id, Budget: r.Budget, Scoping: r.Scoping, Format: r.Format,
	}
}

// ownPrompt returns the prompt that is kept of a turn, or builds and keeps one.
func (s *Service) ownPrompt(ctx context.Context, user conversation.UserID, turn conversation.Turn, r OwnRequest,
	isRepeat bool,
) (prompt.Prompt, error) {
	if isRepeat {
		kept, err := s.Keeper.KeptPrompt(ctx, user, turn)
		if !fault.Is(err, fault.NotFound) {
			return decodePrompt(kept, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), buildTimeout)
	defer cancel()
	p, err := s.Prompts.Build(ctx, user, r.promptRequest(turn.Session, turn.Message.Content, turn.Message.ID))
	if err != nil {
		return prompt.Prompt{}, err
	}
	p.Tools = append(p.Tools, r.Tools...)
	p.AddTools(r.Tools)
	kept, err := encodePrompt(p, s.Now().Add(ownLease))
	if err != nil || len(kept.Data) > conversation.MaxKeptPromptBytes {
		return p, err
	}
	return decodePrompt(s.Keeper.KeepPrompt(ctx, user, turn, kept))
}

func encodePrompt(p prompt.Prompt, until time.Time) (conversation.KeptPrompt, error) {
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	err := json.NewEncoder(packed).Encode(p)
	if err == nil {
		err = packed.Close()
	}
	if err != nil {
		return conversation.KeptPrompt{}, fmt.Errorf("encode prompt: %w", err)
	}
	return conversation.KeptPrompt{PromptID: p.ID, Tokens: p.Tokens.Total, Data: data.Bytes(), Until: until}, nil
}

func decodePrompt(kept conversation.KeptPrompt, err error) (p prompt.Prompt, _ error) {
	if err != nil {
		return p, err
	}
	packed, err := gzip.NewReader(bytes.NewReader(kept.Data))
	if err == nil {
		err = json.NewDecoder(packed).Decode(&p)
	}
	if err != nil {
		return p, fmt.Errorf("decode prompt: %w", err)
	}
	return p, nil
}

// FinishOwn stores the answer of a turn once: who finishes it again, with whatever body, gets the first answer. A
// failure without content stores nothing and releases the turn, which can still be finished. The usage is charged to
// the user's day. An answer that comes after the lease has ended is stored too, while the session and the message are
// there. Without them nothing is stored, but charged, and the turn's permit is free.
//
// Errors: Invalid, NotFound for a turn of nobody, another user or 24 hours ago, Conflict for a turn that another one
// has replaced, and Unavailable.
func (s *Service) FinishOwn(ctx context.Context, user conversation.UserID, turnID string, a OwnAnswer) (OwnEnd, error) {
	turn, err := s.openOwn(ctx, user, turnID)
	if turn.Replaced {
		return OwnEnd{}, conversation.TurnReplaced()
	}
	if fault.Is(err, fault.NotFound) && turn.Lease != "" {
		turn.Spent = s.ownTokens(a, conversation.KeptPrompt{})
		s.release(ctx, user, turn)
	}
	if err != nil {
		return OwnEnd{}, err
	}
	if turn.Answer != nil {
		return endOf(turn, *turn.Answer), nil
	}
	if a.Content == "" {
		a.Content = conversation.TextOf(a.Parts)
	}
	kept, err := s.Keeper.KeptPrompt(ctx, user, turn)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return OwnEnd{}, err
	}
	turn.Spent, turn.SpentOnce = s.ownTokens(a, kept), true
	if a.Content == "" && len(a.Parts) == 0 {
		return s.failOwn(ctx, user, turn, a)
	}
	stored, err := s.Turns.FinishTurn(ctx, user, turn, conversation.NewMessage{
		Role: conversation.RoleAssistant, Content: a.Content, Parts: a.Parts, AgentID: turn.Message.AgentID,
		Metadata: ownMetadata(a, kept.PromptID), Tokens: s.Tokens.Count(a.Content),
	})
	if err != nil {
		return OwnEnd{}, err
	}
	return endOf(turn, stored), nil
}

// failOwn ends a turn that has no answer.
func (s *Service) failOwn(ctx context.Context, user conversation.UserID, turn conversation.Turn, a OwnAnswer,
) (OwnEnd, error) {
	if a.Failure == "" {
		return OwnEnd{}, fault.InvalidField("content", "is required where there are no parts and no error")
	}
	if turn.Lease != "" {
		if err := s.Turns.ReleaseTurn(ctx, user, turn); err != nil && !fault.Is(err, fault.Conflict) {
			return OwnEnd{}, err
		}
	}
	return OwnEnd{Session: turn.Session}, nil
}

// StateOfOwn returns how a turn is.
func (s *Service) StateOfOwn(ctx context.Context, user conversation.UserID, turnID string) (OwnState, error) {
	turn, err := s.openOwn(ctx, user, turnID)
	if err != nil {
		return OwnState{}, err
	}
	state := OwnState{UserMessageID: turn.Message.ID, Status: TurnInterrupted}
	switch {
	case turn.Answer != nil:
		state.Status, state.MessageID = TurnFinished, turn.Answer.ID
	case turn.Until.After(s.Now()):
		state.Status = TurnOpen
	}
	return state, nil
}

func (s *Service) openOwn(ctx context.Context, user conversation.UserID, turnID string) (conversation.Turn, error) {
	if !isTurnID(turnID) {
		return conversation.Turn{}, fault.Missing("turn")
	}
	return s.Keeper.OpenTurn(ctx, user, conversation.Idempotency{Scope: ownScope, Key: turnID})
}

// ownTokens returns what a turn is charged: what the app says, or else the lengths of prompt and answer.
func (s *Service) ownTokens(a OwnAnswer, kept conversation.KeptPrompt) int {
	said := max(a.Usage.TotalTokens, a.Usage.PromptTokens+a.Usage.CompletionTokens)
	if said > 0 || a.Content == "" {
		return said
	}
	return kept.Tokens + s.Tokens.Count(a.Content)
}

func ownMetadata(a OwnAnswer, promptID string) map[string]any {
	data := answerData{
		PromptID: promptID, FinishReason: cmp.Or(a.FinishReason, llm.FinishStop), Model: a.Model,
	}
	if a.Usage != (llm.Usage{}) {
		data.Usage = &a.Usage
	}
	if a.Failure != "" {
		data.FinishReason, data.Interrupted = Interrupted, true
	}
	return data.metadata()
}

// endOf returns the end of a turn. The session is as it was with the question, and with all up to the answer, so that a
// repeat gets the same.
func endOf(turn conversation.Turn, answer conversation.Message) OwnEnd {
	session := turn.Session
	session.MessageCount += answer.Seq - session.LastSeq
	session.LastSeq, session.LastMessageAt = answer.Seq, answer.Timestamp
	return OwnEnd{Answer: &answer, Session: session}
}
