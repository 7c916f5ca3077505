package extraction

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// promptVersion names the rules and the app's registry, whose memory types are part of them. It is stored with what
// follows from them, so that the prompt that a memory is from is known.
func promptVersion() string { return "extraction/3+" + registry.Live().Version }

//go:embed prompts/extraction-3.md
var rulesText string

//go:embed prompts/extraction-3.schema.json
var schemaText string

// typesMark is where the app's memory types are in the rules and in the schema.
const typesMark = "{{types}}"

// rules are those of the prompt, with the app's memory types: "PROFILE for the user; PEOPLE for somebody in their
// life".
func rules() string {
	var types []string
	for _, t := range registry.Live().MemoryTypes {
		types = append(types, t.Name+" for "+t.Means)
	}
	return strings.Replace(rulesText, typesMark, strings.Join(types, "; "), 1) + appRules(registry.Live())
}

// appRules are what an app adds to the rules: what it wants noted and never noted, and examples.
func appRules(app *registry.App) string {
	var b strings.Builder
	list := func(heading string, lines []string) {
		if len(lines) > 0 {
			b.WriteString("\n" + heading + ":\n- " + strings.Join(lines, "\n- ") + "\n")
		}
	}
	var examples []string
	for _, e := range app.Examples {
		notes := strings.Join(e.Notes, "; ")
		examples = append(examples, fmt.Sprintf("%q: %s", e.User, cmp.Or(notes, "nothing")))
	}
	list("This app also notes", app.Note)
	list("This app never notes", app.Ignore)
	list("Examples, with what is noted of each", examples)
	return b.String()
}

// schema is the form of the answer.
func schema() *llm.Schema {
	types := strings.Join(registry.Live().MemoryTypeNames(), `", "`)
	return &llm.Schema{Name: "memory_extraction", JSON: []byte(strings.Replace(schemaText, typesMark, types, 1))}
}

// answer is what the model makes of a batch. An item that is not as the schema says is left out and counted.
type answer struct {
	facts  []fact
	ended  []ending
	opened []openLoop
	closed []closedLoop
	// forgetMessages are the lines that the user asks to forget.
	forgetMessages []string
	bad            int
	model          string
}

type fact struct {
	Type       longterm.MemoryType   `json:"type"`
	Content    string                `json:"content"`
	About      string                `json:"about"`
	Status     longterm.MemoryStatus `json:"status"`
	From       string                `json:"from"`
	Until      string                `json:"until"`
	Confidence float64               `json:"confidence"`
	MessageIDs []string              `json:"messageIds"`
	Safety     string                `json:"safety"`
	Repeats    string                `json:"repeats"`
	Supersedes []string              `json:"supersedes"`
}

// isSafety reports whether a fact is about what can hurt somebody if it is forgotten.
func (f fact) isSafety() bool { return f.Safety == "health" || f.Safety == "danger" }

// ending is the end of a known memory that no fact takes the place of.
type ending struct {
	ID         string               `json:"id"`
	Reason     longterm.EndedReason `json:"reason"`
	MessageIDs []string             `json:"messageIds"`
}

// isCorrectedBy reports whether a fact says what is true instead: it is in the place of the memory, or in the words
// that end it.
func (e ending) isCorrectedBy(f fact) bool {
	isEnd := func(id string) bool { return slices.Contains(e.MessageIDs, id) }
	return slices.Contains(f.Supersedes, e.ID) || slices.ContainsFunc(f.MessageIDs, isEnd)
}

type openLoop struct {
	Content    string             `json:"content"`
	By         longterm.TodoOwner `json:"by"`
	Due        string             `json:"due"`
	Every      longterm.Period    `json:"every"`
	Confidence float64            `json:"confidence"`
	MessageIDs []string           `json:"messageIds"`
}

type closedLoop struct {
	ID         string   `json:"id"`
	Outcome    string   `json:"outcome"`
	MessageIDs []string `json:"messageIds"`
}

// The outcomes of a promise that was kept, of one that was moved to another day, and of one that the user asks to
// forget. Others were dropped.
const (
	outcomeDone      = "done"
	outcomeMoved     = "moved"
	outcomeForgotten = "forgotten"
)

// rawAnswer is an answer whose items are not read yet. A list that is missing is nil. That of messages may be missing.
type rawAnswer struct {
	Facts, Ended, ForgetMessages, OpenLoops, ClosedLoops []json.RawMessage
}

// errMissingList says that an answer lacks a list, which is a failure and not an empty list.
var errMissingList = errors.New("extraction: the answer lacks a list")

// UnmarshalJSON reads an answer that has all lists.
func (r *rawAnswer) UnmarshalJSON(text []byte) error {
	type plain rawAnswer
	if err := json.Unmarshal(text, (*plain)(r)); err != nil {
		return err
	}
	if r.Facts == nil || r.Ended == nil || r.OpenLoops == nil || r.ClosedLoops == nil {
		return errMissingList
	}
	return nil
}

// read reads the items one by one.
func (r rawAnswer) read() answer {
	var a answer
	a.facts = readItems[fact](r.Facts, &a.bad)
	all := len(a.facts)
	a.facts = slices.DeleteFunc(a.facts, func(f fact) bool {
		return registry.Live().MemoryType(string(f.Type)).Name == ""
	})
	a.bad += all - len(a.facts)
	a.ended = readItems[ending](r.Ended, &a.bad)
	a.opened = readItems[openLoop](r.OpenLoops, &a.bad)
	a.closed = readItems[closedLoop](r.ClosedLoops, &a.bad)
	a.forgetMessages = readItems[string](r.ForgetMessages, &a.bad)
	return a
}

// isEmpty reports whether nothing follows from an answer.
func (a answer) isEmpty() bool {
	return len(a.facts)+len(a.ended)+len(a.closed)+len(a.opened)+len(a.forgetMessages) == 0
}

// maxItems limits each list of an answer.
const maxItems = 50

func readItems[T any](raw []json.RawMessage, bad *int) []T {
	var items []T
	for _, text := range raw[:min(len(raw), maxItems)] {
		var item T
		if json.Unmarshal(text, &item) != nil {
			*bad++
			continue
		}
		items = append(items, item)
	}
	return items
}

const (
	// lineRunes limits how much of one message of the user the model reads, contextRunes how much of a line that is
	// context. Both its beginning and its end are read.
	lineRunes, contextRunes = 6_000, 600
	// urgentBytes limits how much of what is urgent is read from between the beginning and the end.
	urgentBytes = 1_500
	// knownBytes limits how much of what is known the model reads.
	knownBytes = 16_000
	// answerTokens limits the answer, answerTimeout how long the model may take for it where somebody waits.
	answerTokens  = 4_000
	answerTimeout = 20 * time.Second
)

// question is the input of one call of the model. ids has the real ids of the records and messages by the short ones
// that the model sees.
type question struct {
	text string
	ids  map[string]string
}

// messageLetter begins the short ids of the user's messages. The new ones have the first numbers. Those of the earlier
// lines can be forgotten, and are no evidence.
const messageLetter = "m"

// newQuestion writes the input: a line for each record and message, this with the user's local time and day of week.
func (p *planner) newQuestion(w window) question {
	q := question{ids: map[string]string{}}
	var b strings.Builder
	section := func(heading string, n int, line func(i int) string) {
		if n == 0 {
			return
		}
		fmt.Fprintf(&b, "%s:\n", heading)
		for i := range n {
			b.WriteString(line(i) + "\n")
		}
		b.WriteString("\n")
	}
	short := func(letter string, i int, id string) string {
		name := fmt.Sprint(letter, i+1)
		q.ids[name] = id
		return name
	}
	fmt.Fprintf(&b, "Today: %s\n\n", p.now.Format("2006-01-02 Monday"))
	memories, loops := newestKnown(p.validMemories()), p.pendingLoops()
	loops = loops[max(0, len(loops)-windowLoops):]
	section("Known memories", len(memories), func(i int) string {
		return p.memoryLine(short("k", i, memories[i].ID), memories[i])
	})
	past := newestKnown(p.past)
	section(pastHeading(p.isWish), len(past), func(i int) string {
		return p.memoryLine(short("e", i, past[i].ID), past[i])
	})
	section("Open loops", len(loops), func(i int) string { return p.loopLine(short("l", i, loops[i].ID), loops[i]) })
	section("Wishes to forget, said later. Lines that they mean are forgetMessages", len(p.wishes), func(i int) string {
		return messageLine(p.zone, "", p.wishes[i], contextRunes)
	})
	named := len(w.messages)
	lines := func(heading string, of []conversation.Message, limit int) {
		section(heading, len(of), func(i int) string {
			if of[i].Role != conversation.RoleUser {
				return messageLine(p.zone, "", of[i], contextRunes)
			}
			named++
			return messageLine(p.zone, short(messageLetter, named-1, of[i].ID)+" ", of[i], limit)
		})
	}
	lines("Earlier lines", w.earlier, contextRunes)
	lines("Earlier lines of other sessions", w.elsewhere, contextRunes)
	named = 0
	lines("New lines", w.lines, lineRunes)
	q.text = b.String()
	return q
}

// pastHeading says for what the model sees memories that have ended.
func pastHeading(isWish bool) string {
	if isWish {
		return "Memories that have ended, to be forgotten only"
	}
	return "Memories that ended after the lines were said, with their days. " +
		"A fact that ended with one has the day before as until. One that a line ends earlier is in ended, too"
}

// memoryLine is a known memory, with what is known of it besides its content.
func (p *planner) memoryLine(name string, m longterm.Memory) string {
	words := []string{name, "said " + m.Said().In(p.zone).Format(time.DateOnly)}
	if m.Pinned {
		words = append(words, "pinned")
	}
	if m.Status != "" && m.Status != longterm.Stated {
		words = append(words, string(m.Status))
	}
	if m.About != "" {
		words = append(words, "about "+brackets.Replace(safeLine(m.About, maxAboutRunes)))
	}
	if !m.From.IsZero() {
		words = append(words, "from "+m.From.String())
	}
	if !m.Until.IsZero() {
		words = append(words, "until "+m.Until.String())
	}
	if !p.isWish && !m.ValidUntil.IsZero() && !m.HeldAt(p.now) {
		words = append(words, "ended "+m.ValidUntil.In(p.zone).Format(time.DateOnly))
	}
	return fmt.Sprintf("- [%s] %s: %s", strings.Join(words, ", "), m.Type, safeLine(m.Content, maxContentRunes))
}

// brackets are what would end the words about a record.
var brackets = strings.NewReplacer("[", "(", "]", ")")

func (p *planner) loopLine(name string, t longterm.Todo) string {
	words := []string{name}
	if !t.Due.IsZero() {
		words = append(words, "due "+t.Due.String())
	}
	if t.Every != "" {
		words = append(words, "every "+string(t.Every))
	}
	if t.CoachID != p.coachID {
		words = append(words, "with another coach")
	}
	return fmt.Sprintf("- [%s] %s", strings.Join(words, ", "), safeLine(t.Content, maxContentRunes))
}

// readable is what the model reads of a message: of a long one its beginning and its end, and from between them what is
// urgent.
func readable(text string) string {
	text = untrusted.OneLine(text)
	cut := truncate.Middle(text, lineRunes)
	if cut == text {
		return text
	}
	parts := slices.DeleteFunc(conversation.UrgentParts(text, urgentBytes), func(part string) bool {
		return strings.Contains(cut, part)
	})
	return truncate.MiddleBut(text, lineRunes, parts)
}

// messageLine is a line of the conversation. One of the assistant has no id, so that the model cannot name it.
func messageLine(zone *time.Location, id string, m conversation.Message, limit int) string {
	if limit == lineRunes {
		m.Content = readable(m.Content)
	}
	at := m.Timestamp.In(zone).Format("2006-01-02 15:04 Monday")
	return fmt.Sprintf("[%s%s] %s: %s", id, at, m.Role, safeLine(m.Content, limit))
}

// windowLoops is how many open loops the model sees.
const windowLoops = 50

// newestKnown returns the memories that the model sees, oldest first: pinned ones before others, and the newest before
// older ones, as many as fit.
func newestKnown(memories []longterm.Memory) []longterm.Memory {
	ranked := slices.Clone(memories)
	slices.SortStableFunc(ranked, func(a, b longterm.Memory) int {
		return cmp.Or(priority(b.Pinned)-priority(a.Pinned), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	size := 0
	for i, m := range ranked {
		if size += min(len(m.Content), 4*maxContentRunes); size > knownBytes {
			ranked = ranked[:i]
			break
		}
	}
	slices.SortFunc(ranked, func(a, b longterm.Memory) int { return cmp.Compare(a.ID, b.ID) })
	return ranked
}

// priority is 1 for what comes before others, and 0 for these.
func priority(isFirst bool) int {
	if isFirst {
		return 1
	}
	return 0
}

// safeLine returns a stored text as a part of one line, without what a reader would not see and without control tokens.
// Of a long text it has the beginning and the end, with a mark between them.
func safeLine(text string, limit int) string {
	return untrusted.BreakTokens(truncate.Middle(untrusted.OneLine(text), limit))
}

// isPatient reports whether nobody waits for what is read: nothing urgent was said, and no other session of the stream
// has to wait for its turn.
func (w *worker) isPatient() bool {
	return !w.effort.untilUrgent && w.session.Extracted.Seq >= w.session.UrgentSeq
}

// ask asks the model once.
func (w *worker) ask(ctx context.Context, q question) (answer, error) {
	asked := metered.Question{
		User: w.user, Generation: w.session.Generation, Rules: rules(), Material: q.text, Schema: schema(),
		MaxTokens: answerTokens, Patient: w.isPatient(),
	}
	w.Count(ctx, Counts{Calls: 1})
	ctx, cancel := asked.Within(ctx, answerTimeout)
	defer cancel()
	var raw rawAnswer
	model, err := metered.Model{Completer: w.Model, Quota: w.Quota, Report: w.Report}.Ask(ctx, asked, &raw)
	if err != nil {
		return answer{}, err
	}
	a := raw.read()
	a.model = model
	return a, nil
}
