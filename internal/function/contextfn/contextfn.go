// Package contextfn builds the handler of the context function: the cross-context summary query and message recall,
// over the HTTP API and by direct invocation, and the searches and the list of documents over the HTTP API.
package contextfn

import (
	"context"
	"encoding/json"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/recall"
)

// New builds the handler.
func New(ctx context.Context, cfg config.Config, rt function.Runtime) (function.PayloadHandler, error) {
	cfg, rt, err := function.Prepare(ctx, cfg, rt, "context", config.EmbeddingKey, config.PineconeKey, config.CursorKey)
	if err != nil {
		return nil, err
	}
	cursors, err := httpapi.ParseCursorKey(cfg.CursorKey)
	if err != nil {
		return nil, err
	}
	db := function.Table(cfg)
	service, err := function.Recall(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	http := httpapi.Context(httpapi.ContextDeps{
		Base: function.Base(cfg, rt, db), Recaller: service,
		Documents: dynamo.NewDocumentStore(db), Cursors: cursors,
	})
	handler := function.HTTPOrDirect(httpapi.GatewayHandler(http), direct(service))
	return function.Measured(rt, "context", handler), nil
}

// operation is what every direct invocation has.
type operation struct {
	UserID    conversation.UserID `json:"userId"`
	Operation string              `json:"operation"`
}

// direct handles direct invocations: the bodies of POST /v1/context/query and POST /v1/recall, with the user and the
// operation.
func direct(service *recall.Service) function.PayloadHandler {
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		if err := invoke.Check(payload); err != nil {
			return nil, err
		}
		var op operation
		if err := json.Unmarshal(payload, &op); err != nil {
			return nil, fault.New(fault.Invalid, "the payload must be one JSON object")
		}
		if err := op.UserID.Validate(); err != nil {
			return nil, err
		}
		switch op.Operation {
		case "query":
			return call(ctx, payload, op.UserID, service.Query)
		case "recall":
			return call(ctx, payload, op.UserID,
				func(ctx context.Context, user conversation.UserID, q recall.MessageQuery) (httpapi.RecallAnswer, error) {
					found, err := service.Messages(ctx, user, q)
					return httpapi.Recalled(found), err
				})
		}
		return nil, fault.InvalidField("operation", "must be query or recall")
	}
}

// call decodes the request of one operation, without the fields of operation, and runs it.
func call[I, O any](ctx context.Context, payload json.RawMessage, user conversation.UserID,
	do func(context.Context, conversation.UserID, I) (O, error),
) (any, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, fault.New(fault.Invalid, "the payload must be one JSON object")
	}
	delete(fields, "userId")
	delete(fields, "operation")
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var in I
	if err := invoke.Decode(rest, &in); err != nil {
		return nil, err
	}
	return do(ctx, user, in)
}
