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
	maxCoaches       = 50
	maxPersonaRunes  = 32000
	maxLabelRunes    = 64
	maxMeansRunes    = 400
	maxInPrompt      = 8
	usualInPrompt    = 3
	versionHexDigits = 12
)

var (
	contextPattern = newPattern(`^[a-z][a-z0-9_]*$`, 63)
	memoryPattern  = newPattern(`^[A-Z][A-Z0-9_]*$`, 32)
	coachPattern   = newPattern(`^[A-Za-z0-9_.:-]+$`, 128)
	modulePattern  = newPattern(`^[A-Za-z][A-Za-z0-9_-]*$`, 63)
	// namePattern is that of modes, entity types, attributes and agents.
	namePattern = newPattern(`^[A-Za-z][A-Za-z0-9_]*$`, 63)
)

// pattern is what a name looks like, and how many bytes it has at most. An expression that counts them itself takes a
// hundred times as long to compile, whenever a function starts.
type pattern struct {
	form *regexp.Regexp
	max  int
}

func newPattern(form string, most int) pattern { return pattern{regexp.MustCompile(form), most} }

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
	var app App
	if err := yaml.Load(file, &app, yaml.WithKnownFields()); err != nil {
		return nil, readable(err)
	}
	var root yaml.Node
	if err := yaml.Load(file, &root); err != nil {
		return nil, readable(err)
	}
	app.complete()
	c := checker{root: &root}
	c.checkContexts(app.Contexts)
	c.checkAgents(app.Agents)
	c.checkCoaches(app.Coaches)
	c.checkMemoryTypes(app.MemoryTypes)
	c.checkPhrases(app.UrgentPhrases)
	if err := errors.Join(c.problems...); err != nil {
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

// unknownField matches what the decoder says of a field that a file cannot have.
var unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)

// readable returns an error of the decoder with a line for each problem.
func readable(err error) error {
	var one *yaml.LoadError
	var all *yaml.LoadErrors
	problems := []*yaml.LoadError{}
	switch {
	case errors.As(err, &all):
		problems = all.Errors
	case errors.As(err, &one):
		problems = append(problems, one)
	default:
		return fmt.Errorf("the file is not YAML: %w", err)
	}
	lines := make([]error, len(problems))
	for i, p := range problems {
		message := unknownField.ReplaceAllString(p.Message, "$1 is no field of this part: remove or rename it")
		lines[i] = fmt.Errorf("line %d: %s", p.Mark.Line, message)
	}
	return errors.Join(lines...)
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
	for i := range a.MemoryTypes {
		a.MemoryTypes[i].InPrompt = cmp.Or(a.MemoryTypes[i].InPrompt, usualInPrompt)
	}
}

// checker collects the problems of a file.
type checker struct {
	root     *yaml.Node
	problems []error
}

// wrong notes a problem of the field at a path, whose steps are keys and indexes.
func (c *checker) wrong(problem string, path ...any) {
	node, field := &yaml.Node{Line: 1}, ""
	if len(c.root.Content) > 0 {
		node = c.root.Content[0]
	}
	for _, step := range path {
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
	c.problems = append(c.problems, fmt.Errorf("line %d: %s %s", node.Line, field, problem))
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

func (c *checker) checkContexts(contexts []Context) {
	if len(contexts) == 0 || len(contexts) > maxContexts {
		c.wrong(fmt.Sprintf("must have 1 to %d entries", maxContexts), "contexts")
	}
	types := make([]RecordType, len(contexts))
	for i, context := range contexts {
		types[i] = context.Summary.Type
	}
	for i, context := range contexts {
		at := func(path ...any) []any { return append([]any{"contexts", i}, path...) }
		if !contextPattern.matches(context.Name) {
			c.wrong("must be 1 to 63 of a-z 0-9 _, and begin with a letter", at("name")...)
		}
		c.checkLabel(context.Label, true, at("label"))
		for name, value := range map[string]string{"entityType": context.EntityType, "defaultMode": context.DefaultMode} {
			if !namePattern.matches(value) {
				c.wrong("must be 1 to 63 of A-Z a-z 0-9 _, and begin with a letter", at(name)...)
			}
		}
		if context.Recipe != "" && !slices.Contains(RecipeNames, context.Recipe) {
			c.wrong("must be one of "+strings.Join(RecipeNames, ", "), at("recipe")...)
		}
		c.checkPrefix(context, at("prefix"))
		c.checkSummary(context.Summary, at("summary"))
		for n, read := range context.Reads {
			if !slices.Contains(types, read) {
				c.wrong(fmt.Sprintf("must be a summary type of this file, and %q is none", read), at("reads", n)...)
			}
		}
		for _, other := range contexts[:i] {
			c.checkDistinct(context, other, at)
		}
	}
}

// checkDistinct compares a context with an earlier one.
func (c *checker) checkDistinct(context, other Context, at func(...any) []any) {
	if context.Name == other.Name {
		c.wrong("is the name of another context, too", at("name")...)
	}
	if context.Prefix == other.Prefix {
		c.wrong("is the prefix of the context "+other.Name+", too", at("prefix")...)
	}
	if context.Summary.Type == other.Summary.Type {
		c.wrong("is written by the context "+other.Name+", too", at("summary", "type")...)
	}
}

func (c *checker) checkPrefix(context Context, path []any) {
	if context.Prefix != OwnPrefix+context.Name+"#" && !slices.Contains(reportedPrefixes, context.Prefix) {
		c.wrong(fmt.Sprintf("must be left out, or be one that the table's stream reports: %s",
			strings.Join(reportedPrefixes, ", ")), path...)
	}
}

func (c *checker) checkSummary(s Summary, path []any) {
	at := func(more ...any) []any { return append(slices.Clone(path), more...) }
	if !contextPattern.matches(string(s.Type)) || slices.Contains(reservedTypes, s.Type) {
		c.wrong("must be 1 to 63 of a-z 0-9 _, begin with a letter, and be none of message, memory, check_in, document",
			at("type")...)
	}
	for name, value := range map[string]string{"subject": s.Subject, "idField": s.IDField} {
		if value != "" && !namePattern.matches(value) {
			c.wrong("must be 1 to 63 of A-Z a-z 0-9 _, and begin with a letter", at(name)...)
		}
	}
	if len(s.Fields) > maxFields {
		c.wrong(fmt.Sprintf("must have at most %d entries", maxFields), at("fields")...)
	}
	for i, f := range s.Fields {
		if !namePattern.matches(f.Name) {
			c.wrong("must be 1 to 63 of A-Z a-z 0-9 _, and begin with a letter", at("fields", i, "name")...)
		}
		c.checkLabel(f.Label, false, at("fields", i, "label"))
		c.checkMeans(f.Means, false, at("fields", i, "means"))
		if slices.ContainsFunc(s.Fields[:i], func(other Field) bool { return other.Name == f.Name }) {
			c.wrong("is the name of another field, too", at("fields", i, "name")...)
		}
	}
}

func (c *checker) checkAgents(agents []Agent) {
	if len(agents) > maxAgents {
		c.wrong(fmt.Sprintf("must have at most %d entries", maxAgents), "agents")
	}
	for i, a := range agents {
		at := func(path ...any) []any { return append([]any{"agents", i}, path...) }
		if !namePattern.matches(a.ID) {
			c.wrong("must be 1 to 63 of A-Z a-z 0-9 _, and begin with a letter", at("id")...)
		}
		if slices.ContainsFunc(agents[:i], func(other Agent) bool { return other.ID == a.ID }) {
			c.wrong("is the id of another agent, too", at("id")...)
		}
		if a.Messages < 1 || a.Messages > maxAgentMessages {
			c.wrong(fmt.Sprintf("must be 1 to %d", maxAgentMessages), at("messages")...)
		}
		for n, role := range a.Hears {
			if role != "user" && role != "assistant" {
				c.wrong("must be user or assistant", at("hears", n)...)
			}
		}
		c.checkModules(a.Modules, at("modules"))
	}
}

func (c *checker) checkModules(modules []Module, path []any) {
	at := func(more ...any) []any { return append(slices.Clone(path), more...) }
	if len(modules) > maxModules {
		c.wrong(fmt.Sprintf("must have at most %d entries", maxModules), path...)
	}
	for i, m := range modules {
		if !modulePattern.matches(m.Name) {
			c.wrong("must be 1 to 63 of A-Z a-z 0-9 _ -, and begin with a letter", at(i, "name")...)
		}
		if n := utf8.RuneCountInString(m.Text); n == 0 || n > maxModuleRunes {
			c.wrong(fmt.Sprintf("must have 1 to %d characters", maxModuleRunes), at(i, "text")...)
		}
	}
}

func (c *checker) checkCoaches(coaches []Coach) {
	if len(coaches) > maxCoaches {
		c.wrong(fmt.Sprintf("must have at most %d entries", maxCoaches), "coaches")
	}
	for i, coach := range coaches {
		if !coachPattern.matches(coach.ID) {
			c.wrong("must be 1 to 128 of A-Z a-z 0-9 _ . : -", "coaches", i, "id")
		}
		if slices.ContainsFunc(coaches[:i], func(other Coach) bool { return other.ID == coach.ID }) {
			c.wrong("is the id of another coach, too", "coaches", i, "id")
		}
		c.checkLabel(coach.Name, true, []any{"coaches", i, "name"})
		if n := utf8.RuneCountInString(coach.Persona); n == 0 || n > maxPersonaRunes {
			c.wrong(fmt.Sprintf("must have 1 to %d characters", maxPersonaRunes), "coaches", i, "persona")
		}
		c.checkLabel(coach.Model, false, []any{"coaches", i, "model"})
	}
}

func (c *checker) checkMemoryTypes(types []MemoryType) {
	if len(types) == 0 || len(types) > maxMemoryTypes {
		c.wrong(fmt.Sprintf("must have 1 to %d entries", maxMemoryTypes), "memoryTypes")
	}
	for i, t := range types {
		if !memoryPattern.matches(t.Name) {
			c.wrong("must be 1 to 32 of A-Z 0-9 _, and begin with a letter", "memoryTypes", i, "name")
		}
		if slices.ContainsFunc(types[:i], func(other MemoryType) bool { return other.Name == t.Name }) {
			c.wrong("is the name of another type, too", "memoryTypes", i, "name")
		}
		c.checkMeans(t.Means, true, []any{"memoryTypes", i, "means"})
		if t.InPrompt < 1 || t.InPrompt > maxInPrompt {
			c.wrong(fmt.Sprintf("must be 1 to %d", maxInPrompt), "memoryTypes", i, "inPrompt")
		}
	}
}

func (c *checker) checkPhrases(phrases []string) {
	if len(phrases) > maxPhrases {
		c.wrong(fmt.Sprintf("must have at most %d entries", maxPhrases), "urgentPhrases")
	}
	for i, phrase := range phrases {
		if strings.Trim(phrase, "~ ") == "" || phrase != strings.ToLower(phrase) || !isLine(phrase) {
			c.wrong("must be a phrase in lower case", "urgentPhrases", i)
		}
	}
}

func (c *checker) checkMeans(means string, required bool, path []any) {
	if n := utf8.RuneCountInString(means); (required && n == 0) || n > maxMeansRunes || !isLine(means) {
		c.wrong(fmt.Sprintf("must be one line of 1 to %d characters", maxMeansRunes), path...)
	}
}

func (c *checker) checkLabel(label string, required bool, path []any) {
	if n := utf8.RuneCountInString(label); (required && n == 0) || n > maxLabelRunes || !isLine(label) {
		c.wrong(fmt.Sprintf("must be one line of 1 to %d characters", maxLabelRunes), path...)
	}
}

// isLine reports whether a text is one line, without characters that are not seen.
func isLine(text string) bool {
	return !strings.ContainsFunc(text, unicode.IsControl) && strings.TrimSpace(text) == text
}
