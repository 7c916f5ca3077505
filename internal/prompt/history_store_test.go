package prompt_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestMain has few checks of properties, because each renders prompts of a whole year.
func TestMain(m *testing.M) { dynamodbtest.MainWithChecks(m, 40) }

// TestHistoryInStores is TestHistory on the stores, whose reads have limits and indexes. There is one history
// for each zone, and one whose current message is stored.
func TestHistoryInStores(t *testing.T) {
	t.Parallel()
	stores := dynamotest.New(t)
	for seed := range 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			user := conversation.UserID(fmt.Sprint("user", seed))
			c := drawCase(newFixture().user(user), seed, historyTimes[seed], historySettings[0])
			importHistory(t, stores, user, &c)
			if c.request.MessageID != "" { // the current message is stored, with its time
				checkStored(t, stores, user, c)
				return
			}
			for i, at := range historyTimes[:7] { // later times read what 9 days later does
				setting := historySettings[(seed+i)%len(historySettings)]
				t.Run(at+", "+setting.name, func(t *testing.T) {
					checkStored(t, stores, user, drawCase(newFixture().user(user), seed, at, setting))
				})
			}
		})
	}
}

// checkStored checks the prompts of a case whose history is stored.
func checkStored(t *testing.T, stores dynamotest.Stores, user conversation.UserID, c historyCase) {
	t.Helper()
	check.Got(stores.Preferences.Put(t.Context(), user, c.access.Preferences))(t)
	w := newFixture()
	deps := w.deps(c.now)
	deps.Store = stores.PromptSource
	service := prompt.New(deps)
	checkRecipes(t, c, w.user(user), []int{800, 3200}, func(r prompt.Request) prompt.Prompt {
		return build(t, service, user, r)
	})
}

// importHistory stores a case's sessions, messages and summaries, with their times, and takes over the ids that the
// store gives to the messages.
func importHistory(t *testing.T, stores dynamotest.Stores, user conversation.UserID, c *historyCase) {
	t.Helper()
	for _, s := range c.sessions {
		in := conversation.NewSession{ID: s.ID, Context: s.Context, CoachID: s.CoachID}
		check.Got(stores.Sessions.CreateSession(t.Context(), user, in, conversation.Idempotency{}))(t)
		var stored conversation.Session
		var own []int
		for i, m := range c.messages {
			if m.SessionID == s.ID {
				own = append(own, i)
			}
		}
		for part := range slices.Chunk(own, conversation.MaxMessagesPerCall) {
			stored = appendMessages(t, stores, user, c, s, part)
		}
		if s.Summary != nil {
			saveSummary(t, stores, user, s, stored)
		}
	}
}

// appendMessages appends messages of a case to their session, and returns the session as it is stored.
func appendMessages(t *testing.T, stores dynamotest.Stores, user conversation.UserID, c *historyCase,
	s conversation.Session, part []int,
) conversation.Session {
	t.Helper()
	in := conversation.Append{SessionID: s.ID}
	for _, i := range part {
		m := c.messages[i]
		in.Messages = append(in.Messages, conversation.NewMessage{
			Role: m.Role, Content: m.Content, Timestamp: m.Timestamp, Tokens: m.Tokens,
		})
	}
	appended := check.Got(stores.Messages.Append(t.Context(), user, in))(t)
	for n, i := range part {
		if c.messages[i].ID == c.request.MessageID {
			c.request.MessageID = appended.Messages[n].ID
		}
	}
	return appended.Session
}

func saveSummary(t *testing.T, stores dynamotest.Stores, user conversation.UserID, s, stored conversation.Session) {
	t.Helper()
	appContext, err := conversation.AppContextOf(s.Context)
	check.OK(t, err)
	err = stores.Summaries.SaveSummary(t.Context(), user, stored, summary.Summary{
		RecordType: appContext.Summary.Type, SubjectID: s.ID, SessionID: s.ID, Context: s.Context, CoachID: s.CoachID,
		Text: s.Summary.Text, Tokens: tokens.Count(s.Summary.Text), Kind: s.Summary.Kind,
		CoveredThrough: s.Summary.CoveredThrough, OccurredAt: s.LastMessageAt,
		UpdatedAt: s.LastMessageAt.Add(time.Minute),
	})
	check.OK(t, err)
}
