package throughline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// ChatEvent is one event of an answer. One field is set: Prompt in the first event, then Token, and Done in the last.
type ChatEvent struct {
	Prompt *ChatBuilt
	Token  *ChatToken
	Done   *ChatDone
}

// chat makes a call of the chat and yields the events of its answer.
func (c *Client) chat(ctx context.Context, r request, options []Option) iter.Seq2[ChatEvent, error] {
	p, err := c.prepare(r, options)
	return func(yield func(ChatEvent, error) bool) {
		if err != nil {
			yield(ChatEvent{}, err)
			return
		}
		call := c.begin(ctx, p)
		defer func() { call.end() }() // a stream that is joined again has another deadline
		if err := call.converse(yield); err != nil {
			yield(ChatEvent{}, err)
		}
	}
}

// converse yields the events of an answer. After a cut, and where the stream stalls, it asks again with the same key,
// and goes on where the text ended.
func (c *call) converse(yield func(ChatEvent, error) bool) error {
	var known replay
	for {
		body, err := c.open()
		if err != nil || body == nil {
			return err
		}
		known.position = 0
		err = c.listen(body, &known, yield)
		var lost *LostAnswerError
		if !errors.As(err, &lost) {
			return err
		}
		if c.renewDeadline() {
			err = &LostAnswerError{Err: fmt.Errorf("the server gave no sign for %s", c.p.timeout)}
		}
		if err := c.next(err); err != nil {
			return err
		}
	}
}

// listen yields what is new in one stream. It returns no error after the last event, or when the app stops.
func (c *call) listen(body io.ReadCloser, known *replay, yield func(ChatEvent, error) bool) error {
	defer body.Close()
	for from, err := range serverEvents(signs{body, c.deadline}) {
		if err != nil {
			return err
		}
		event, fresh, err := known.next(from)
		if err != nil {
			return err
		}
		c.pause()
		if fresh && !yield(event, nil) || event.Done != nil {
			return nil
		}
		c.extend()
	}
	return errors.New("unreachable: events end with an error")
}

// replay leaves out of a repeated stream what the app has already. A repeat has the same text, in other tokens perhaps.
type replay struct {
	prompted bool
	text     string
	position int
}

// next returns an event, and whether it is new to the app.
func (r *replay) next(from serverEvent) (event ChatEvent, fresh bool, err error) {
	switch from.name {
	case "error":
		return event, false, problemOf(from.data)
	case "prompt":
		fresh, r.prompted = !r.prompted, true
		err = json.Unmarshal([]byte(from.data), &event.Prompt)
	case "token":
		if err = json.Unmarshal([]byte(from.data), &event.Token); err == nil {
			event.Token.Text, err = r.rest(event.Token.Text)
			fresh = event.Token.Text != ""
		}
	case "done":
		fresh = true
		err = json.Unmarshal([]byte(from.data), &event.Done)
	default: // an event of a later version
	}
	if err != nil {
		err = fmt.Errorf("read an event: %w", err)
	}
	return event, fresh, err
}

// rest returns the part of a token's text that is new.
func (r *replay) rest(text string) (string, error) {
	known := r.text[r.position:min(r.position+len(text), len(r.text))]
	rest, same := strings.CutPrefix(text, known)
	if !same {
		return "", &LostAnswerError{Err: errors.New("the repeated answer differs from what was received")}
	}
	r.position += len(text)
	r.text += rest
	return rest, nil
}
