package dynamo_test

import (
	"cmp"
	"testing"

	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestConversations tests what a client does with sessions and messages, wherever the messages are: in this table
// only, in an app's arrays only, or in both.
func TestConversations(t *testing.T) {
	t.Parallel()
	for _, stage := range append(dynamotest.Stages(), "") {
		for name, test := range conversationTests {
			t.Run(cmp.Or(stage, "none")+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, newFixtureIn(t, stage))
			})
		}
	}
}

var conversationTests = map[string]func(*testing.T, *fixture){
	"Create":                      testCreate,
	"CreateReplays":               testCreateReplays,
	"CreateConflicts":             testCreateConflicts,
	"UpdateSession":               testUpdateSession,
	"Append":                      testAppend,
	"AppendTimes":                 testAppendTimes,
	"AppendReplays":               testAppendReplays,
	"AppendReplaysAfterEdits":     testAppendReplaysAfterEdits,
	"AppendReplaysAfterDeletion":  testAppendReplaysAfterDeletion,
	"KeysExpire":                  testKeysExpire,
	"ConcurrentAppendsWithOneKey": testConcurrentAppendsWithOneKey,
	"ContentRoundTrip":            testContentRoundTrip,
	"Flags":                       testFlags,
	"Parts":                       testParts,
	"ClientIDs":                   testClientIDs,
	"ClientIDsReplay":             testClientIDsReplay,
	"Turn":                        testTurn,
	"TurnWithoutKey":              testTurnWithoutKey,
	"MessageByID":                 testMessageByID,
	"Reopen":                      testReopen,
	"ReopenAtOnce":                testReopenAtOnce,
}
