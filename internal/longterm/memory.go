package longterm

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/word"
)

// MemoryType is the kind of a memory (prompt-assembly-map, "Block Map Table").
type MemoryType string

// MemorySource is where a memory comes from.
type MemorySource string

// The types and sources of a memory.
const (
	ProfileMemory MemoryType = "PROFILE"
	PeopleMemory  MemoryType = "PEOPLE"
	ProjectMemory MemoryType = "PROJECT"

	Seeded    MemorySource = "seeded"
	Extracted MemorySource = "extracted"
)

// MemoryStatus is how a fact is known. EndedReason is why a memory is not valid any more.
type (
	MemoryStatus string
	EndedReason  string
)

// A fact was stated by the user, is planned by the user, or was reported by others. One that waits is in no prompt
// until it is confirmed. A memory ended because it was false, because what it says is over, because the user asked to
// forget it, or because a newer one replaces it.
const (
	Stated   MemoryStatus = "stated"
	Planned  MemoryStatus = "planned"
	Reported MemoryStatus = "reported"
	Waiting  MemoryStatus = "waiting"

	EndedFalse     EndedReason = "false"
	EndedOver      EndedReason = "over"
	EndedForgotten EndedReason = "forgotten"
	EndedReplaced  EndedReason = "replaced"
)

// Memory is a lasting fact about the user, or about somebody in the user's life. After its end it is still stored, but
// no prompt includes it.
type Memory struct {
	ID      string
	Type    MemoryType   `stored:"type"`
	Content string       `stored:"content"`
	Pinned  bool         `stored:"pinned"`
	Source  MemorySource `stored:"source"`
	// Status is how the fact is known. Empty is Stated.
	Status MemoryStatus `stored:"status,omitempty"`
	// WaitingAs is the status of a memory that waits, once it is confirmed. Supersedes has the ids of those that it takes
	// the place of then.
	WaitingAs  MemoryStatus `stored:"waitingAs,omitempty"`
	Supersedes []string     `stored:"supersedes,omitempty"`
	// About names whom the fact concerns. It is empty for the user.
	About string `stored:"about,omitempty"`
	// From is when the fact begins to be true, and Until when it ends, as it was said: "from Monday", "until 1 December".
	// Where another fact is to take its place earlier, Until is the last moment before that, and SaidUntil what was said.
	From, Until, SaidUntil Moment
	// SaidAt is when it was last said, zero where it was not said in a conversation.
	SaidAt time.Time `stored:"saidAt,omitempty"`
	// Confidence, from 0 to 1, is how sure the source is. It has a meaning only if Rated is true: an unrated memory is
	// not one of confidence 0.
	Confidence float64 `stored:"confidence"`
	Rated      bool
	MessageIDs []string `stored:"messageIds,omitempty"`
	// ValidUntil is when the memory was ended, SupersededBy the one that replaces it, and EndedReason why. Where the one
	// that replaces it begins later, ValidUntil is still to come.
	ValidUntil   time.Time   `stored:"validUntil,omitempty"`
	SupersededBy string      `stored:"supersededBy,omitempty"`
	EndedReason  EndedReason `stored:"endedReason,omitempty"`
	// EndedBy are the messages that ended it, none where another memory or the app did.
	EndedBy []string `stored:"endedBy,omitempty"`
	// EditedAt is when the app last changed the content: what messages said before is another.
	EditedAt time.Time `stored:"editedAt,omitempty"`
	// ExpiresAt is when the memory is gone, in whole seconds. Zero is never.
	ExpiresAt time.Time `stored:"expiresAt,seconds"`
	CreatedAt time.Time `stored:"createdAt,omitempty"`
	UpdatedAt time.Time `stored:"updatedAt,omitempty"`
	Tokens    int       `stored:"tokens"`
	// Model and PromptVersion name the model and the prompt that an extracted memory is from.
	Model         string `stored:"model,omitempty"`
	PromptVersion string `stored:"promptVersion,omitempty"`
}

// NewMemoryID returns the id of a memory that is created at a time.
func NewMemoryID(at time.Time, random io.Reader) string {
	return conversation.NewID("memory", at, random)
}

// Created returns the memory as created at a time. Its own times stay if they are set.
func (m Memory) Created(at time.Time) Memory {
	m.CreatedAt, m.UpdatedAt = timeOr(m.CreatedAt, at), timeOr(m.UpdatedAt, at)
	return m
}

// Valid reports whether a prompt may include the memory at that time, also as what is still to come. A day until which
// it holds ends in the zone of the time.
func (m Memory) Valid(now time.Time) bool { return m.Status != Waiting && m.HeldAt(now) }

// KnownAt reports whether the memory was known at that time: said or stored before.
func (m Memory) KnownAt(at time.Time) bool {
	known := m.CreatedAt
	if !m.SaidAt.IsZero() && m.SaidAt.Before(known) {
		known = m.SaidAt
	}
	return !known.After(at)
}

// HeldAt reports whether the memory held at that time, whatever came after it.
func (m Memory) HeldAt(at time.Time) bool {
	isEnded := m.SupersededBy != ""
	if !m.ValidUntil.IsZero() {
		isEnded = !at.Before(m.EndIn(at.Location()))
	}
	return !isEnded && !m.Until.IsOver(at)
}

// EndIn is when the memory was ended, for a user in a zone. One that another is to take the place of on a day holds
// until that day begins there: the zone may have been another one when that was said.
func (m Memory) EndIn(zone *time.Location) time.Time {
	if m.endsBeforeADay() {
		return m.Until.End(zone)
	}
	return m.ValidUntil
}

// endsBeforeADay reports whether the memory's last day is the one before that on which another one takes its place.
func (m Memory) endsBeforeADay() bool {
	isOfDay := m.EndedReason == EndedReplaced && m.Until.Day != "" && m.ValidUntil.Equal(m.ValidUntil.Truncate(zoneStep))
	return isOfDay && !m.ValidUntil.Before(m.Until.End(firstZone)) && !m.ValidUntil.After(m.Until.End(lastZone))
}

// zoneStep divides the differences between time zones, so that days begin at a multiple of it.
const zoneStep = 15 * time.Minute

// CheckSpan refuses a memory that is over when it begins, whatever the user's zone is: no prompt would ever have it.
func (m Memory) CheckSpan() error {
	begins := InLastZone(m.From.Time)
	if m.From.Day != "" {
		begins = m.From.Start(firstZone)
	}
	if !m.From.IsZero() && m.Until.IsOver(begins) {
		return fault.InvalidField("until", "must not be over when from begins")
	}
	return nil
}

// HasEnd reports whether something says when the memory ends, or that it has ended.
func (m Memory) HasEnd() bool {
	return !m.ValidUntil.IsZero() || m.SupersededBy != "" || !m.Until.IsZero()
}

// correctsFor is how long the end of a memory is told, and how long that of a pinned one may be unknown. A pinned one's
// end is told for as long as there is room.
const correctsFor = 180 * 24 * time.Hour

// WithEnd returns a memory with when and why it ended, also where the app has named only its successor, its last day or
// the time.
func (m Memory) WithEnd(now time.Time) Memory {
	reason := EndedOver
	switch {
	case m.SupersededBy != "":
		m.ValidUntil, reason = timeOr(m.ValidUntil, m.UpdatedAt), EndedReplaced
	case !m.ValidUntil.IsZero():
	case m.HasLapsed(now), m.EndedReason != "":
		m.ValidUntil = m.Until.End(now.Location())
	default:
		return m
	}
	m.EndedReason = cmp.Or(m.EndedReason, reason)
	return m
}

// corrects reports whether the memory has ended, lately or pinned, and messages may say it, or the one in its place may
// lapse.
func (m Memory) corrects(now time.Time) bool {
	m = m.WithEnd(now)
	return m.EndedReason != "" && m.EndedReason != EndedForgotten && !m.ValidUntil.After(now) &&
		(m.Pinned || len(m.MessageIDs) > 0 && now.Sub(m.ValidUntil) < correctsFor)
}

// HasLapsed reports whether the last day of a pinned memory has passed lately, and nobody has said what holds since.
func (m Memory) HasLapsed(now time.Time) bool {
	isOpen := m.ValidUntil.IsZero() && m.SupersededBy == "" && m.Status != Waiting
	return m.Pinned && isOpen && m.Until.IsOver(now) && !m.Until.IsOver(now.Add(-correctsFor))
}

// WouldBeOver reports whether a memory that another one has replaced would be over without that: the last day that the
// user gave it has passed. The day before its successor begins is no such day.
func (m Memory) WouldBeOver(by Memory, now time.Time) bool {
	return m.SaidUntil.IsOver(now) || m.Until.IsOver(now) && m.Until != by.From.Before()
}

// IsSaidBy reports whether another memory, which is no plan, says the same of the same person.
func (m Memory) IsSaidBy(other Memory) bool {
	return other.Status != Planned && Normalize(other.Content) == Normalize(m.Content) &&
		IsSameSubject(other.About, m.About)
}

// Said is when a memory was last said: its SaidAt, or when it was created where that is not known.
func (m Memory) Said() time.Time { return timeOr(m.SaidAt, m.CreatedAt) }

// AsOf is the time as of which a memory is known to hold: when it was last said, or last written where that is not
// known. Nothing that was said before replaces it.
func (m Memory) AsOf() time.Time { return timeOr(m.SaidAt, timeOr(m.UpdatedAt, m.CreatedAt)) }

// NewestFirst returns memories sorted by when they were created, the newest first.
func NewestFirst(memories []Memory) []Memory {
	sorted := slices.Clone(memories)
	slices.SortFunc(sorted, func(a, b Memory) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return sorted
}

// Normalize returns the form by which contents are compared for deduplication: their normal form (word.Normal), with
// single spaces and without punctuation at the end (prompt-assembly-map, "selectRelevantMemories" and improvement 2).
func Normalize(content string) string {
	folded := strings.Join(strings.Fields(word.Normal(content)), " ")
	if bare := strings.TrimRight(folded, " .,;:!?。、"); bare != "" {
		return bare
	}
	return folded
}
