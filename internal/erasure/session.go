package erasure

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// buriedPage is how many messages are deleted at once.
const buriedPage = 500

// DeleteSession deletes a session, its messages, summaries, kept prompts and vectors, the facts drawn only from it, and
// what other kept prompts may quote of it.
// When it fails in between, a repeat or the sweep goes on; the session itself is gone from the first moment. Sessions of
// the same id that were deleted before and not emptied are emptied with it.
func (s *Service) DeleteSession(ctx context.Context, user conversation.UserID, id string) error {
	g, err := s.Store.BurySession(ctx, user, id, s.Now().Add(resumeAfter))
	if err != nil {
		return err
	}
	for {
		if err := s.empty(ctx, g); err != nil {
			return err
		}
		if g, err = s.Store.OpenGrave(ctx, user, id); err != nil {
			return gone(err)
		}
	}
}

// empty deletes what is left of a buried session. Vectors go before the messages that their ids follow from.
func (s *Service) empty(ctx context.Context, g Grave) error {
	index := &vectors{Service: s, user: g.User, generation: g.Generation}
	forgotten, err := s.forget(ctx, index, func(_, session string) bool { return session == g.Session.ID })
	if err != nil {
		return err
	}
	g.Vectors = append(g.Vectors, forgotten...)
	buried, err := s.emptyOfMessages(ctx, index, g)
	if err != nil {
		return err
	}
	summaries, err := s.Store.DeleteSummaries(ctx, g.User, *g.Session)
	if err != nil {
		return err
	}
	if err := index.delete(ctx, summaries); err != nil {
		return err
	}
	if err := s.Store.DeleteDescriptions(ctx, g.User, *g.Session); err != nil {
		return err
	}
	if err := s.forgetPrompts(ctx, g); err != nil {
		return err
	}
	g.Vectors = slices.Concat(g.Vectors, buried, summaries)
	return s.entomb(ctx, g)
}

// emptyOfMessages deletes a page of messages after the other and returns their vectors' ids, the last ones of them.
func (s *Service) emptyOfMessages(ctx context.Context, index *vectors, g Grave) ([]string, error) {
	var buried []string
	for page := (conversation.Page{Limit: buriedPage}); ; {
		messages, next, err := s.Store.BuriedMessages(ctx, g, page)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, m := range messages {
			ids = append(ids, recall.MessageVectorIDs(m)...)
		}
		if err := index.delete(ctx, ids); err != nil {
			return nil, err
		}
		if err := s.Store.DeleteMessages(ctx, g.User, messages); err != nil {
			return nil, err
		}
		buried = append(buried, ids...)
		buried = buried[max(0, len(buried)-maxGraveVectors):]
		if page.After = next; next == "" {
			return buried, nil
		}
	}
}
