package dynamo_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation/storetest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
)

func atNow() dynamo.Option {
	return dynamo.WithClock(func() time.Time { return storetest.Now })
}

func TestConversationStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Store { return dynamotest.New(t, atNow()) })
}
