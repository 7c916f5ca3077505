package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// MemoryCorrector says how memories came about, and corrects them.
type MemoryCorrector interface {
	// History returns what a memory replaced, itself, and what replaced it, oldest first.
	History(ctx context.Context, user conversation.UserID, id string) ([]longterm.Past, error)
	// Restore makes an ended memory hold again, and ends what took its place.
	Restore(ctx context.Context, user conversation.UserID, id string) (longterm.Memory, error)
	MemoryReviewer
}

// MemoryReviewer ends the waiting of memories.
type MemoryReviewer interface {
	Confirm(ctx context.Context, user conversation.UserID, id string) (longterm.Memory, error)
	Reject(ctx context.Context, user conversation.UserID, id string) (longterm.Memory, error)
}

// pastMemory is a memory in a history.
type pastMemory struct {
	Memory
	Messages []evidence `json:"messages" doc:"The messages that it was drawn from and that are still there."`
}

type evidence struct {
	MessageID string    `json:"messageId" doc:"The message's id."`
	SessionID string    `json:"sessionId" doc:"Its session."`
	Timestamp timestamp `json:"timestamp" doc:"When it was said."`
}

type memoryPast struct {
	Items []pastMemory `json:"items" doc:"What it replaced, itself, and what replaced it, oldest first."`
}

type reviewInput struct {
	RecordPath
	Body struct {
		Verdict string `json:"verdict" enum:"confirm,reject" doc:"Whether prompts may have it. One that is rejected is forgotten and not noted again."`
	}
}

type memoryHistory struct {
	*server
	corrector MemoryCorrector
}

func (h memoryHistory) register() {
	const one = " /v1/memories/{id}"
	registerDoc(h.server, op("GET"+one+"/history", "getMemoryHistory", longTermTag, "Get how a memory came about",
		"What it replaced, itself, and what replaced it, each with its messages. 409 after it was forgotten.",
	).or(http.StatusConflict), h.history)
	registerDoc(h.server, op("POST"+one+"/restore", "restoreMemory", longTermTag, "Take the end of a memory back",
		"The memory holds again, and the one that took its place ends (endedReason false), in one step. One that holds "+
			"stays as it is. 409 after it was forgotten.",
	).or(http.StatusConflict), h.restore)
	registerDoc(h.server, op("POST"+one+"/review", "reviewMemory", longTermTag, "Review a memory that waits",
		"With the preference reviewMemories an extracted memory has the status waiting and is in no prompt, unless it "+
			"is about safety. Confirmed, it takes the place of what it replaces. Rejected, it is forgotten as by its "+
			"deletion, with its messages, and what says the same is not noted again.",
	).or(http.StatusConflict), h.review)
}

func (h memoryHistory) history(ctx context.Context, c Caller, in *RecordPath) (memoryPast, error) {
	past, err := h.corrector.History(ctx, c.User, in.ID)
	if err != nil {
		return memoryPast{}, err
	}
	out := memoryPast{Items: make([]pastMemory, len(past))}
	for i, p := range past {
		out.Items[i] = pastMemory{Memory: shown[Memory](p.Memory), Messages: make([]evidence, len(p.Messages))}
		for j, m := range p.Messages {
			out.Items[i].Messages[j] = evidence{m.MessageID, m.SessionID, timestamp(m.Timestamp)}
		}
	}
	return out, nil
}

func (h memoryHistory) restore(ctx context.Context, c Caller, in *RecordPath) (Memory, error) {
	return show[Memory](h.corrector.Restore(ctx, c.User, in.ID))
}

func (h memoryHistory) review(ctx context.Context, c Caller, in *reviewInput) (Memory, error) {
	if in.Body.Verdict == "confirm" {
		return show[Memory](h.corrector.Confirm(ctx, c.User, in.ID))
	}
	if err := h.charge(ctx, c, forgetWeight-1); err != nil {
		return Memory{}, err
	}
	return show[Memory](h.corrector.Reject(ctx, c.User, in.ID))
}
