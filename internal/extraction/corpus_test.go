package extraction_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.MainWithChecks(m, 6) }

// TestCorpus runs the conversations of the corpus (testdata/README.md), each for a user of its own.
func TestCorpus(t *testing.T) {
	t.Parallel()
	var all cost
	t.Cleanup(func() { all.print(t) })
	for name, archive := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCase(t, name, archive)
			c.cost = &all
			runCase(t, c)
			all.addMessages(len(c.messageLabels))
		})
	}
}

// corpus reads the files of the corpus by their names.
func corpus(t *testing.T) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	all := map[string]*txtar.Archive{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		check.OK(t, err)
		all[strings.TrimSuffix(filepath.Base(file), ".txtar")] = archive
	}
	return all
}

// TestCorpusReadLate runs them as an import or a backlog of a week is read: all messages are a week old by then.
func TestCorpusReadLate(t *testing.T) {
	t.Parallel()
	for name, archive := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCase(t, "late-"+name, archive)
			if _, atOnce := c.sections["at once"]; atOnce {
				return
			}
			c.now = c.lastMessage(t).Add(7 * 24 * time.Hour)
			delete(c.sections, "prompt")
			if late, differs := c.sections["late"]; differs {
				c.sections["want"] = late
			}
			runCase(t, c)
		})
	}
}

// corpusCase is one conversation of the corpus on the store. It is also the model, which answers as the file says.
type corpusCase struct {
	*fixture
	sections map[string]string
	// labels are the names of the file by the texts of the records and messages.
	labels map[string]string
	// messageLabels are the names of the user's messages by their ids.
	messageLabels map[string]string
	problems      []string
	failures      int // of the extraction, which is tried again
	cost          *cost
}

func newCase(t *testing.T, name string, archive *txtar.Archive) *corpusCase {
	t.Helper()
	c := &corpusCase{
		fixture: newFixture(t, conversation.UserID(name)), sections: map[string]string{},
		labels: map[string]string{}, messageLabels: map[string]string{}, cost: &cost{},
	}
	c.model = c
	for _, f := range archive.Files {
		c.sections[f.Name] = string(f.Data)
	}
	return c
}

func runCase(t *testing.T, c *corpusCase) {
	c.run(t)
	want, got := c.wanted(), c.records(t)
	slices.Sort(want)
	slices.Sort(got)
	check.Same(t, want, got, "the result")
	c.checkPrompt(t)
	for _, p := range c.problems {
		t.Error(p)
	}
}

// run stores what the file has and extracts the session.
func (c *corpusCase) run(t *testing.T) {
	t.Helper()
	messages := c.messages(t)
	if last := messages[len(messages)-1].Timestamp.Add(time.Minute); last.After(c.now) {
		c.now = last
	}
	c.setZone(t)
	before := messages[0].Timestamp.Add(-24 * time.Hour)
	c.storeKnown(t, before)
	c.storeLoops(t, before)
	for _, e := range c.entries(t, "names", before) {
		c.labels[e.text] = e.label
	}
	c.create(t, "s")
	if _, atOnce := c.sections["at once"]; !atOnce {
		c.storeMessages(t, messages)
		c.read(t)
		return
	}
	for _, m := range messages {
		c.now = m.Timestamp.Add(time.Minute)
		c.storeMessages(t, []conversation.NewMessage{m})
		c.read(t)
	}
}

// read extracts the session to its end.
func (c *corpusCase) read(t *testing.T) {
	t.Helper()
	service := extraction.New(c.deps(c.stores.Extraction))
	for s := c.session(t, "s"); s.NeedsExtraction(); s = c.session(t, "s") {
		if _, err := service.Extract(t.Context(), c.user, s.Context, s.ID); err != nil {
			if c.failures++; c.failures > maxFailures {
				t.Fatal(err)
			}
		}
	}
}

// maxFailures is how many answers of no use a file has at most.
const maxFailures = 2

// wanted returns the lines that the file wants.
func (c *corpusCase) wanted() []string {
	var want []string
	for line := range strings.Lines(c.sections["want"]) {
		want = append(want, strings.TrimSpace(line))
	}
	return want
}

// entry is a line of the file: words, "at=" and "until=" among them, and a text after "|".
type entry struct {
	label, text string
	words       []string
	at          time.Time
}

func parseEntry(t *testing.T, line string, at time.Time) entry {
	t.Helper()
	head, text, ok := strings.Cut(line, "|")
	if !ok {
		t.Fatalf("a line without \"|\": %s", line)
	}
	e := entry{text: strings.TrimSpace(text), at: at}
	for word := range strings.FieldsSeq(head) {
		if stamp, ok := strings.CutPrefix(word, "at="); ok {
			e.at = parseTime(t, stamp)
		} else {
			e.words = append(e.words, word)
		}
	}
	if len(e.words) > 0 {
		e.label = e.words[0]
	}
	return e
}

func parseTime(t *testing.T, stamp string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, stamp)
	check.OK(t, err)
	return at
}

func (c *corpusCase) entries(t *testing.T, section string, at time.Time) []entry {
	t.Helper()
	var all []entry
	for line := range strings.Lines(c.sections[section]) {
		if strings.TrimSpace(line) != "" {
			all = append(all, parseEntry(t, line, at))
		}
	}
	return all
}

func (c *corpusCase) lastMessage(t *testing.T) (at time.Time) {
	t.Helper()
	for _, e := range c.entries(t, "messages", time.Time{}) {
		if said := parseTime(t, e.words[1]); said.After(at) {
			at = said
		}
	}
	return at
}

// messages reads the messages of the file, and names those of the user.
func (c *corpusCase) messages(t *testing.T) []conversation.NewMessage {
	t.Helper()
	var all []conversation.NewMessage
	users := 0
	for _, e := range c.entries(t, "messages", time.Time{}) {
		if len(e.words) != 2 {
			t.Fatalf("a message has a role and a time: %v", e.words)
		}
		m := conversation.NewMessage{
			Role: conversation.Role(e.label), Content: e.text, Timestamp: parseTime(t, e.words[1]),
		}
		if m.Role == conversation.RoleUser {
			users++
			if name := fmt.Sprint("m", users); c.labels[e.text] == "" {
				c.labels[e.text] = name
			}
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		t.Fatal("no messages")
	}
	return all
}

func (c *corpusCase) storeMessages(t *testing.T, messages []conversation.NewMessage) {
	t.Helper()
	for chunk := range slices.Chunk(messages, conversation.MaxMessagesPerCall) {
		for _, m := range c.append(t, "s", chunk...) {
			if m.Role == conversation.RoleUser {
				c.messageLabels[m.ID] = fmt.Sprint("m", len(c.messageLabels)+1)
			}
		}
	}
}

func (c *corpusCase) storeKnown(t *testing.T, at time.Time) {
	t.Helper()
	for _, e := range c.entries(t, "known", at) {
		m := longterm.Memory{
			Type: longterm.MemoryType(e.words[1]), Content: e.text, Source: longterm.Extracted, CreatedAt: e.at, UpdatedAt: e.at,
		}
		for _, word := range e.words[2:] {
			switch word {
			case "pinned":
				m.Pinned = true
			case "deleted":
			case "seeded", "extracted":
				m.Source = longterm.MemorySource(word)
			default:
				if _, err := fmt.Sscan(word, &m.Confidence); err != nil {
					t.Fatalf("%q is no word of a memory", word)
				}
				m.Rated = true
			}
		}
		c.labels[e.text] = e.label
		stored, _, err := c.stores.Memories.Create(t.Context(), c.user, m, noKey)
		if err == nil && slices.Contains(e.words, "deleted") {
			err = c.stores.Memories.Delete(t.Context(), c.user, stored.ID)
		}
		check.OK(t, err)
	}
}

func (c *corpusCase) storeLoops(t *testing.T, at time.Time) {
	t.Helper()
	for _, e := range c.entries(t, "loops", at) {
		c.labels[e.text] = e.label
		todo := longterm.Todo{
			Content: e.text, CoachID: coach, Status: longterm.Pending, CreatedAt: e.at, UpdatedAt: e.at,
		}
		for _, word := range e.words {
			if other, ok := strings.CutPrefix(word, "coach="); ok {
				todo.CoachID = other
			}
		}
		stored, _, err := c.stores.Todos.Create(t.Context(), c.user, todo, noKey)
		if err == nil && slices.Contains(e.words, "deleted") {
			err = c.stores.Todos.Delete(t.Context(), c.user, stored.ID)
		}
		check.OK(t, err)
	}
}

// shortLine is a line of the prompt that names a record or a message by a short id.
var shortLine = regexp.MustCompile(`(?m)^(?:- )?\[([klm]\d+)(?:[ ,][^\]]*)?\] (?:[A-Z]+: |user: )?(.*)$`)

// Complete answers as the file says, with the short ids of the prompt in the place of the file's names.
func (c *corpusCase) Complete(_ context.Context, r llm.Request) (llm.Completion, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.cost.add(r)
	text := c.answer(c.calls)
	short := map[string]string{}
	for _, m := range shortLine.FindAllStringSubmatch(r.Messages[1].Content, -1) {
		if name := c.labelOf(m[2]); name != "" {
			short[name] = m[1]
		}
	}
	text = regexp.MustCompile(`"[klm]\d+"`).ReplaceAllStringFunc(text, func(quoted string) string {
		name := strings.Trim(quoted, `"`)
		if id, ok := short[name]; ok {
			return `"` + id + `"`
		}
		return `"unknown-` + name + `"`
	})
	return llm.Completion{Text: text, Model: "scripted", Usage: llm.Usage{TotalTokens: 10}}, nil
}

// labelOf returns the file's name of a line of the prompt. A long message is cut in the middle there.
func (c *corpusCase) labelOf(line string) string {
	const longEnough = 500
	if name := c.labels[line]; name != "" || len(line) < longEnough {
		return name
	}
	for text, name := range c.labels {
		if strings.HasPrefix(text, line[:longEnough]) {
			return name
		}
	}
	return ""
}

// answer returns the answer to a call, counted from 1: the file's text, or the notes of the file as such a text.
func (c *corpusCase) answer(call int) string {
	section := "answer"
	if call > 1 {
		section = fmt.Sprint("answer-", call)
	}
	if text, ok := c.sections[section+".json"]; ok {
		return text
	}
	return answerOf(c.sections[section])
}
