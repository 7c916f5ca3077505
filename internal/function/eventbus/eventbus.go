// Package eventbus builds what publishes events, for the functions of the stream. The others do without its client.
package eventbus

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsevents "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/event"
	"github.com/throughline/throughline/internal/eventbridge"
	"github.com/throughline/throughline/internal/function"
	tablestream "github.com/throughline/throughline/internal/stream"
)

// Publisher builds what sends events. A call is not repeated: what the bus does not take waits in the table.
func Publisher(cfg config.Config, rt function.Runtime, db *dynamo.DB) *event.Publisher {
	p := &event.Publisher{
		Store: dynamo.NewEventStore(db), Content: cfg.EventContent, Now: time.Now, Report: function.Report(rt.Log),
	}
	if cfg.EventBusName != "" {
		once := func(o *awsevents.Options) { o.Retryer = aws.NopRetryer{} }
		p.Bus = eventbridge.New(awsevents.NewFromConfig(function.AWS(cfg, cfg.EventsEndpoint), once), cfg.EventBusName)
	}
	return p
}

// Publishing returns a handler of the stream that publishes events beside another one, where there is a bus.
func Publishing(rt function.Runtime, db *dynamo.DB, p *event.Publisher, next tablestream.Handle) tablestream.Handle {
	if p.Bus == nil {
		return next
	}
	return tablestream.Publishing(db.DecodeEvents, p.Publish, next, rt.Log)
}
