// Package longterm holds what lasts about a user beyond any one conversation: profile, seed, summaries, coaches,
// goals, check-ins, memories, todos and preferences (design 3, api 3).
package longterm

import (
	"strings"
	"time"
)

// Profile is who the user is.
type Profile struct {
	Name      string
	Email     string
	CreatedAt time.Time
	About     string
}

// Seed is a short text about the user that the app sets by hand.
type Seed struct{ Content string }

// UserSummary is what the app or the summariser has seen of the user over time.
type UserSummary struct {
	Patterns    []string
	Wins        []string
	Struggles   []string
	LastUpdated time.Time
}

// Spine is the running summary of everything between the user and one coach, over all contexts.
type Spine struct {
	CoachID   string
	Text      string
	UpdatedAt time.Time
}

// Coach is a persona the user talks to.
type Coach struct {
	ID      string
	Name    string
	Persona string
	// Model, when set, is the chat model of this coach.
	Model string
}

// DefaultCoach is the persona that stands in for an unknown coach id.
var DefaultCoach = Coach{
	Name:    "Coach",
	Persona: "You are a supportive, practical coach. Be warm, concise and specific, and build on what you know about the user.",
}

// GoalStatus and GoalType are the words of working-context-builder (finding F3, F4: checked when written).
type (
	GoalStatus string
	GoalType   string
)

// The statuses and types of a goal.
const (
	GoalActive    GoalStatus = "active"
	GoalPaused    GoalStatus = "paused"
	GoalCompleted GoalStatus = "completed"
	GoalAbandoned GoalStatus = "abandoned"

	Habit   GoalType = "habit"
	Target  GoalType = "target"
	Project GoalType = "project"
)

// Goal is something the user works toward.
type Goal struct {
	ID        string
	Title     string
	Status    GoalStatus
	GoalType  GoalType
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Created returns the goal as created at that moment: times that it does not name are that moment.
func (g Goal) Created(at time.Time) Goal {
	g.CreatedAt, g.UpdatedAt = atOr(g.CreatedAt, at), atOr(g.UpdatedAt, at)
	return g
}

// atOr is a record's own time, or the moment of its creation where it has none.
func atOr(own, at time.Time) time.Time {
	if own.IsZero() {
		return at
	}
	return own
}

// CheckIn is a moment at which the user checked in, with an optional note that is indexed as messages are.
type CheckIn struct {
	ID        string
	Timestamp time.Time
	Note      string
	Tokens    int
}

// Created returns the check-in as made at that moment where it names none.
func (c CheckIn) Created(at time.Time) CheckIn {
	c.Timestamp = atOr(c.Timestamp, at)
	return c
}

// MemoryType sorts memories (prompt-assembly-map, "Block Map Table").
type MemoryType string

// MemorySource says where a memory came from.
type MemorySource string

// The types and sources of a memory.
const (
	ProfileMemory MemoryType = "PROFILE"
	PeopleMemory  MemoryType = "PEOPLE"
	ProjectMemory MemoryType = "PROJECT"

	Seeded    MemorySource = "seeded"
	Extracted MemorySource = "extracted"
)

// Memory is a lasting fact about the user. One with a ValidUntil that has passed is kept but no longer reaches
// prompts.
type Memory struct {
	ID      string
	Type    MemoryType
	Content string
	Pinned  bool
	Source  MemorySource
	// Confidence, from 0 to 1, is how sure the source is. It counts where Rated says that the source gave one: 0 is a
	// confidence too.
	Confidence   float64
	Rated        bool
	MessageIDs   []string
	ValidUntil   time.Time
	SupersededBy string
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Tokens       int
}

// Created returns the memory as created at that moment: times that it does not name are that moment.
func (m Memory) Created(at time.Time) Memory {
	m.CreatedAt, m.UpdatedAt = atOr(m.CreatedAt, at), atOr(m.UpdatedAt, at)
	return m
}

// Valid reports whether the memory may reach a prompt at that time.
func (m Memory) Valid(now time.Time) bool {
	return m.SupersededBy == "" && (m.ValidUntil.IsZero() || now.Before(m.ValidUntil))
}

// TodoStatus is whether a todo is an open loop.
type TodoStatus string

// The statuses of a todo.
const (
	Pending       TodoStatus = "PENDING"
	TodoCompleted TodoStatus = "COMPLETED"
)

// WinWindow is how long a completed todo counts as a win (prompt-assembly-map).
const WinWindow = 48 * time.Hour

// Todo is something the user means to do: an open loop while pending, a win for 48 hours once completed.
type Todo struct {
	ID          string
	CoachID     string
	Content     string
	Status      TodoStatus
	CreatedAt   time.Time
	UpdatedAt   time.Time
	CompletedAt time.Time
	Tokens      int
}

// Created returns the todo as created at that moment: times that it does not name are that moment, its completion's
// too where it is completed.
func (t Todo) Created(at time.Time) Todo {
	t.CreatedAt, t.UpdatedAt = atOr(t.CreatedAt, at), atOr(t.UpdatedAt, at)
	return t.WithCompletion(at)
}

// WithCompletion returns the todo with a time of completion that fits its status: that moment where a completed one
// has none, and none while it is pending.
func (t Todo) WithCompletion(at time.Time) Todo {
	if t.Status == TodoCompleted {
		t.CompletedAt = atOr(t.CompletedAt, at)
	} else {
		t.CompletedAt = time.Time{}
	}
	return t
}

// Preferences are what the user allows (api 3). The zero value is not the default: use DefaultPreferences.
type Preferences struct {
	CrossContext bool
	Memory       bool
	// Unshared are the contexts with share: false.
	Unshared map[string]bool
	// Timezone is an IANA name.
	Timezone string
}

// DefaultPreferences allow everything, in UTC.
func DefaultPreferences() Preferences {
	return Preferences{CrossContext: true, Memory: true, Timezone: "UTC"}
}

// Shares reports whether what belongs to one context may be seen from another. A context always sees itself unless
// cross-context sharing is off, when each session sees only itself.
func (p Preferences) Shares(from, to string) bool {
	if !p.CrossContext {
		return false
	}
	return from == to || (!p.Unshared[from] && !p.Unshared[to])
}

// Location returns the user's time zone, UTC where the name is unknown.
func (p Preferences) Location() *time.Location {
	if loc, err := time.LoadLocation(p.Timezone); err == nil {
		return loc
	}
	return time.UTC
}

// Snapshot is the live long-term memory of one user, as one query brings it: everything a prompt needs, capped per
// kind.
type Snapshot struct {
	Profile     *Profile
	Seed        *Seed
	UserSummary *UserSummary
	// Spines and Coaches are by coach id.
	Spines  map[string]Spine
	Coaches map[string]Coach
	// Goals are the active ones; Memories the valid ones; Todos the pending and the just completed.
	Goals         []Goal
	LatestCheckIn *CheckIn
	Memories      []Memory
	Todos         []Todo
}

// Normalize is the form in which two contents are the same for deduplication: trimmed, lower case, runs of white
// space folded, without the punctuation at its end (prompt-assembly-map, "selectRelevantMemories" and improvement 2).
func Normalize(content string) string {
	folded := strings.ToLower(strings.Join(strings.Fields(content), " "))
	if bare := strings.TrimRight(folded, " .,;:!?…。、，！？"); bare != "" {
		return bare
	}
	return folded
}
