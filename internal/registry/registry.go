// Package registry has what differs from app to app: the contexts, which are the app's screens, the summaries that they
// write and read, and the types of memories. An app writes it as a file (app.yaml); the file of a fitness coach ships.
//
// A process has one registry. It is set at the start, before anything else is built, and does not change.
package registry

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/throughline/throughline/internal/fault"
)

// App is the registry of one app.
type App struct {
	// Version names the file's content: the beginning of its SHA-256, in hexadecimal. Derived records carry it.
	Version string `yaml:"-"`
	// Contexts are the surfaces of the app, in the order in which they are listed.
	Contexts []Context `yaml:"contexts"`
	// Agents are the parts that the model can play. The first is that of requests that name none.
	Agents []Agent `yaml:"agents"`
	// Coaches are the personas of users who have no coach of that id. The first is that of every other id.
	Coaches []Coach `yaml:"coaches"`
	// MemoryTypes are the kinds of facts that are remembered of a user. The first is that of facts about the user.
	MemoryTypes []MemoryType `yaml:"memoryTypes"`
	// UrgentPhrases are phrases of the app's field by which a message is read for memories at once, besides those that
	// all apps have (conversation.IsUrgent).
	UrgentPhrases []string `yaml:"urgentPhrases"`
	// Note and Ignore are what of the app's field is remembered and what never, besides what holds for all apps.
	Note   []string `yaml:"note"`
	Ignore []string `yaml:"ignore"`
	// Examples are messages with what is to be noted of them.
	Examples []Example `yaml:"examples"`
	// LoopLapseDays is how many days after its day a promise is told no more.
	LoopLapseDays int `yaml:"loopLapseDays"`
}

// Example is a message of a user with the facts and promises that follow from it, none where nothing does.
type Example struct {
	User  string   `yaml:"user"`
	Notes []string `yaml:"notes"`
}

// RecordType is the type of a summary (unified-conversation-context, "Existing Pinecone Summary Inventory").
type RecordType string

// Context describes one surface of the app.
type Context struct {
	// Name is the name in the API and in sourceContext.
	Name string `yaml:"name"`
	// Label is the name a person reads: "Program Designer".
	Label string `yaml:"label"`
	// Prefix is the start of the sort keys of its sessions. It has one '#', at its end, and can never change.
	Prefix string `yaml:"prefix"`
	// EntityType is the entityType of its session records, as in the app's own records.
	EntityType string `yaml:"entityType"`
	// DefaultMode is the mode of a session that names none.
	DefaultMode string `yaml:"defaultMode"`
	// Share is whether the context shares with the others where the user's preferences do not say. Absent is true.
	Share *bool `yaml:"share"`
	// Recipe is that of prompts that name none. Empty is the recipe that ships as the default.
	Recipe string `yaml:"recipe"`
	// Retired contexts get no new sessions. Those that they have are read, exported and erased as before.
	Retired bool `yaml:"retired"`
	// Summary describes the summaries of its sessions.
	Summary Summary `yaml:"summary"`
	// Reads are the record types of the summaries that its sessions read at their start.
	Reads []RecordType `yaml:"reads"`
	// Recalls are the contexts whose messages and summaries its prompts find by what they mean, besides its own. Nil means
	// all, and an empty list its own alone.
	Recalls []string `yaml:"recalls"`
}

// RecallsFrom reports whether the context's prompts may find what was said in another one.
func (c Context) RecallsFrom(name string) bool {
	return c.Recalls == nil || name == c.Name || slices.Contains(c.Recalls, name)
}

// Shares reports whether the context shares with the others where the user's preferences do not say.
func (c Context) Shares() bool { return c.Share == nil || *c.Share }

// Summary describes the summaries of a context.
type Summary struct {
	// Type is their record type. One context writes it.
	Type RecordType `yaml:"type"`
	// Subject, if set, names the session attribute with the id of what a summary is about, such as a program.
	// Each session has its own summary, and readers take the newest one of each subject.
	Subject string `yaml:"subject"`
	// IDField, if set, names the field of a summary that has the session's id.
	IDField string `yaml:"idField"`
	// Rated is true if the model rates the conversation: its summaries have the fields of conversation.RatingFields.
	Rated bool `yaml:"rated"`
	// Fields are what a summary has as fields of its own.
	Fields []Field `yaml:"fields"`
}

// Written are the fields that the model writes from the conversation.
func (s Summary) Written() []Field {
	return slices.DeleteFunc(slices.Clone(s.Fields), func(f Field) bool { return f.Means == "" })
}

// Field is a field of a summary: the session's attribute of that name, or else what the model writes.
type Field struct {
	// Name is the attribute's name. It also covers attributes with dotted names: "metrics" covers "metrics.distanceKm".
	Name string `yaml:"name"`
	// Label is what prompts call the field. Prompts leave out fields without a label.
	Label string `yaml:"label"`
	// Means, if set, has the model write the field, and says to it what the field is about. An attribute of the session
	// takes its place.
	Means string `yaml:"means"`
}

// Coach is a persona that the app gives to all users.
type Coach struct {
	ID      string `yaml:"id"`
	Name    string `yaml:"name"`
	Persona string `yaml:"persona"`
	// Model, if set, is the chat model of this coach.
	Model string `yaml:"model"`
}

// Agent is a part that the model can play (working-context-builder).
type Agent struct {
	// ID is the id in the API.
	ID string `yaml:"id"`
	// Messages is how many of the session's last messages it sees (working-context-builder, DEFAULT_SCOPING_CONFIGS).
	Messages int `yaml:"messages"`
	// Hears are the roles whose messages it sees. Empty means all (working-context-builder, relevanceFilter).
	Hears []string `yaml:"hears"`
	// Modules are what it knows of its field, in order.
	Modules []Module `yaml:"modules"`
}

// Module is a text of expertise, in Markdown.
type Module struct {
	Name string `yaml:"name"`
	Text string `yaml:"text"`
}

// MemoryType is a kind of facts.
type MemoryType struct {
	// Name is the name in the API: "PEOPLE".
	Name string `yaml:"name"`
	// Means is what the model reads about the facts of the type: "somebody in their life, with the name".
	Means string `yaml:"means"`
	// InPrompt is how many memories of the type a prompt has that chooses the most relevant ones
	// (prompt-assembly-map, chooseRelevantMemories).
	InPrompt int `yaml:"inPrompt"`
	// Safety marks facts that can hurt somebody if they are forgotten: every prompt has them.
	Safety bool `yaml:"safety"`
	// Manner marks what the user wants of answers: every prompt has it, with the rules.
	Manner bool `yaml:"manner"`
}

//go:embed app.yaml
var example []byte

// exampleApp is the registry that ships.
var exampleApp = sync.OnceValue(func() *App {
	app, err := Parse(example)
	if err != nil {
		panic("registry: app.yaml: " + err.Error()) // the file is part of the program, and a test reads it
	}
	return app
})

var live atomic.Pointer[App]

// Live returns the registry of this process: that of Use, or the one that ships.
func Live() *App {
	if app := live.Load(); app != nil {
		return app
	}
	return exampleApp()
}

// Use sets the registry of this process. It is called once, at the start.
func Use(app *App) { live.Store(app) }

// Agent returns the agent of that id, and for an empty id the first.
func (a *App) Agent(id string) (Agent, bool) {
	for _, agent := range a.Agents {
		if agent.ID == id || id == "" {
			return agent, true
		}
	}
	return Agent{}, false
}

// Coach returns the persona of a coach id that the user has no coach of: the app's of that id, else the app's first. ok
// is false for an app without coaches.
func (a *App) Coach(id string) (coach Coach, ok bool) {
	for _, c := range a.Coaches {
		if c.ID == id {
			return c, true
		}
	}
	if len(a.Coaches) == 0 {
		return Coach{}, false
	}
	return a.Coaches[0], true
}

// Unshared are the contexts that share nothing with the others where the user's preferences do not say.
func (a *App) Unshared() []string {
	var names []string
	for _, c := range a.Contexts {
		if !c.Shares() {
			names = append(names, c.Name)
		}
	}
	return names
}

// Context returns the context of that name. For an unknown one it returns an Invalid error that names the known ones.
func (a *App) Context(name string) (Context, error) {
	for _, c := range a.Contexts {
		if c.Name == name {
			return c, nil
		}
	}
	return Context{}, fault.InvalidField("context", "must be one of "+strings.Join(a.ContextNames(), ", "))
}

// Writing returns the context that writes summaries of a type.
func (a *App) Writing(t RecordType) (Context, error) {
	for _, c := range a.Contexts {
		if c.Summary.Type == t {
			return c, nil
		}
	}
	return Context{}, fault.InvalidField("recordTypes", "unknown record type "+string(t))
}

// ContextNames lists the names of the contexts, in their order.
func (a *App) ContextNames() []string {
	return names(a.Contexts, func(c Context) string { return c.Name })
}

// SummaryTypes lists the record types of the contexts' summaries, in their order.
func (a *App) SummaryTypes() []string {
	return names(a.Contexts, func(c Context) string { return string(c.Summary.Type) })
}

// AgentIDs lists the ids of the agents, in their order.
func (a *App) AgentIDs() []string { return names(a.Agents, func(g Agent) string { return g.ID }) }

// MemoryTypeNames lists the names of the memory types, in their order.
func (a *App) MemoryTypeNames() []string {
	return names(a.MemoryTypes, func(t MemoryType) string { return t.Name })
}

func names[T any](items []T, name func(T) string) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = name(item)
	}
	return out
}

// MemoryType returns the type of that name. One that the app does not have, or not any more, is the zero type.
func (a *App) MemoryType(name string) MemoryType {
	for _, t := range a.MemoryTypes {
		if t.Name == name {
			return t
		}
	}
	return MemoryType{}
}
