package prompt_test

import (
	"cmp"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/render"
)

// failer is what a check needs of a test, a property or a fuzz target.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// readers read a prompt back by its format's structure alone: by block, the items' texts.
var readers = map[*render.Format]func(failer, prompt.Prompt) map[string][]string{
	render.Markdown:       readMarkdown,
	render.PlainText:      readPlain,
	render.Tagged:         readTagged,
	render.SystemMessages: readMessages,
}

// withoutRole checks that the role text is verbatim in its place, with the rules after it, and replaces it by a plain
// word, because the app may write what looks like the recipe's structure.
func withoutRole(t failer, p prompt.Prompt, role string) prompt.Prompt {
	t.Helper()
	const heading, plain = "SYSTEM ROLE:\n", "the role"
	recipe := recipeNamed(p.Recipe)
	if recipe.Rules != "" {
		role += cmp.Or(recipe.Slots[0].Style.Suffix, "\n") + recipe.Rules
	}
	role = strings.TrimRight(role, "\n")
	switch recipe.Format {
	case render.SystemMessages:
		i := slices.IndexFunc(p.Messages, func(m prompt.Message) bool { return m.Role == "system" && m.Content == role })
		if i < 0 {
			t.Fatalf("%s: no system message is %q:\n%q", p.Recipe, role, p.Messages)
		}
		p.Messages = slices.Clone(p.Messages)
		p.Messages[i].Content = plain
	case render.PlainText:
		rest, found := strings.CutPrefix(p.Text, heading+role+"\n\n")
		if !found {
			t.Fatalf("%s: the text does not begin with %q:\n%s", p.Recipe, role, p.Text)
		}
		p.Text = heading + plain + "\n\n" + rest
	default:
		rest, found := strings.CutPrefix(p.System, role)
		if !found || rest != "" && !strings.HasPrefix(rest, "\n\n") {
			t.Fatalf("%s: the prompt does not begin with %q:\n%s", p.Recipe, role, p.System)
		}
		p.System = plain + rest
	}
	return p
}

func recipeNamed(name string) prompt.Recipe {
	i := slices.IndexFunc(prompt.Recipes, func(r prompt.Recipe) bool { return r.Name == name })
	return prompt.Recipes[i]
}

// A beginning takes the mark off a line that begins an item.
type beginning func(line string) (rest string, begins bool)

func behindMark(mark string) beginning {
	return func(line string) (string, bool) { return strings.CutPrefix(line, mark) }
}

// behindLabel takes a label in brackets off a line, whose own words never hold a bracket.
func behindLabel(line string) (string, bool) {
	label, rest, found := strings.Cut(line, "]")
	if !found || !strings.HasPrefix(label, "[") {
		return line, false
	}
	return strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " "), true
}

func behindSpeaker(line string) (string, bool) {
	if rest, found := strings.CutPrefix(line, "User: "); found {
		return rest, true
	}
	return strings.CutPrefix(line, "Assistant: ")
}

func behindPattern(pattern string) beginning {
	compiled := regexp.MustCompile(pattern)
	return func(line string) (string, bool) {
		at := compiled.FindStringIndex(line)
		if at == nil {
			return line, false
		}
		return line[at[1]:], true
	}
}

// splitItems begins an item at each line that is a beginning.
func splitItems(lines []string, begins beginning) []string {
	var items []string
	for _, line := range lines {
		rest, begun := begins(line)
		switch {
		case begun:
			items = append(items, rest)
		case len(items) > 0:
			items[len(items)-1] += "\n" + line
		}
	}
	for i := range items {
		items[i] = strings.Trim(items[i], "\n")
	}
	return items
}

// styles are how the Markdown recipes begin an item; a style that is not here makes one item of its block.
var styles = map[*render.Style]beginning{
	render.Bullet: behindMark("- "), render.NumberedTitle: behindPattern(`^\d+\. `),
	render.Labelled: behindLabel, render.Attributed: behindLabel, render.TranscriptLine: behindLabel,
}

// fields are the blocks that are one item of several lines, whatever their style.
var fields = []string{"now", "profile", "engagement", "user_summary"}

// readMarkdown splits at headings. A line that begins with # and is no heading of the recipe's opens something that
// must not be there, but for the labels of conversations and the modules of expertise.
func readMarkdown(t failer, p prompt.Prompt) map[string][]string {
	names := map[string]prompt.Slot{}
	recipe := recipeNamed(p.Recipe)
	for _, s := range recipe.Slots {
		first, _, _ := strings.Cut(s.Heading, "\n")
		names[first] = s
	}
	blocks := map[string][]string{}
	slot, text := recipe.Slots[0], []string{}
	end := func() { blocks[slot.Block] = append(blocks[slot.Block], readItems(recipe, slot, text)...) }
	for line := range strings.SplitSeq(systemText(p), "\n") {
		next, isHeading := names[line]
		inside := slot.Block == "expertise" && strings.HasPrefix(line, "### ") || strings.HasPrefix(line, "## ") &&
			(slot.Block == "thread_history" || slot.Block == "relevant_messages")
		switch {
		case line != "" && isHeading:
			end()
			slot, text = next, nil
		case strings.HasPrefix(line, "#") && !inside:
			t.Fatalf("%s: a line opens a section of its own: %q", p.Recipe, line)
		case !inside:
			text = append(text, line)
		}
	}
	end()
	return blocks
}

// readItems splits a block's lines into its items.
func readItems(recipe prompt.Recipe, slot prompt.Slot, lines []string) []string {
	if slot.Empty != "" && slices.Equal(lines, []string{slot.Empty, ""}) {
		return nil
	}
	begins, listed := styles[slot.Style]
	if !listed || slices.Contains(fields, slot.Block) {
		return []string{strings.Join(lines, "\n")}
	}
	return splitItems(lines, begins)
}

// readPlain splits at the specification's labels, each of which may be there once, in its order.
func readPlain(t failer, p prompt.Prompt) map[string][]string {
	labels := []struct{ label, block string }{
		{"SYSTEM ROLE:", "role"},
		{"SAFETY:", "safety"},
		{"USER PROFILE:", "profile"},
		{"PREVIOUS CONTEXT (from long-term memory):", "session_summaries"},
		{"RECENT CONVERSATION:", "recent_messages"},
		{"CURRENT QUERY:", "current_message"},
		{"Please respond naturally, referencing past context when relevant.", "instruction"},
	}
	parts := map[string][]string{}
	at, block := 0, ""
	for line := range strings.SplitSeq(p.Text, "\n") {
		i := slices.IndexFunc(labels, func(l struct{ label, block string }) bool { return l.label == line })
		if i < 0 {
			parts[block] = append(parts[block], line)
			continue
		}
		if i < at {
			t.Fatalf("%s: %q is repeated or out of order\n%s", p.Recipe, line, p.Text)
		}
		at, block = i+1, labels[i].block
		parts[block] = append(parts[block], "")
	}
	blocks := map[string][]string{}
	for name, lines := range parts {
		text := strings.Trim(strings.Join(lines, "\n"), "\n")
		switch name {
		case "session_summaries":
			dated := behindPattern(`^\d{1,2} [A-Z][a-z]+ \d{4}: `)
			for item := range strings.SplitSeq(text, "\n\n") {
				item, _ = dated(item)
				blocks[name] = append(blocks[name], item)
			}
		case "safety":
			blocks[name] = strings.Split(text, "\n")
		case "recent_messages":
			blocks[name] = splitItems(strings.Split(text, "\n"), behindSpeaker)
		default:
			blocks[name] = []string{text}
		}
	}
	return blocks
}

// readTagged reads the history as XML, which it has to be, whole.
func readTagged(t failer, p prompt.Prompt) map[string][]string {
	at := strings.Index(p.System, "<conversation-history>")
	if at < 0 {
		t.Fatalf("no history in %q", p.System)
	}
	var history struct {
		Status        []string `xml:"thread-status"`
		Conversations []struct {
			Type string `xml:"type,attr"`
			Text string `xml:",chardata"`
			Any  []any  `xml:",any"`
		} `xml:"conversation"`
	}
	d := xml.NewDecoder(strings.NewReader(p.System[at:]))
	if err := d.Decode(&history); err != nil {
		t.Fatalf("read history: %v\n%s", err, p.System)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("something comes after the history: %v", err)
	}
	if strings.ContainsAny(p.System[:at], "<>") {
		t.Fatalf("a tag comes before the history: %s", p.System[:at])
	}
	blocks := map[string][]string{"role": {"role"}, "instruction": {"instruction"}, "now": history.Status}
	if _, safety, found := strings.Cut(p.System[:at], "\nSafety: "); found {
		blocks["safety"] = splitItems(strings.Split(html.UnescapeString(safety), "\n"), behindMark("- "))
	}
	line := behindPattern(`^\[(?:human|you) \d\d:\d\d\] `)
	for _, c := range history.Conversations {
		if c.Type == "summary" {
			blocks["session_summaries"] = append(blocks["session_summaries"], c.Text)
			continue
		}
		blocks["thread_history"] = append(blocks["thread_history"], splitItems(strings.Split(c.Text, "\n"), line)...)
	}
	return blocks
}

// readMessages takes each system message as a block, by how it begins.
func readMessages(t failer, p prompt.Prompt) map[string][]string {
	begins := []struct{ with, block string }{
		{"What has a label here", "instruction"},
		{"Local time: ", "now"},
		{"Screen: ", "session_state"},
		{"[SAFETY]:\n", "safety"},
		{"[FOUNDATION MEMORIES]:\n", "foundation_memories"},
		{"[RELEVANT MEMORIES]:\n", "relevant_memories"},
		{"OPEN LOOPS (pending):\n", "open_loops"},
		{"Recent wins:\n", "wins"},
		{"User context: ", "seed"},
		{"Conversation summary: ", "spine"},
		{"LATEST SESSION SUMMARY: ", "session_summary"},
	}
	lists := map[string]bool{
		"safety": true, "foundation_memories": true, "relevant_memories": true, "open_loops": true, "wins": true,
	}
	blocks := map[string][]string{}
	for _, m := range p.Messages {
		if m.Role != "system" {
			continue
		}
		name, text := "role", m.Content
		for _, b := range begins {
			if rest, ok := strings.CutPrefix(m.Content, b.with); ok {
				name, text = b.block, rest
			}
		}
		if blocks[name] != nil {
			t.Fatalf("%s is repeated", name)
		}
		blocks[name] = []string{text}
		if lists[name] {
			blocks[name] = strings.Split(text, "\n")
		}
	}
	return blocks
}
