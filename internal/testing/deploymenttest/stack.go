// Package deploymenttest plays a deployed stage for tests of the commands that change one: the calls of
// CloudFormation, Lambda, S3 and CloudWatch that they take, with what those services do to a stack of template.yaml.
// It is strict where the services are:
//
//   - A version of a function is published, and the alias live moves to it, only where SAM's transform runs and the
//     parameter Release has another value. The template that a stack has already is the processed one, in which the
//     transform has run.
//   - A template of over 51,200 bytes is taken from S3 only. A change set without changes fails.
//   - An update goes through the roles, then the functions, then the aliases, one step with each look at the stack. A
//     right that a role loses is lost at once. A right that it gets counts when the update is over, because IAM takes
//     its time.
//   - A gradual release during an alarm of the release goes back.
//   - What CloudFormation has not changed in its template it does not touch: a concurrency that was set beside it
//     stays.
package deploymenttest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go/middleware"
	"go.yaml.in/yaml/v4"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/infra/local/template"
)

// The names of what the stack has.
const (
	Name   = "throughline"
	Table  = "throughline-Table-1"
	Ledger = "throughline-erasures"
	Bucket = "aws-sam-cli-managed-default-bucket"
)

// Stack is a stage's stack with its functions. It is not safe for concurrent use.
type Stack struct {
	reader
	// Template is the template as it was deployed, before the transform.
	Template []byte
	// Given are the values of the parameters that were ever given.
	Given  map[string]string
	Status types.StackStatus
	// Updates counts the updates that have begun.
	Updates int
	// Objects are the objects of the bucket by their keys.
	Objects map[string][]byte
	// Firing are the names of the alarms that fire.
	Firing []string
	// Latest and Live are the variables of each function: of $LATEST, and of the version that the alias live has.
	Latest, Live map[string]map[string]string
	// Concurrency are the reservations of functions that have one.
	Concurrency map[string]int
	// OnStep is called after each step of an update: "roles", "functions", "aliases", and "complete" or "rolled back".
	OnStep func(step string)
	// FailAt is the step at which the next update fails.
	FailAt string

	changeSets map[string]*changeSet
	updated    time.Time
	steps      []func()

	mu     sync.Mutex
	grants []map[grant]bool // what the roles allow: all sets that count at the time
}

// reader reads templates.
type reader struct {
	t        testing.TB
	defaults map[string]map[string]string // of the parameters, by the template
}

// grant is an action on a table or its stream.
type grant struct{ action, table string }

// New returns a stage that was deployed with values of parameters.
func New(t testing.TB, given map[string]string) *Stack {
	t.Helper()
	s := &Stack{
		reader: reader{t: t, defaults: map[string]map[string]string{}}, Template: throughline.Template,
		Given: map[string]string{
			"JwtIssuer": "https://issuer", "JwtAudience": "app", "PineconeIndex": "index,m@768,user", "Release": "0123456789ab",
		},
		Status: types.StackStatusCreateComplete, Objects: map[string][]byte{}, changeSets: map[string]*changeSet{},
		updated: time.Unix(0, 0), Concurrency: map[string]int{},
	}
	maps.Copy(s.Given, given)
	s.Latest = s.environments(s.Template, s.Given)
	s.Live = s.Latest
	s.grants = []map[grant]bool{s.roles(s.Template, s.Given)}
	return s
}

// parse evaluates a template.
func (s *reader) parse(text []byte, given map[string]string) *template.Template {
	parsed, err := template.Parse(text, given)
	if err != nil {
		s.t.Fatal(err)
	}
	return parsed
}

// environments returns the variables of each function, by its name without the stack's.
func (s *reader) environments(text []byte, given map[string]string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, f := range s.parse(text, given).Functions {
		out[f.Name] = f.Environment
		// The template's reader has logical ids where a deployment has names.
		for variable, value := range f.Environment {
			if name, ok := map[string]string{"Table": Table, "ErasuresTable": Ledger}[value]; ok {
				f.Environment[variable] = name
			}
		}
	}
	return out
}

var tableARN = regexp.MustCompile(`:table/([\w.-]+)`)

// roles returns what all roles together allow on tables.
func (s *reader) roles(text []byte, given map[string]string) map[grant]bool {
	parsed, out := s.parse(text, given), map[grant]bool{}
	for _, f := range parsed.Functions {
		permissions, err := parsed.Role(f.Name)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, p := range permissions {
			table := ""
			switch m := tableARN.FindStringSubmatch(p.Resource); {
			case m != nil:
				table = m[1]
			case strings.HasPrefix(p.Resource, "Table."):
				table = Table
			case strings.HasPrefix(p.Resource, "ErasuresTable."):
				table = Ledger
			}
			if strings.HasPrefix(p.Action, "dynamodb:") {
				out[grant{p.Action, table}] = true
			}
		}
	}
	return out
}

// Allows reports whether the functions may take an action on a table at this time. It may be called concurrently.
func (s *Stack) Allows(action, table string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.grants, func(of map[grant]bool) bool { return !of[grant{action, table}] })
}

// grant sets what the roles allow.
func (s *Stack) grant(roles ...map[grant]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants = roles
}

// TableName is the table that the stack names.
func (s *Stack) TableName() string {
	if name := s.Given["ExistingTableName"]; name != "" {
		return name
	}
	return Table
}

// isBusy reports whether an update is under way.
func (s *Stack) isBusy() bool { return strings.HasSuffix(string(s.Status), "_IN_PROGRESS") }

// update begins an update to a template and values. transformed says whether the transform runs.
func (s *Stack) update(text []byte, given map[string]string, transformed bool) {
	before := s.Given
	s.Status = types.StackStatusUpdateInProgress
	s.updated = s.updated.Add(time.Minute)
	s.Updates++
	s.Given, s.Template = given, text
	isRelease := transformed && given["Release"] != before["Release"]
	old, latest, live := s.grants, s.Latest, s.Live
	roles := s.roles(text, given)
	failed := ""
	step := func(name string, do func()) {
		s.steps = append(s.steps, func() {
			if failed != "" {
				return
			}
			if do(); s.FailAt == name {
				failed, s.FailAt = name, ""
			}
			if s.OnStep != nil {
				s.OnStep(name)
			}
		})
	}
	step("roles", func() { s.grant(old[0], roles) })
	step("functions", func() {
		s.Latest = s.environments(text, given)
		// A mapping of another stream is made anew, and is refused where the role may not read that yet.
		if given["ExistingTableName"] != before["ExistingTableName"] && !s.Allows("dynamodb:GetRecords", s.TableName()) {
			s.FailAt = "functions"
		}
	})
	step("aliases", func() {
		switch {
		case !isRelease:
		case s.value(text, given, "GradualReleases") == "true" && s.isFiring():
			s.FailAt = "aliases"
		default:
			s.Live = s.Latest
		}
	})
	s.steps = append(s.steps, func() {
		s.grant(roles)
		if s.Status = types.StackStatusUpdateComplete; failed == "" {
			return
		}
		s.Given, s.Latest, s.Live = before, latest, live
		s.grant(old...)
		s.Status = types.StackStatusUpdateRollbackComplete
	})
}

// isFiring reports whether an alarm of a release fires.
func (s *Stack) isFiring() bool {
	return slices.ContainsFunc(s.Firing, func(a string) bool { return strings.HasPrefix(a, Name+"-release-") })
}

// advance takes the next step of what is under way.
func (s *Stack) advance() {
	if len(s.steps) == 0 {
		return
	}
	next := s.steps[0]
	s.steps = s.steps[1:]
	next()
	if len(s.steps) == 0 && s.OnStep != nil {
		s.OnStep(map[bool]string{true: "complete", false: "rolled back"}[s.Status == types.StackStatusUpdateComplete])
	}
}

// parameters returns the names of a template's parameters with their defaults.
func (s *reader) parameters(text []byte) map[string]string {
	if known, ok := s.defaults[string(text)]; ok {
		return known
	}
	var t struct {
		Parameters map[string]struct {
			Default string `yaml:"Default"`
		} `yaml:"Parameters"`
	}
	if err := yaml.Load(text, &t); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]string{}
	for name, p := range t.Parameters {
		out[name] = p.Default
	}
	s.defaults[string(text)] = out
	return out
}

// value returns the value of a parameter.
func (s *reader) value(text []byte, given map[string]string, name string) string {
	if v, ok := given[name]; ok {
		return v
	}
	return s.parameters(text)[name]
}

// IsAt reports whether the version that serves has a variable's value, in all functions.
func (s *Stack) IsAt(variable, value string) error {
	for name, environment := range s.Live {
		if environment[variable] != value {
			return fmt.Errorf("%s serves with %s=%q, want %q", name, variable, environment[variable], value)
		}
	}
	return nil
}

// Stage is the stage as its configuration has it.
var Stage = deployment.Stage{Name: "prod", Stack: Name, Region: "us-east-1"}

// Updater returns what changes the stage.
func (s *Stack) Updater(out io.Writer) *deployment.Updater {
	u := deployment.NewUpdater(Config(s.Answer), Stage, out)
	u.Poll = time.Millisecond
	return u
}

// Config returns the configuration of clients of AWS whose calls a function answers.
func Config(answer func(in any) (out any, err error)) aws.Config {
	call := func(_ context.Context, in middleware.InitializeInput, _ middleware.InitializeHandler) (
		out middleware.InitializeOutput, metadata middleware.Metadata, err error,
	) {
		out.Result, err = answer(in.Parameters)
		return out, metadata, err
	}
	return aws.Config{Region: Stage.Region, APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("answer", call), middleware.Before)
	}}}
}
