package promptbench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/function/coachfn"
	"github.com/throughline/throughline/internal/function/contextfn"
	"github.com/throughline/throughline/internal/function/messagesfn"
	"github.com/throughline/throughline/internal/function/promptfn"
	"github.com/throughline/throughline/internal/function/rememberfn"
	"github.com/throughline/throughline/internal/function/summarizefn"
)

// The functions that take part in a chat: the first two until the answer is done, the others behind it.
const (
	coachFunction     = "coach"
	promptFunction    = "prompt"
	summarizeFunction = "summarize"
	rememberFunction  = "remember"
)

// In a chat every service takes the same time, so that a call begins when all those have ended that are less deep, and
// no other: time tells how deep a call is. It is long beside what this machine may add. The chat model takes longer, as a
// real one does: the stream's functions have had the user's message when the answer comes.
const (
	hop       = 150 * time.Millisecond
	answering = 2 * time.Second
)

// chat plays turns of one session on the local stack, whose functions reach their services through lines.
func chat(ctx context.Context, endpoint, table string, turns int, say func(string)) (c Chat, err error) {
	services, err := open(ctx, endpoint, table, Latencies{DynamoDB: hop, Embedding: hop, Pinecone: hop})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, services.close()) }()
	say("writing a user's history, and starting the stack")
	sc, err := services.stage(ctx, "chat", grown(recentMessages), time.Now().UTC().Truncate(time.Minute))
	if err != nil {
		return c, err
	}
	running, err := services.startStack(ctx)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, running.Stop()) }()
	say("playing turns of a chat")
	played, err := services.play(ctx, running, sc.user, turns)
	if err != nil {
		return c, err
	}
	return chatOf(played[0], played[1:]), nil
}

// play plays a session's first turn, and then that many.
func (s *services) play(ctx context.Context, running *stack.Stack, user conversation.UserID, turns int) ([]turn, error) {
	talk, err := s.begin(ctx, running, user)
	if err != nil {
		return nil, err
	}
	s.idle.Store(false)
	played := make([]turn, turns+1)
	for n := range played {
		if played[n], err = talk.turn(ctx, n); err != nil {
			return nil, fmt.Errorf("play turn %d: %w", n, err)
		}
	}
	return played, nil
}

// startStack starts the stack on these services. Its sweep stays away: it comes by the clock, whatever turns there are.
func (s *services) startStack(ctx context.Context) (*stack.Stack, error) {
	cfg, err := stack.Parse(map[string]string{
		"PORT": "0", "TABLE_NAME": s.table, "AWS_ENDPOINT_URL_DYNAMODB": s.endpoint, "PINECONE_INDEX_HOST": s.host,
		"OPENAI_BASE_URL": s.model, "OPENAI_EMBEDDING_DIMENSIONS": strconv.Itoa(dimensions), "KEEP_PROMPT_TEXT": "false",
		"TRIGGERS": "sweep=24h",
	})
	if err != nil {
		return nil, err
	}
	cfg.Functions = map[string]stack.Constructor{
		"messages": stack.Of(messagesfn.New), "context": stack.Of(contextfn.New),
		coachFunction:     s.behindDoors(coachFunction, stack.Of(coachfn.New)),
		promptFunction:    s.behindDoors(promptFunction, stack.Of(promptfn.New)),
		summarizeFunction: s.behindDoors(summarizeFunction, stack.Of(summarizefn.New)),
		rememberFunction:  s.behindDoors(rememberFunction, stack.Of(rememberfn.New)),
	}
	return stack.Start(ctx, cfg)
}

// talk is one session.
type talk struct {
	*services
	stack   *stack.Stack
	api     *client.Client
	session string
}

// begin makes the session, and waits until the stream has brought what was written before.
func (s *services) begin(ctx context.Context, running *stack.Stack, user conversation.UserID) (*talk, error) {
	t := &talk{services: s, stack: running, session: "chat"}
	var err error
	if t.api, err = client.New(running.URL()).As(ctx, string(user)); err != nil {
		return nil, err
	}
	body := map[string]any{"context": "coach_conversation", "coachId": coach, "sessionId": t.session}
	if err := t.api.Do(ctx, http.MethodPost, "/v1/sessions", body, nil); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	return t, t.settle(ctx)
}

// settleTimeout is how long the stream's functions may take over what was written.
const settleTimeout = 2 * time.Minute

func (t *talk) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if done := t.stack.Settle(ctx); !done.Settled {
		return fmt.Errorf("the stream's functions are behind by %d records", done.Pending)
	}
	return nil
}

// turn is the remote calls of one turn.
type turn []span

// turn sends a message, reads the answer to its end, and waits for what follows.
func (t *talk) turn(ctx context.Context, n int) (turn, error) {
	t.take()
	var last client.Event
	message := map[string]any{"sessionId": t.session, "message": prose(n)}
	err := t.api.Chat(ctx, message, func(e client.Event) error {
		last = e
		return nil
	}, client.Key("turn-"+strconv.Itoa(n)))
	if err != nil {
		return nil, err
	}
	if last.Name != "done" {
		return nil, fmt.Errorf("the answer ends with %q: %s", last.Name, last.Data)
	}
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	return t.take(), nil
}
