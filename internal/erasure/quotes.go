package erasure

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/quote"
)

// Quotes are the messages that quote another one, the oldest first.
type Quotes struct {
	Messages []conversation.Message
	// Complete is false if the user has so many newer messages that not all were read.
	Complete bool
}

const (
	// maxQuoteMessages is how many messages after one are read for quotes of it, quotePage at a time.
	maxQuoteMessages, quotePage = 2000, 200
)

// Quotes finds the messages of all contexts that quote a message: an answer that repeats it, for example. They are not
// derived from it, so they stay when it is deleted. Only newer messages can quote it, of which at most 2,000 are read.
func (s *Service) Quotes(ctx context.Context, user conversation.UserID, sessionID, messageID string) (Quotes, error) {
	m, err := s.Messages.Message(ctx, user, sessionID, messageID)
	if err != nil {
		return Quotes{}, err
	}
	var out Quotes
	matcher := quote.New(m.Content)
	page := conversation.Page{Limit: quotePage}
	for read := 0; read < maxQuoteMessages; {
		newer, next, err := s.Timeline.Timeline(ctx, user, conversation.Range{From: m.Timestamp}, page)
		if err != nil {
			return Quotes{}, err
		}
		for _, n := range newer {
			if n.ID != m.ID && matcher.Quotes(n.Content) {
				out.Messages = append(out.Messages, n)
			}
		}
		read += len(newer)
		if page.After = next; next == "" {
			out.Complete = true
			break
		}
	}
	return out, nil
}

// DeleteWithQuotes deletes a message and the messages that quote it, and returns those. The message goes last, so that
// a call that broke off can be repeated.
func (s *Service) DeleteWithQuotes(ctx context.Context, user conversation.UserID, sessionID, messageID string,
) (Quotes, error) {
	quotes, err := s.Quotes(ctx, user, sessionID, messageID)
	if err != nil {
		return Quotes{}, err
	}
	for _, m := range quotes.Messages {
		if err := fault.IgnoreNotFound(s.DeleteMessage(ctx, user, m.SessionID, m.ID)); err != nil {
			return Quotes{}, err
		}
	}
	return quotes, s.DeleteMessage(ctx, user, sessionID, messageID)
}
