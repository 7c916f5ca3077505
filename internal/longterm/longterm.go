// Package longterm defines the records about a user that belong to no single conversation: profile, seed, summaries,
// coaches, goals, check-ins, memories, todos and preferences.
package longterm

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/registry"
)

// Profile is the user's profile.
type Profile struct {
	Name      string    `stored:"name,omitempty"`
	Email     string    `stored:"email,omitempty"`
	CreatedAt time.Time `stored:"joinedAt,omitempty"`
	About     string    `stored:"about,omitempty"`
}

// Seed is a short text about the user that the app sets by hand.
type Seed struct {
	Content string `stored:"content"`
}

// Coach is a persona the user talks to.
type Coach struct {
	ID      string
	Name    string `stored:"name,omitempty"`
	Persona string `stored:"persona,omitempty"`
	// Model, if set, is the chat model of this coach.
	Model string `stored:"model,omitempty"`
}

// A user has so many coaches, of so many bytes together, because every prompt reads them all.
const (
	MaxCoaches    = 100
	maxCoachBytes = 512 << 10
)

// CheckCoach returns an error for a coach that a user with these coaches may not have. size returns the bytes of one.
func CheckCoach(c Coach, all []Coach, size func(Coach) int) error {
	if !conversation.ValidID(c.ID) {
		return fault.InvalidField("coachId", "must be 1 to 128 of [A-Za-z0-9_.:-]")
	}
	others, bytes := 0, size(c)
	for _, other := range all {
		if other.ID != c.ID {
			others, bytes = others+1, bytes+size(other)
		}
	}
	switch {
	case others >= MaxCoaches:
		return fault.Newf(fault.Conflict, "a user can have at most %d coaches", MaxCoaches)
	case bytes > maxCoachBytes:
		return fault.Newf(fault.Conflict, "a user's coaches can take at most %d KiB together", maxCoachBytes>>10)
	}
	return nil
}

// CoachOf returns the coach of an id that the user has no coach of: the app's, or DefaultCoach for an app without
// coaches.
func CoachOf(id string) Coach {
	if c, ok := registry.Live().Coach(id); ok {
		return Coach{ID: id, Name: c.Name, Persona: c.Persona, Model: c.Model}
	}
	return DefaultCoach
}

// DefaultCoach is the coach of an app that names none.
var DefaultCoach = Coach{
	Name: "Coach",
	Persona: "You are a supportive, practical coach. Be warm, concise and specific, " +
		"and build on what you know about the user.",
}

// GoalStatus and GoalType have the values of working-context-builder. They are checked when a goal is written (its
// findings F3 and F4).
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

// Goal is a goal of the user.
type Goal struct {
	ID        string
	Title     string     `stored:"title"`
	Status    GoalStatus `stored:"status"`
	GoalType  GoalType   `stored:"goalType"`
	CreatedAt time.Time  `stored:"createdAt,omitempty"`
	UpdatedAt time.Time  `stored:"updatedAt,omitempty"`
}

// Created returns the goal as created at a time. Its own times stay if they are set.
func (g Goal) Created(at time.Time) Goal {
	g.CreatedAt, g.UpdatedAt = timeOr(g.CreatedAt, at), timeOr(g.UpdatedAt, at)
	return g
}

// timeOr returns own, or at if own is zero.
func timeOr(own, at time.Time) time.Time {
	if own.IsZero() {
		return at
	}
	return own
}

// CheckIn is one check-in of the user. Its optional note is indexed like a message.
type CheckIn struct {
	ID        string
	Timestamp time.Time `stored:"timestamp,omitempty"`
	Note      string    `stored:"note,omitempty"`
	Tokens    int       `stored:"tokens"`
}

// Created returns the check-in as created at a time. Its own time stays if it is set.
func (c CheckIn) Created(at time.Time) CheckIn {
	c.Timestamp = timeOr(c.Timestamp, at)
	return c
}

// Preferences are what the user allows. The zero value is not the default: use DefaultPreferences.
type Preferences struct {
	CrossContext bool `stored:"crossContext"`
	Memory       bool `stored:"memory"`
	// ReviewMemories keeps extracted memories out of prompts until the app confirms them, but for those about safety.
	ReviewMemories bool `stored:"reviewMemories,omitempty"`
	// Unshared has the contexts that share nothing with the others.
	Unshared map[string]bool
	// Timezone is an IANA name.
	Timezone string `stored:"timezone"`
}

// DefaultPreferences returns the preferences of a user who has set none. They allow everything that the app's registry
// does not keep apart, in UTC.
func DefaultPreferences() Preferences {
	p := Preferences{CrossContext: true, Memory: true, Timezone: "UTC"}
	for _, context := range registry.Live().Unshared() {
		p.Separate(context)
	}
	return p
}

// Separate keeps a context from sharing with the others.
func (p *Preferences) Separate(context string) {
	if p.Unshared == nil {
		p.Unshared = map[string]bool{}
	}
	p.Unshared[context] = true
}

// Shares reports whether one context may see the records of another. A context may always see its own, unless
// CrossContext is false: then each session may see only itself. Whoever reads for the user from outside every session
// has the empty context, which sees what is shared with all. Every reader of one session's records for another asks
// here.
func (p Preferences) Shares(from, to string) bool {
	if !p.CrossContext {
		return false
	}
	return from == to || (!p.Unshared[from] && !p.Unshared[to])
}

// SeparatesContexts reports whether the user keeps some sessions from being used in others.
func (p Preferences) SeparatesContexts() bool { return !p.CrossContext || len(p.Unshared) > 0 }

// AllowsMemory reports whether the user allows a memory where some messages are hidden. An extracted one is told only
// where all messages may be seen from which it was drawn, or one of them if it is pinned: nobody is to be hurt because
// two screens have heard of an allergy and one of them keeps to itself.
func (p Preferences) AllowsMemory(m Memory, isHidden func(messageID string) bool) bool {
	switch {
	case m.Source != Extracted:
		return true
	case !p.Memory:
		return false
	case !p.SeparatesContexts(), m.Pinned && len(m.MessageIDs) == 0: // pinning is the user's own act
		return true
	case m.Pinned: // each of its messages states it
		return slices.ContainsFunc(m.MessageIDs, func(id string) bool { return !isHidden(id) })
	}
	return len(m.MessageIDs) > 0 && !slices.ContainsFunc(m.MessageIDs, isHidden)
}

// Location returns the user's time zone, or UTC if the name is unknown.
func (p Preferences) Location() *time.Location {
	if loc, err := time.LoadLocation(p.Timezone); err == nil {
		return loc
	}
	return time.UTC
}

// Snapshot has the live long-term records of one user: those that a prompt needs, read by one query and capped per
// kind.
type Snapshot struct {
	Profile     *Profile
	Seed        *Seed
	UserSummary *UserSummary
	// Spines and Coaches are by coach id.
	Spines  map[string]Spine
	Coaches map[string]Coach
	// Goals are active, Memories are valid, and Todos are pending or completed within WinWindow.
	Goals         []Goal
	LatestCheckIn *CheckIn
	Memories      []Memory
	Todos         []Todo
}
