package httpapi

import (
	"cmp"
	"context"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/registry"
)

// appDoc is the registry of the app as the API shows it.
type appDoc struct {
	Version     string          `json:"version" doc:"Of the registry's file. Derived records carry it."`
	Contexts    []appContext    `json:"contexts" from:"-" doc:"The surfaces of the app."`
	Agents      []appAgent      `json:"agents" doc:"The parts that the model can play."`
	Coaches     []appCoach      `json:"coaches" doc:"The personas of coach ids that a user has no coach of."`
	MemoryTypes []appMemoryType `json:"memoryTypes" doc:"The kinds of facts that are remembered."`
	Recipes     []appRecipe     `json:"recipes" from:"-" doc:"The ways to build a prompt."`
}

type appContext struct {
	Name        string     `json:"name" doc:"The name."`
	Label       string     `json:"label" doc:"The name for people."`
	DefaultMode string     `json:"defaultMode" doc:"The mode of a session that names none."`
	Share       bool       `json:"share" from:"-" doc:"Whether it shares with the others where the preferences do not say."`
	Recipe      string     `json:"recipe" from:"-" doc:"The recipe of prompts that name none."`
	Writes      string     `json:"writes" from:"-" doc:"The record type of its summaries."`
	Reads       []string   `json:"reads" doc:"The record types that its sessions read at their start."`
	Recalls     []string   `json:"recalls,omitzero" doc:"The contexts whose messages its prompts find, besides its own. Absent: all."`
	Fields      []appField `json:"fields" from:"-" doc:"The attributes that its summaries have as own fields."`
}

type appField struct {
	Name  string `json:"name" doc:"The name."`
	Label string `json:"label,omitempty" doc:"What prompts call it. Prompts leave out fields without a label."`
	Means string `json:"means,omitempty" doc:"What the model writes into it. Absent: the session's attribute."`
}

type appCoach struct {
	ID      string `json:"id" doc:"The id of the record."`
	Name    string `json:"name" doc:"The name."`
	Persona string `json:"persona" doc:"Who the model is, in words for the model."`
	Model   string `json:"model,omitempty" doc:"Default: the configured chat model."`
}

type appAgent struct {
	ID       string `json:"id" doc:"The id of the record."`
	Messages int    `json:"messages" doc:"How many of the session's last messages it sees."`
}

type appMemoryType struct {
	Name     string `json:"name" doc:"The name."`
	Means    string `json:"means" doc:"What its facts are about, as the model is told."`
	InPrompt int    `json:"inPrompt" doc:"How many of it are among the most relevant memories of a prompt."`
	Safety   bool   `json:"safety" doc:"Every prompt has its facts."`
}

type appRecipe struct {
	Name   string `json:"name" doc:"The name."`
	Tokens int    `json:"tokens,omitempty" doc:"The budget where the request names none."`
	Chars  int    `json:"chars,omitempty" doc:"The same, in characters."`
}

// registerApp serves /v1/app.
func registerApp(s *server) {
	registerDoc(s, op("GET /v1/app", "getApp", operationsTag, "Get the registry that is live",
		"What the app's file says (docs/extending.md): its contexts and memory types, with the agents and recipes.",
	).forApp(), func(context.Context, Caller, *noInput) (appDoc, error) { return shown[appDoc](*registry.Live()), nil })
}

func (d *appDoc) complete(app registry.App) {
	d.Contexts = converted(app.Contexts, shown[appContext])
	d.Recipes = converted(prompt.Recipes, func(r prompt.Recipe) appRecipe {
		return appRecipe{Name: r.Name, Tokens: r.Budget.Tokens, Chars: r.Budget.Chars}
	})
}

func (out *appContext) complete(of registry.Context) {
	out.Share, out.Recipe, out.Writes = of.Shares(), cmp.Or(of.Recipe, prompt.Unified), string(of.Summary.Type)
	out.Fields = converted(of.Summary.Fields, shown[appField])
}
