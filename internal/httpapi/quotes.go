package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

type (
	deleteMessageInput struct {
		MessagePath
		Quotes string `query:"quotes" enum:"list,delete" doc:"What to do about the messages that quote it."`
	}
	quotesInput struct {
		SessionPath
		MessageID string `query:"messageId" required:"true" minLength:"1" maxLength:"1024" doc:"The id of the message."`
	}
)

// quotes are the messages that quote another one.
type quotes struct {
	Items    []Message `json:"items" doc:"The messages that repeat words of the message, the oldest first."`
	Complete bool      `json:"complete" doc:"False if the user has more newer messages than were read."`
}

// deletion is the receipt of a message's deletion.
type deletion struct {
	Deleted  []string  `json:"deleted" doc:"The ids of the deleted messages."`
	QuotedBy []Message `json:"quotedBy" doc:"The messages that repeat words of it, the oldest first."`
	Complete bool      `json:"complete" doc:"False if the user has more newer messages than were read."`
}

// quotesWeight is how many requests a search for quotes counts as. It reads as many pages of the timeline at most.
const quotesWeight = 10

// deletionDetail describes what deleteMessage does about quotes.
const deletionDetail = "Its vectors, the summary that covers it, and the facts drawn only from it are deleted, too. " +
	"Messages that quote it stay, an answer that repeats it for example. With quotes=list the answer is 200 and names " +
	"them; with quotes=delete they are deleted, too. What says it in other words is not found."

func (m messages) registerQuotes(tag string) {
	register(m.server, op("DELETE /v1/sessions/{id}/messages/{messageId}", "deleteMessage", tag, "Delete a message",
		deletionDetail,
	).responds(statusResponse{status: http.StatusNoContent}, bodyOf[deletion](http.StatusOK)), m.delete)
	registerDoc(m.server, op("GET /v1/sessions/{id}/quotes", "listQuotes", tag, "List the messages that quote a message",
		"Finds the messages of all contexts that repeat words of it: a number of four digits or more, five words "+
			"in a row, or half of its longer words. They stay when it is deleted. At most 2,000 messages after it are read.",
	), m.quotes)
}

func (m messages) quotes(ctx context.Context, c Caller, in *quotesInput) (quotes, error) {
	if !plausibleID(in.MessageID) {
		return quotes{}, fault.Missing("message")
	}
	if err := m.charge(ctx, c, quotesWeight-1); err != nil {
		return quotes{}, err
	}
	found, err := m.remove.Quotes(ctx, c.User, string(in.ID), in.MessageID)
	items := converted(found.Messages, shown[Message])
	fits := fitting(items)
	return quotes{Items: fits, Complete: found.Complete && len(fits) == len(items)}, err
}

func (m messages) delete(ctx context.Context, c Caller, in *deleteMessageInput) (*varied, error) {
	id := in.unescapedID(c)
	if !plausibleID(id) {
		return nil, fault.Missing("message")
	}
	if in.Quotes == "" {
		return &varied{Status: http.StatusNoContent}, m.remove.DeleteMessage(ctx, c.User, string(in.ID), id)
	}
	if err := m.charge(ctx, c, quotesWeight-1); err != nil {
		return nil, err
	}
	var found erasure.Quotes
	var err error
	deleted := []string{}
	if in.Quotes == "delete" {
		if found, err = m.remove.DeleteWithQuotes(ctx, c.User, string(in.ID), id); err != nil {
			return nil, err
		}
		for _, q := range found.Messages {
			deleted = append(deleted, q.ID)
		}
	} else {
		if found, err = m.remove.Quotes(ctx, c.User, string(in.ID), id); err != nil {
			return nil, err
		}
		if err := m.remove.DeleteMessage(ctx, c.User, string(in.ID), id); err != nil {
			return nil, err
		}
	}
	quotedBy := converted(found.Messages, shown[Message])
	fits := fitting(quotedBy)
	return &varied{Status: http.StatusOK, Body: deletion{
		Deleted: append(deleted, id), QuotedBy: fits, Complete: found.Complete && len(fits) == len(quotedBy),
	}}, nil
}
