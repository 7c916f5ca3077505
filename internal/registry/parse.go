package registry

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// The limits of a file.
const (
	maxFileBytes     = 256 << 10
	maxContexts      = 50
	maxMemoryTypes   = 12
	maxAgents        = 20
	maxAgentMessages = 50
	usualMessages    = 10
	maxModules       = 10
	maxModuleRunes   = 8000
	maxFields        = 50
	maxPhrases       = 200
	maxExamples      = 20
	maxNotes         = 20
	maxLapseDays     = 365
	usualLapseDays   = 30
	maxCoaches       = 50
	maxPersonaRunes  = 32000
	maxLabelRunes    = 64
	maxMeansRunes    = 400
	maxInPrompt      = 8
	usualInPrompt    = 3
	versionHexDigits = 12
)

var (
	contextPattern = newPattern(`^[a-z][a-z0-9_]*$`, 63, "a-z 0-9 _, and begin with a letter")
	memoryPattern  = newPattern(`^[A-Z][A-Z0-9_]*$`, 32, "A-Z 0-9 _, and begin with a letter")
	coachPattern   = newPattern(`^[A-Za-z0-9_.:-]+$`, 128, "A-Z a-z 0-9 _ . : -")
	modulePattern  = newPattern(`^[A-Za-z][A-Za-z0-9_-]*$`, 63, "A-Z a-z 0-9 _ -, and begin with a letter")
	// namePattern is that of modes, entity types, attributes and agents.
	namePattern = newPattern(`^[A-Za-z][A-Za-z0-9_]*$`, 63, "A-Z a-z 0-9 _, and begin with a letter")
)

// pattern is what a name looks like, how many bytes it has at most, and both in words. An expression that counts them
// itself takes a hundred times as long to compile, whenever a function starts.
type pattern struct {
	form *regexp.Regexp
	max  int
	rule string
}

func newPattern(form string, most int, of string) pattern {
	return pattern{regexp.MustCompile(form), most, fmt.Sprintf("must be 1 to %d of %s", most, of)}
}

func (p pattern) matches(name string) bool { return len(name) <= p.max && p.form.MatchString(name) }

// OwnPrefix begins the prefix of every context that names none: "session_<name>#". The table's stream reports the
// sessions under it.
const OwnPrefix = "session_"

// reportedPrefixes are the other prefixes whose sessions the table's stream reports (template.yaml).
var reportedPrefixes = []string{
	"conversation#", "program_session#", "coach_creator_session#", "training_program#", "workout_session#",
}

// StreamPrefixes returns what the keys of sessions begin with that the table's stream reports: in the filter of the
// function summarize in template.yaml.
func StreamPrefixes() []string { return append(slices.Clone(reportedPrefixes), OwnPrefix) }

// RecipeNames are the recipes that a context may name. The package prompt has them, and a test compares the two.
var RecipeNames = []string{
	"unified", "working-context", "context-format", "context-format@0.5", "tiered-history", "block-map",
}

// reservedTypes are the record types that are no summaries.
var reservedTypes = []RecordType{"message", "memory", "check_in", "document", "doc"}

// Parse reads a registry and checks it. Its error has a line for each problem: the line of the file, the field, and
// what it must be.
func Parse(file []byte) (*App, error) {
	if len(file) > maxFileBytes {
		return nil, fmt.Errorf("the file has %d bytes, more than %d", len(file), maxFileBytes)
	}
	n := 0
	for line := range bytes.Lines(file) {
		if n++; !utf8.Valid(line) {
			return nil, fmt.Errorf("line %d: the text is not UTF-8: save the file as UTF-8", n)
		}
	}
	var app App
	if err := yaml.Load(file, &app, yaml.WithKnownFields()); err != nil {
		return nil, readable(err)
	}
	var root yaml.Node
	if err := yaml.Load(file, &root); err != nil {
		return nil, readable(err)
	}
	app.complete()
	var problems []error
	c := checker{root: &root, problems: &problems}
	c.at("contexts").checkContexts(app.Contexts)
	c.at("agents").checkAgents(app.Agents)
	c.at("coaches").checkCoaches(app.Coaches)
	c.at("memoryTypes").checkMemoryTypes(app.MemoryTypes)
	c.at("urgentPhrases").checkPhrases(app.UrgentPhrases)
	c.at("note").checkLines(app.Note, maxNotes)
	c.at("ignore").checkLines(app.Ignore, maxNotes)
	c.at("examples").checkExamples(app.Examples)
	if app.LoopLapseDays < 1 || app.LoopLapseDays > maxLapseDays {
		c.wrong(fmt.Sprintf("must be 1 to %d", maxLapseDays), "loopLapseDays")
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(bytes.TrimSpace(file))
	app.Version = fmt.Sprintf("%x", sum)[:versionHexDigits]
	return &app, nil
}

// CheckSuccessor says what hinders a registry from taking the place of the one before, an error for each context that
// it lacks or whose keys it changes. Records of users are found by the contexts, so none may be lost.
func CheckSuccessor(before, after *App) error {
	var problems []error
	for _, old := range before.Contexts {
		switch c, err := after.Context(old.Name); {
		case err != nil:
			problems = append(problems, fmt.Errorf("the context %s is missing: keep it, with \"retired: true\"", old.Name))
		case c.Prefix != old.Prefix, c.EntityType != old.EntityType, c.Summary.Type != old.Summary.Type:
			problems = append(problems, fmt.Errorf("the context %s has another prefix, entityType or summary type: "+
				"they have to stay %s, %s and %s", old.Name, old.Prefix, old.EntityType, old.Summary.Type))
		}
	}
	return errors.Join(problems...)
}

// complete fills in what a file may leave out.
func (a *App) complete() {
	for i := range a.Contexts {
		c := &a.Contexts[i]
		c.Prefix = cmp.Or(c.Prefix, OwnPrefix+c.Name+"#")
		c.EntityType = cmp.Or(c.EntityType, c.Name)
		c.DefaultMode = cmp.Or(c.DefaultMode, "chat")
		c.Summary.Type = cmp.Or(c.Summary.Type, RecordType(c.Name+"_summary"))
	}
	if len(a.Agents) == 0 {
		a.Agents = []Agent{{ID: "assistant"}}
	}
	for i := range a.Agents {
		a.Agents[i].Messages = cmp.Or(a.Agents[i].Messages, usualMessages)
		for n := range a.Agents[i].Modules {
			a.Agents[i].Modules[n].Text = strings.TrimSpace(a.Agents[i].Modules[n].Text)
		}
	}
	for i := range a.Coaches {
		a.Coaches[i].Persona = strings.TrimSpace(a.Coaches[i].Persona)
	}
	a.LoopLapseDays = cmp.Or(a.LoopLapseDays, usualLapseDays)
	for i := range a.MemoryTypes {
		a.MemoryTypes[i].InPrompt = cmp.Or(a.MemoryTypes[i].InPrompt, usualInPrompt)
	}
}

// checker collects the problems of a part of a file.
type checker struct {
	root *yaml.Node
	// path leads to the part. Its steps are keys and indexes.
	path     []any
	problems *[]error
}

// at returns the checker of a part of the part.
func (c checker) at(path ...any) checker {
	c.path = append(slices.Clone(c.path), path...)
	return c
}

// wrong notes a problem of the field at a path in the part.
func (c checker) wrong(problem string, path ...any) {
	node, field := &yaml.Node{Line: 1}, ""
	if len(c.root.Content) > 0 {
		node = c.root.Content[0]
	}
	for _, step := range c.at(path...).path {
		switch step := step.(type) {
		case int:
			field += fmt.Sprintf("[%d]", step)
			if node.Kind == yaml.SequenceNode && step < len(node.Content) {
				node = node.Content[step]
			}
		case string:
			field = strings.TrimPrefix(field+"."+step, ".")
			if i := keyIndex(node, step); i >= 0 {
				node = node.Content[i+1]
			}
		}
	}
	*c.problems = append(*c.problems, fmt.Errorf("line %d: %s %s", node.Line, field, problem))
}

// keyIndex returns where a mapping has a key, or -1.
func keyIndex(node *yaml.Node, key string) int {
	if node.Kind == yaml.MappingNode {
		for i := 0; i < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return i
			}
		}
	}
	return -1
}

func (c checker) checkName(p pattern, name string, path ...any) {
	if !p.matches(name) {
		c.wrong(p.rule, path...)
	}
}

func (c checker) checkCount(n, most int, path ...any) {
	if n > most {
		c.wrong(fmt.Sprintf("must have at most %d entries", most), path...)
	}
}

func (c checker) checkText(text string, most int, path ...any) {
	if n := utf8.RuneCountInString(text); n == 0 || n > most {
		c.wrong(fmt.Sprintf("must have 1 to %d characters", most), path...)
	}
}

// checkLine checks a text of one line, without characters that are not seen.
func (c checker) checkLine(text string, required bool, most int, path ...any) {
	if n := utf8.RuneCountInString(text); (required && n == 0) || n > most || !isLine(text) {
		c.wrong(fmt.Sprintf("must be one line of 1 to %d characters", most), path...)
	}
}

// isLine reports whether a text is one line, without characters that are not seen.
func isLine(text string) bool {
	return !strings.ContainsFunc(text, unicode.IsControl) && strings.TrimSpace(text) == text
}

func (c checker) checkContexts(contexts []Context) {
	if len(contexts) == 0 || len(contexts) > maxContexts {
		c.wrong(fmt.Sprintf("must have 1 to %d entries", maxContexts))
	}
	app := &App{Contexts: contexts}
	types, names := app.SummaryTypes(), app.ContextNames()
	for i, context := range contexts {
		c.at(i).checkContext(context, types, names)
		for _, other := range contexts[:i] {
			c.at(i).checkDistinct(context, other)
		}
	}
}

func (c checker) checkContext(context Context, types, names []string) {
	c.checkName(contextPattern, context.Name, "name")
	c.checkLine(context.Label, true, maxLabelRunes, "label")
	c.checkName(namePattern, context.EntityType, "entityType")
	c.checkName(namePattern, context.DefaultMode, "defaultMode")
	if context.Recipe != "" && !slices.Contains(RecipeNames, context.Recipe) {
		c.wrong("must be one of "+strings.Join(RecipeNames, ", "), "recipe")
	}
	if context.Prefix != OwnPrefix+context.Name+"#" && !slices.Contains(reportedPrefixes, context.Prefix) {
		reported := strings.Join(reportedPrefixes, ", ")
		c.wrong("must be left out, or be one that the table's stream reports: "+reported, "prefix")
	}
	c.at("summary").checkSummary(context.Summary)
	for n, read := range context.Reads {
		if !slices.Contains(types, string(read)) {
			c.wrong(fmt.Sprintf("must be a summary type of this file, and %q is none", read), "reads", n)
		}
	}
	for n, name := range context.Recalls {
		if !slices.Contains(names, name) {
			c.wrong(fmt.Sprintf("must be a context of this file, and %q is none", name), "recalls", n)
		}
	}
}

// checkDistinct compares a context with an earlier one.
func (c checker) checkDistinct(context, other Context) {
	if context.Name == other.Name {
		c.wrong("is the name of another context, too", "name")
	}
	if context.Prefix == other.Prefix {
		c.wrong("is the prefix of the context "+other.Name+", too", "prefix")
	}
	if context.Summary.Type == other.Summary.Type {
		c.wrong("is written by the context "+other.Name+", too", "summary", "type")
	}
}

func (c checker) checkSummary(s Summary) {
	if !contextPattern.matches(string(s.Type)) || slices.Contains(reservedTypes, s.Type) {
		c.wrong("must be 1 to 63 of a-z 0-9 _, begin with a letter, and be none of message, memory, check_in, document",
			"type")
	}
	for name, value := range map[string]string{"subject": s.Subject, "idField": s.IDField} {
		if value != "" {
			c.checkName(namePattern, value, name)
		}
	}
	c.checkCount(len(s.Fields), maxFields, "fields")
	for i, f := range s.Fields {
		field := c.at("fields", i)
		field.checkName(namePattern, f.Name, "name")
		field.checkLine(f.Label, false, maxLabelRunes, "label")
		field.checkLine(f.Means, false, maxMeansRunes, "means")
		if slices.ContainsFunc(s.Fields[:i], func(other Field) bool { return other.Name == f.Name }) {
			field.wrong("is the name of another field, too", "name")
		}
	}
}

func (c checker) checkAgents(agents []Agent) {
	c.checkCount(len(agents), maxAgents)
	for i, a := range agents {
		agent := c.at(i)
		agent.checkName(namePattern, a.ID, "id")
		if slices.ContainsFunc(agents[:i], func(other Agent) bool { return other.ID == a.ID }) {
			agent.wrong("is the id of another agent, too", "id")
		}
		if a.Messages < 1 || a.Messages > maxAgentMessages {
			agent.wrong(fmt.Sprintf("must be 1 to %d", maxAgentMessages), "messages")
		}
		for n, role := range a.Hears {
			if role != "user" && role != "assistant" {
				agent.wrong("must be user or assistant", "hears", n)
			}
		}
		agent.checkCount(len(a.Modules), maxModules, "modules")
		for n, m := range a.Modules {
			agent.checkName(modulePattern, m.Name, "modules", n, "name")
			agent.checkText(m.Text, maxModuleRunes, "modules", n, "text")
		}
	}
}

func (c checker) checkCoaches(coaches []Coach) {
	c.checkCount(len(coaches), maxCoaches)
	for i, coach := range coaches {
		c.checkName(coachPattern, coach.ID, i, "id")
		if slices.ContainsFunc(coaches[:i], func(other Coach) bool { return other.ID == coach.ID }) {
			c.wrong("is the id of another coach, too", i, "id")
		}
		c.checkLine(coach.Name, true, maxLabelRunes, i, "name")
		c.checkText(coach.Persona, maxPersonaRunes, i, "persona")
		c.checkLine(coach.Model, false, maxLabelRunes, i, "model")
	}
}

func (c checker) checkMemoryTypes(types []MemoryType) {
	if len(types) == 0 || len(types) > maxMemoryTypes {
		c.wrong(fmt.Sprintf("must have 1 to %d entries", maxMemoryTypes))
	}
	for i, t := range types {
		c.checkName(memoryPattern, t.Name, i, "name")
		if slices.ContainsFunc(types[:i], func(other MemoryType) bool { return other.Name == t.Name }) {
			c.wrong("is the name of another type, too", i, "name")
		}
		c.checkLine(t.Means, true, maxMeansRunes, i, "means")
		if t.InPrompt < 1 || t.InPrompt > maxInPrompt {
			c.wrong(fmt.Sprintf("must be 1 to %d", maxInPrompt), i, "inPrompt")
		}
	}
}
