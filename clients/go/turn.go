package throughline

import (
	"context"
	"fmt"
)

// Turn runs one turn with the app's own model: it stores the user's message and has the prompt built, calls answer with
// it, and stores what answer returns. When answer returns an error or panics, the turn is ended with that error, and
// Turn returns the error or panics on.
func (c *Client) Turn(ctx context.Context, body TurnBody,
	answer func(ctx context.Context, turn *BegunTurn) (FinishBody, error), options ...Option,
) (finished *FinishedTurn, err error) {
	turn, err := c.BeginTurn(ctx, body, options...)
	if err != nil {
		return nil, err
	}
	ended := false
	fail := func(reason string) {
		_, _ = c.FinishTurn(context.WithoutCancel(ctx), turn.TurnID, FinishBody{Error: reason})
	}
	defer func() {
		if !ended { // answer has panicked
			fail("the app failed while it answered")
		}
	}()
	said, err := answer(ctx, turn)
	ended = true
	if err != nil {
		fail(cut(fmt.Sprint(err), 500))
		return nil, err
	}
	return c.FinishTurn(ctx, turn.TurnID, said)
}

// cut returns at most n characters of a text.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n])
	}
	return text
}
