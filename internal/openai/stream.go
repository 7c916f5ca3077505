package openai

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/metric"
)

// errNoFinishReason is the error of a stream that ended without a finish reason. The library reports a lost connection
// as an ordinary end of the stream.
var errNoFinishReason = errors.New("stream ended without a finish reason")

// Stream asks for one answer, emits its text as it arrives, and returns the whole answer. It retries to open the stream
// as Complete does, but not to read it. When reading or emit fails, it returns the error and what had arrived.
func (c *Client) Stream(ctx context.Context, r llm.Request, emit func(delta string) error) (llm.Completion, error) {
	return c.withRoom(r, func(p plan) (llm.Completion, error) {
		s, err := c.open(ctx, p, r)
		if err != nil {
			return llm.Completion{}, err
		}
		defer s.close()
		return s.receive(ctx, emit)
	})
}

// answerStream is an open stream of one of the two APIs.
type answerStream struct {
	got received
	// next reads the next event into got and returns the text in it. It returns io.EOF after the last one.
	next   func() (delta string, err error)
	body   io.Closer
	silent *silence
}

func (c *Client) open(ctx context.Context, p plan, r llm.Request) (*answerStream, error) {
	s := &answerStream{}
	err := c.retry.attempts(ctx, "open chat stream", func(ctx context.Context) (err error) {
		ctx, s.silent = limitSilence(ctx, openLimit)
		if p.api == responses {
			var stream *openai.ResponseStream
			if stream, err = c.chat.CreateResponseStream(ctx, newResponse(p, r)); err == nil {
				read(s, stream, s.got.addEvent)
			}
		} else {
			request := newChatCompletion(p, r)
			request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
			var stream *openai.ChatCompletionStream
			if stream, err = c.chat.CreateChatCompletionStream(ctx, request); err == nil {
				read(s, stream, func(chunk openai.ChatCompletionStreamResponse) (string, error) {
					return s.got.addChunk(chunk), nil
				})
			}
		}
		if err != nil {
			s.silent.stop()
		}
		return s.silent.reason(err)
	})
	return s, err
}

// read sets what reads a stream that was opened, with what adds an event of it to the answer.
func read[E any](s *answerStream, stream interface {
	io.Closer
	Recv() (E, error)
}, add func(E) (string, error),
) {
	s.body = stream
	s.next = func() (string, error) {
		event, err := stream.Recv()
		if err != nil {
			return "", err
		}
		return add(event)
	}
}

// receive reads the stream to its end. An answer that has its finish reason is whole, whatever the rest of the stream
// does: that brings only the usage.
func (s *answerStream) receive(ctx context.Context, emit func(delta string) error) (llm.Completion, error) {
	for {
		gap := gapLimit
		if s.got.out.FinishReason != "" {
			gap = endLimit
		}
		s.silent.begin(gap)
		delta, err := s.next()
		s.silent.end()
		if delta != "" {
			s.got.text.WriteString(delta)
			if err := emit(delta); err != nil {
				return s.got.completion(), err
			}
		}
		switch {
		case err == nil:
		case s.whole(err):
			return s.got.completion(), nil
		case errors.Is(err, io.EOF):
			return s.got.completion(), broken(ctx, errNoFinishReason)
		default:
			return s.got.completion(), broken(ctx, s.silent.reason(err))
		}
	}
}

// broken returns the failure of a stream that ended early, and counts it.
func broken(ctx context.Context, err error) *fault.Error {
	failed := failure("read chat stream", err, advice{})
	metric.Call(ctx, metric.Model, kindOf(ctx, failed))
	return failed
}

// whole reports whether the stream's last error leaves the answer whole. An error that the service sent does not.
func (s *answerStream) whole(err error) bool {
	_, sent := asServiceError(err)
	return s.got.out.FinishReason != "" && !sent
}

func (s *answerStream) close() {
	_ = s.body.Close() // receive reports what matters
	s.silent.stop()
}

// silence ends a stream in which nothing arrives for too long.
type silence struct {
	ctx    context.Context //nolint:containedctx // the stream's own, to read the cause of its end
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// limitSilence returns a context for a stream, which ends unless the silence is ended within d.
func limitSilence(ctx context.Context, d time.Duration) (context.Context, *silence) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &silence{ctx, cancel, time.AfterFunc(d, func() { cancel(errTooSlow) })}
}

// begin starts to wait for something that has to arrive within d.
func (s *silence) begin(d time.Duration) { s.timer.Reset(d) }

// end says that it has arrived. The time that the receiver takes for it does not count.
func (s *silence) end() { s.timer.Stop() }

func (s *silence) stop() {
	s.timer.Stop()
	s.cancel(nil)
}

// reason returns the error of a stream. A stream that was ended for its silence says so.
func (s *silence) reason(err error) error { return reason(s.ctx, err) }

// received is an answer that is put together from its pieces.
type received struct {
	out  llm.Completion
	text strings.Builder
}

// completion is the answer as far as it has arrived.
func (r *received) completion() llm.Completion {
	r.out.Text = r.text.String()
	return r.out
}
