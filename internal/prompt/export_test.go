package prompt

import (
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/untrusted"
)

// What the tests read back with.
var (
	Clean   = untrusted.Clean
	OneLine = oneLine
	Excerpt = excerpt
	Unguard = unguardLines

	BreakTokens = untrusted.BreakTokens

	Persona        = persona
	HasVisibleText = hasVisibleText

	IsBoundary = isBoundary
	DayText    = dayText
)

// The formats and styles that the tests read back.
var (
	Markdown       = markdown
	PlainText      = plainText
	Tagged         = tagged
	SystemMessages = systemMessages

	Prose      = prose
	Bullet     = bullet
	Numbered   = numberedTitle
	Labelled   = labelled
	Attributed = attributed
	Transcript = transcriptLine
)

// ActivityHeading is the heading of recent_activity.
const ActivityHeading = activityHeading

// RefersBack reports whether a message refers to an earlier conversation.
func RefersBack(message string) bool {
	_, refers := findReference(message)
	return refers
}

// Sitting is a sitting as the tests see it.
type Sitting struct {
	Messages    []*conversation.Message
	First, Last time.Time
	// Full is set if the sitting is told in full, InThread if it belongs to the thread.
	Full, InThread bool
}

// Divide divides the messages of sessions, of which the first is that of the current message, said now. It returns the
// sittings of each session, and those of the tiers that are told in full in the order in which told returns them.
func Divide(sessions []conversation.Session, messages map[string][]*conversation.Message, now time.Time) (
	all map[string][]Sitting, thread, today []Sitting, edge time.Time,
) {
	h := history{now: now, zone: time.UTC, sessions: sessions}
	h.divide(messages, now)
	convert := func(from []*sitting) []Sitting {
		var out []Sitting
		for _, s := range from {
			out = append(out, Sitting{s.messages, s.first, s.last, s.tier.isFull(), s.inThread})
		}
		return out
	}
	all = map[string][]Sitting{}
	for id, sittings := range h.sittings {
		all[id] = convert(sittings)
	}
	return all, convert(h.told(tierThread)), convert(h.told(tierToday)), h.thread.edge
}

func newTokenCounter(c Counter) tokenCounter {
	return tokenCounter{counter: c, fixed: &sync.Map{}, edges: map[string]int{}}
}

// Framed counts a body in its frame, of which only the body's own count is stored.
func Framed(c Counter, prefix, body, suffix string) int {
	return newTokenCounter(c).framed(prefix, body, suffix, c.Count(body))
}

// Candidate is an entry as the tests of the packer give it.
type Candidate struct {
	Text, Label string
	// Message is set if the entry is a message. All messages and summaries are of one session.
	Message  bool
	Replaces int
	// Dropped is set if the selector has dropped the entry.
	Dropped bool
}

// Packing is a block to be packed.
type Packing struct {
	Slot       Slot
	Candidates []Candidate
}

// Pack packs blocks within a budget of tokens. It returns the text of each block, empty if the prompt does not have it.
func Pack(c Counter, budget int, packings []Packing) ([]string, error) {
	p := packer{
		limit:    cost{tokens: budget},
		renderer: renderer{format: markdown, zone: time.UTC, tokenCounter: newTokenCounter(c)},
	}
	blocks := make([]*block, len(packings))
	for i, from := range packings {
		blocks[i] = &block{slot: &packings[i].Slot}
		for _, candidate := range from.Candidates {
			e := &entry{
				text: candidate.Text, tokens: c.Count(candidate.Text), label: candidate.Label, replaces: candidate.Replaces,
			}
			if candidate.Message {
				e.kind = kindMessage
			}
			if candidate.Dropped {
				e.drop("by its selector")
			}
			blocks[i].entries = append(blocks[i].entries, e)
		}
	}
	if err := p.pack(blocks); err != nil {
		return nil, err
	}
	texts := make([]string, len(blocks))
	for i, b := range blocks {
		if b.started {
			texts[i] = p.section(b)
		}
	}
	return texts, nil
}
