package extraction

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// promptVersion names the rules. It is stored with what follows from them, so that it can be told which prompt a memory
// is from.
const promptVersion = "extraction/1"

//go:embed prompts/extraction-1.md
var rules string

// schema is the form of the answer.
var schema = llm.Schema{Name: "memory_extraction", JSON: json.RawMessage(
	`{"type":"object","properties":{` +
		`"facts":{"type":"array","items":{"type":"object","properties":{` +
		`"type":{"type":"string","enum":["PROFILE","PEOPLE","PROJECT"]},"content":{"type":"string"},` +
		`"confidence":{"type":"number"},"messageIds":{"type":"array","items":{"type":"string"}},` +
		`"safety":{"type":"boolean"},"repeats":{"type":"string"},"supersedes":{"type":"string"}},` +
		`"required":["type","content","confidence","messageIds","safety","repeats","supersedes"],` +
		`"additionalProperties":false}},` +
		`"openLoops":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},` +
		`"confidence":{"type":"number"},"messageIds":{"type":"array","items":{"type":"string"}}},` +
		`"required":["content","confidence","messageIds"],"additionalProperties":false}},` +
		`"closedLoops":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},` +
		`"messageIds":{"type":"array","items":{"type":"string"}}},` +
		`"required":["id","messageIds"],"additionalProperties":false}}},` +
		`"required":["facts","openLoops","closedLoops"],"additionalProperties":false}`,
)}

// answer is what the model makes of a batch.
type answer struct {
	Facts       []fact       `json:"facts"`
	OpenLoops   []openLoop   `json:"openLoops"`
	ClosedLoops []closedLoop `json:"closedLoops"`
	model       string
}

type fact struct {
	Type       longterm.MemoryType `json:"type"`
	Content    string              `json:"content"`
	Confidence float64             `json:"confidence"`
	MessageIDs []string            `json:"messageIds"`
	Safety     bool                `json:"safety"`
	Repeats    string              `json:"repeats"`
	Supersedes string              `json:"supersedes"`
}

type openLoop struct {
	Content    string   `json:"content"`
	Confidence float64  `json:"confidence"`
	MessageIDs []string `json:"messageIds"`
}

type closedLoop struct {
	ID         string   `json:"id"`
	MessageIDs []string `json:"messageIds"`
}

const (
	// lineBytes limits how much of one message the model reads, knownBytes how much of what is known.
	lineBytes  = 6_000
	knownBytes = 16_000
	// answerTokens limits the answer, answerTimeout how long the model may take for it.
	answerTokens  = 1_200
	answerTimeout = 20 * time.Second
)

// question is the input of one call of the model. ids has the real ids of the records and messages by the short ones
// that the model sees.
type question struct {
	text string
	ids  map[string]string
}

// newQuestion writes the input: one line for each record and message. A message has the user's local time and the day
// of the week, because words such as "on Friday" need a date.
func newQuestion(w window, memories []longterm.Memory, loops []longterm.Todo, zone *time.Location) question {
	q := question{ids: map[string]string{}}
	var b strings.Builder
	section := func(heading string, n int, line func(i int) string) {
		if n > 0 {
			fmt.Fprintf(&b, "%s:\n", heading)
		}
		for i := range n {
			b.WriteString(line(i) + "\n")
		}
		if n > 0 {
			b.WriteString("\n")
		}
	}
	short := func(letter string, i int, id string) string {
		name := fmt.Sprint(letter, i+1)
		q.ids[name] = id
		return name
	}
	memories, loops = newestKnown(memories), loops[max(0, len(loops)-windowLoops):]
	section("Known memories", len(memories), func(i int) string {
		m := memories[i]
		return fmt.Sprintf("- [%s] %s: %s", short("k", i, m.ID), m.Type, safeLine(m.Content, maxContentBytes))
	})
	section("Open loops", len(loops), func(i int) string {
		return fmt.Sprintf("- [%s] %s", short("l", i, loops[i].ID), safeLine(loops[i].Content, maxContentBytes))
	})
	section("Earlier messages", len(w.earlier), func(i int) string { return messageLine("", w.earlier[i], zone) })
	section("New messages", len(w.messages), func(i int) string {
		return messageLine(short("m", i, w.messages[i].ID)+" ", w.messages[i], zone)
	})
	q.text = b.String()
	return q
}

// windowLoops is how many open loops the model sees.
const windowLoops = 50

// newestKnown returns the memories that the model sees, oldest first: pinned ones before others, and the newest before
// older ones, as many as fit.
func newestKnown(memories []longterm.Memory) []longterm.Memory {
	ranked := slices.Clone(memories)
	slices.SortStableFunc(ranked, func(a, b longterm.Memory) int {
		return cmp.Or(-compareBools(a.Pinned, b.Pinned), -a.CreatedAt.Compare(b.CreatedAt), -cmp.Compare(a.ID, b.ID))
	})
	size := 0
	for i, m := range ranked {
		if size += min(len(m.Content), maxContentBytes); size > knownBytes {
			ranked = ranked[:i]
			break
		}
	}
	slices.SortFunc(ranked, func(a, b longterm.Memory) int { return cmp.Compare(a.ID, b.ID) })
	return ranked
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func messageLine(id string, m conversation.Message, zone *time.Location) string {
	at := m.Timestamp.In(zone).Format("2006-01-02 15:04 Monday")
	return fmt.Sprintf("[%s%s] %s: %s", id, at, m.Role, safeLine(m.Content, lineBytes))
}

// safeLine returns a stored text as a part of one line, without what a reader would not see and without control tokens.
func safeLine(text string, limit int) string {
	return untrusted.BreakTokens(truncate.Bytes(untrusted.OneLine(text), limit))
}

// ask asks the model once.
func (w *worker) ask(ctx context.Context, q question) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var a answer
	model, err := metered.Model{Completer: w.Model, Quota: w.Quota, Report: w.Report}.Ask(ctx, metered.Question{
		User: w.user, Generation: w.session.Generation, Rules: rules, Material: q.text, Schema: &schema,
		MaxTokens: answerTokens,
	}, &a)
	a.model = model
	return a, err
}
