package httpapi

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

type profileDoc struct {
	Name      string     `json:"name,omitempty" maxLength:"500" doc:"The name."`
	Email     string     `json:"email,omitempty" maxLength:"500" doc:"The user's e-mail address."`
	CreatedAt *timestamp `json:"createdAt,omitempty" doc:"When the user joined the app."`
	About     string     `json:"about,omitempty" maxLength:"16000" doc:"What the user says about themselves."`
}

// profileInput has the schema of a request, where an optional field may be null. The other inputs are alike.
type profileInput profileDoc

type seedDoc struct {
	Content string `json:"content" maxLength:"16000" doc:"A short text about the user that the app sets by hand." visible:"true"`
}

type userSummaryDoc struct {
	Patterns    []remark   `json:"patterns" required:"false" maxItems:"200" doc:"At most 96 KiB together."`
	Wins        []remark   `json:"wins" required:"false" maxItems:"200" doc:"At most 96 KiB together."`
	Struggles   []remark   `json:"struggles" required:"false" maxItems:"200" doc:"At most 96 KiB together."`
	LastUpdated *timestamp `json:"lastUpdated,omitempty"`
}

// maxRemarksBytes is the size of all remarks of one list, in bytes. A summary of three lists then fits into an item of
// DynamoDB, which has at most 400 KB.
const maxRemarksBytes = 96 << 10

// remark is one entry of a user summary.
type remark string

// Schema bounds a remark's length.
func (remark) Schema(huma.Registry) *huma.Schema { return textSchema(4000) }

type userSummaryInput userSummaryDoc

func (d userSummaryInput) complete(*server, *longterm.UserSummary) error {
	var wrong fault.Problems
	checkRemarks(&wrong, "patterns", d.Patterns)
	checkRemarks(&wrong, "wins", d.Wins)
	checkRemarks(&wrong, "struggles", d.Struggles)
	return wrong.Err()
}

// checkRemarks reports a list whose remarks are too long together.
func checkRemarks(wrong *fault.Problems, field string, remarks []remark) {
	size := len(strings.Join(toStrings(remarks), ""))
	wrong.If(size > maxRemarksBytes, field,
		fmt.Sprintf("must have at most %d bytes of UTF-8 together, and has %d", maxRemarksBytes, size))
}

type preferencesDoc struct {
	CrossContext   bool         `json:"crossContext" doc:"false: prompts and queries use the own session only."`
	Memory         bool         `json:"memory" doc:"false: no memories are extracted, and prompts have none of them."`
	ReviewMemories bool         `json:"reviewMemories" doc:"true: extracted memories wait until they are reviewed, but for those about safety."`
	Contexts       sharedByName `json:"contexts" from:"-" doc:"What each context shares with the others."`
	Timezone       zoneName     `json:"timezone"`
}

type sharedDoc struct {
	Share bool `json:"share" doc:"false separates this context from the others."`
}

// sharedByName says for each context what it shares.
type sharedByName map[string]sharedDoc

// Schema lists the registered contexts.
func (sharedByName) Schema(r huma.Registry) *huma.Schema { return contextsSchema[sharedDoc](r) }

type preferencesInput struct {
	CrossContext   *bool             `json:"crossContext,omitempty" from:"-" doc:"Default: true."`
	Memory         *bool             `json:"memory,omitempty" from:"-" doc:"Default: true."`
	ReviewMemories bool              `json:"reviewMemories,omitempty" doc:"Default: false."`
	Contexts       sharedInputByName `json:"contexts,omitempty" from:"-" doc:"What each context shares with the others."`
	Timezone       zoneName          `json:"timezone,omitempty" from:"-" doc:"Default: UTC."`
}

type sharedInput struct {
	Share *bool `json:"share,omitempty" doc:"Default: what the app's registry says, true."`
}

type sharedInputByName map[string]sharedInput

// Schema lists the registered contexts.
func (sharedInputByName) Schema(r huma.Registry) *huma.Schema { return contextsSchema[sharedInput](r) }

// contextsSchema returns the schema of an object with an optional T for each context.
func contextsSchema[T any](r huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Properties: map[string]*huma.Schema{}}
	for _, name := range conversation.Contexts() {
		s.Properties[name] = r.Schema(reflect.TypeFor[T](), true, "")
	}
	return s
}

func (d preferencesInput) complete(_ *server, p *longterm.Preferences) error {
	reviews := p.ReviewMemories
	*p = longterm.DefaultPreferences()
	p.ReviewMemories = reviews
	if d.CrossContext != nil {
		p.CrossContext = *d.CrossContext
	}
	if d.Memory != nil {
		p.Memory = *d.Memory
	}
	p.Timezone = cmp.Or(string(d.Timezone), p.Timezone)
	if _, err := time.LoadLocation(p.Timezone); err != nil || p.Timezone == "Local" {
		return fault.InvalidField("timezone", "is not the IANA name of a time zone")
	}
	for context, shared := range d.Contexts {
		if isFalse(shared.Share) {
			p.Separate(context)
		} else if shared.Share != nil {
			delete(p.Unshared, context)
		}
	}
	return nil
}

func (d *preferencesDoc) complete(p longterm.Preferences) {
	d.Contexts = sharedByName{}
	for _, context := range conversation.Contexts() {
		d.Contexts[context] = sharedDoc{Share: !p.Unshared[context]}
	}
}
