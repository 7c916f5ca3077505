package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestNoSecrets stores a password in all that tools and resources tell of. None has it, and each has the rest.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	const password, said = "Sunny42House", "My wifi password is Sunny42House."
	s := newSystem(t)
	var none conversation.Idempotency
	session := conversation.NewSession{ID: "s", Context: "workout_log", CoachID: "c", Title: "password: " + password}
	check.Got(s.stores.Sessions.CreateSession(t.Context(), "ann", session, none))(t)
	check.Got(s.stores.Messages.Append(t.Context(), "ann", conversation.Append{
		SessionID: "s", Messages: []conversation.NewMessage{{Role: "user", Content: said}, {Role: "user", Content: "Hi."}},
	}))(t)
	check.Got(s.stores.UserSummaries.Put(t.Context(), "ann", longterm.UserSummary{Wins: []string{said, "Ran."}}))(t)
	s.search.recent = []recall.SummaryHit{{Context: "workout_log", SessionID: "t", Text: said}}
	s.search.records = []recall.Record{
		{Message: &conversation.Message{ID: "m", Role: "user", Content: said}},
		{Summary: &recall.SummaryHit{SessionID: "t", Text: said}},
		{Memory: &longterm.Memory{ID: "k", Content: said}},
		{Document: &document.Document{Value: []byte(`{"note":"` + said + `"}`)}},
		{Message: &conversation.Message{ID: "n", Role: "user", Content: "Where is the wifi?"}},
	}
	ann := s.connect(t, "ann")
	var told strings.Builder
	for _, uri := range []string{
		"throughline://sessions", "throughline://sessions/s/messages", "throughline://user-summary",
	} {
		out := check.Got(ann.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}))(t)
		told.WriteString(out.Contents[0].Text + "\n")
	}
	kept := mustCall[remembered](t, ann, "remember", arguments{"content": said}).Memory.ID
	mustCall[remembered](t, ann, "remember", arguments{"content": "Likes tea."})
	for name, in := range map[string]arguments{
		"search": {"query": "wifi"}, "recent_activity": nil, "list_memories": nil,
		"update_memory": {"id": kept, "pinned": true},
	} {
		out := check.Got(ann.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: in}))(t)
		told.WriteString(string(check.Got(json.Marshal(out))(t)) + "\n")
	}
	check.Lacks(t, told.String(), password, "a client reads the password")
	for _, want := range []string{`"sessionId":"s"`, "Hi.", "Ran.", "Where is the wifi?", "Squats.", "Likes tea."} {
		check.Contains(t, told.String(), want, "the answers")
	}
}
