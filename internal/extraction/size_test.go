//go:build corpus

package extraction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/token"
	"github.com/throughline/throughline/internal/truncate"
)

// counted is a model that counts what it is sent. It notes every fourth message of the user as a fact, about three of a
// batch, so that what is known grows as a user's memory does.
type counted struct {
	tokens                 *token.Counter
	calls, rules, material int
}

var userLine = regexp.MustCompile(`(?m)^\[(m\d+) [^]]*\] user: (.*)$`)

func (c *counted) Complete(_ context.Context, r llm.Request) (llm.Completion, error) {
	c.calls++
	c.rules += c.tokens.Count(r.Messages[0].Content) + c.tokens.Count(string(r.Schema.JSON))
	c.material += c.tokens.Count(r.Messages[1].Content)
	facts, none := []map[string]any{}, []any{}
	for i, m := range userLine.FindAllStringSubmatch(r.Messages[1].Content, -1) {
		if i%4 == 0 {
			facts = append(facts, map[string]any{
				"type": "PROFILE", "content": truncate.Bytes(m[2], 90), "about": "", "status": "stated", "until": "",
				"confidence": 0.9, "messageIds": []string{m[1]}, "safety": "", "repeats": "", "supersedes": none,
			})
		}
	}
	text, err := json.Marshal(map[string]any{"facts": facts, "ended": none, "openLoops": none, "closedLoops": none})
	return llm.Completion{Text: string(text), Model: "m"}, err
}

type conversationOfFile struct {
	Sessions []struct {
		Messages []struct{ Role, Content string }
	}
}

// readConversations reads a file in the form of infra/bench/dataset.
func readConversations(t *testing.T, path string) []conversationOfFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Conversations []conversationOfFile }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Conversations
}

// TestSizeOfRequests plays conversations of files (SIZE_DATA, with spaces between) session by session, and prints how
// much of the requests are instructions: the rules and the schema.
func TestSizeOfRequests(t *testing.T) {
	for file := range strings.FieldsSeq(os.Getenv("SIZE_DATA")) {
		conversations := readConversations(t, file)
		model, sessions, said := &counted{tokens: token.New()}, 0, 0
		for n, c := range conversations[:min(len(conversations), 3)] {
			f := newFixture(t, conversation.UserID(fmt.Sprint("size-", n)))
			f.model = model
			for i, s := range c.Sessions {
				id := fmt.Sprint("s", i)
				f.create(t, id)
				for _, m := range s.Messages {
					content := truncate.Bytes(m.Content, conversation.MaxContentBytes)
					f.append(t, id, conversation.NewMessage{Role: conversation.Role(m.Role), Content: content})
					f.advance(20 * time.Second)
					if m.Role == "user" {
						said++
					}
				}
				f.extract(t, id)
				f.advance(24 * time.Hour)
				sessions++
			}
		}
		fmt.Printf("%s: %d sessions, %d messages of users, %.1f a call; %d tokens of instructions a call, %d of material: "+
			"%d%% instructions\n", filepath.Base(file), sessions, said, float64(said)/float64(model.calls),
			model.rules/model.calls, model.material/model.calls, 100*model.rules/(model.rules+model.material))
	}
}
