package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
)

// SessionCutter deletes the messages of a session that stays, and what derives from them.
type SessionCutter interface {
	// ClearSession deletes all messages, and returns how many there were.
	ClearSession(ctx context.Context, user conversation.UserID, id string) (int, error)
	// Truncate deletes the last messages and appends others in their place, in one step.
	Truncate(ctx context.Context, user conversation.UserID, in conversation.Truncation) (conversation.Truncated, error)
}

type cleared struct {
	Deleted int `json:"deleted" doc:"How many messages there were."`
}

type truncation struct {
	AfterSeq    *int         `json:"afterSeq,omitempty" minimum:"0" maximum:"9007199254740991" doc:"Those after it go."`
	LastN       *int         `json:"lastN,omitempty" minimum:"1" maximum:"80" doc:"The last ones go."`
	Expected    []source     `json:"expected,omitempty" maxItems:"80" doc:"The ids that go, in order. Others are 409."`
	Replacement []newMessage `json:"replacement,omitempty" maxItems:"50" doc:"The messages in their place."`
}

type truncated struct {
	Deleted  []string  `json:"deleted" doc:"The ids of the messages that are deleted."`
	Messages []Message `json:"messages" doc:"Those in their place."`
	Session  session   `json:"session"`
}

type truncationInput struct {
	SessionPath
	Idempotent
	Body truncation
}

// truncatePath is the end of the path of truncations.
const truncatePath = "/messages/truncate"

func (m messages) registerCuts(tag string) {
	registerDoc(m.server, op("DELETE /v1/sessions/{id}/messages", "clearMessages", tag, "Delete all messages of a session",
		"The session stays, empty, with its title and attributes. Summaries, vectors and facts drawn only from its "+
			"messages go. Numbers begin with 1 again, and clientMessageIds are free again.",
	).or(http.StatusConflict), m.clear)
	register(m.server, op("POST /v1/sessions/{id}"+truncatePath, "truncateMessages", tag,
		"Replace the last messages of a session",
		"Deletes the messages after a seq, or the last ones, and appends others in their place, in one step. With "+
			"expected, nothing changes unless these are the messages that go. A summary that covers one of them goes, too. "+
			"Numbers are not used again. Repeats with the same Idempotency-Key get the first answer.",
	).or(http.StatusConflict), m.truncate)
}

func (m messages) clear(ctx context.Context, c Caller, in *SessionPath) (cleared, error) {
	n, err := m.cut.ClearSession(ctx, c.User, string(in.ID))
	return cleared{Deleted: n}, err
}

func (m messages) truncate(ctx context.Context, c Caller, in *truncationInput) (*createdWithoutPath[truncated], error) {
	replacement, err := m.newMessages(c, in.Body.Replacement, "replacement")
	if err != nil {
		return nil, err
	}
	done, err := m.cut.Truncate(ctx, c.User, conversation.Truncation{
		SessionID: string(in.ID), AfterSeq: in.Body.AfterSeq, LastN: in.Body.LastN, Expected: toStrings(in.Body.Expected),
		Replacement: replacement, Idempotency: in.idempotency(in.Body),
	})
	if err != nil {
		return nil, err
	}
	out := truncated{
		Deleted: converted(done.Deleted, asIs), Messages: converted(done.Messages, shown[Message]),
		Session: shown[session](done.Session),
	}
	return &createdWithoutPath[truncated]{Replayed: newReplayed(done.Replayed), Body: out}, nil
}
