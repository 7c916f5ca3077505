package httpapi

import (
	"fmt"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

type profileDoc struct {
	Name      string     `json:"name,omitempty" maxLength:"500"`
	Email     string     `json:"email,omitempty" maxLength:"500"`
	CreatedAt *timestamp `json:"createdAt,omitempty" doc:"When the user joined the app."`
	About     string     `json:"about,omitempty" maxLength:"16000"`
}

// profileInput has the schema of a request, where an optional field may be null. The other inputs are alike.
type profileInput profileDoc

func profile(
	s *server, store longterm.Singleton[longterm.Profile],
) singleton[longterm.Profile, profileInput, profileDoc] {
	return singleton[longterm.Profile, profileInput, profileDoc]{
		server: s, store: store, path: "profile", id: "Profile", name: "profile",
		fromInput: func(d profileInput) (longterm.Profile, error) {
			return longterm.Profile{Name: d.Name, Email: d.Email, CreatedAt: storedTime(d.CreatedAt), About: d.About},
				invalidFields(d.CreatedAt.check("createdAt"))
		},
		toDoc: func(p longterm.Profile) profileDoc {
			return profileDoc{p.Name, p.Email, newTimestamp(p.CreatedAt), p.About}
		},
	}
}

type seedDoc struct {
	Content string `json:"content" maxLength:"16000" doc:"A short text about the user that the app sets by hand."`
}

func seed(s *server, store longterm.Singleton[longterm.Seed]) singleton[longterm.Seed, seedDoc, seedDoc] {
	return singleton[longterm.Seed, seedDoc, seedDoc]{
		server: s, store: store, path: "seed", id: "Seed", name: "seed",
		fromInput: func(d seedDoc) (longterm.Seed, error) { return longterm.Seed(d), nil },
		toDoc:     func(r longterm.Seed) seedDoc { return seedDoc(r) },
	}
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

func userSummary(
	s *server, store longterm.Singleton[longterm.UserSummary],
) singleton[longterm.UserSummary, userSummaryInput, userSummaryDoc] {
	return singleton[longterm.UserSummary, userSummaryInput, userSummaryDoc]{
		server: s, store: store, path: "user-summary", id: "UserSummary", name: "user summary",
		detail: "What the app has stored, and after it what was observed in the user's sessions while the preferences " +
			"allow memory. PUT replaces both; what is observed later is added.",
		fromInput: func(d userSummaryInput) (longterm.UserSummary, error) {
			u := longterm.UserSummary{
				Patterns: toStrings(d.Patterns), Wins: toStrings(d.Wins), Struggles: toStrings(d.Struggles),
				LastUpdated: storedTime(d.LastUpdated),
			}
			return u, invalidFields(
				checkRemarks("patterns", d.Patterns), checkRemarks("wins", d.Wins),
				checkRemarks("struggles", d.Struggles), d.LastUpdated.check("lastUpdated"),
			)
		},
		toDoc: func(u longterm.UserSummary) userSummaryDoc {
			return userSummaryDoc{
				converted(u.Patterns, toRemark), converted(u.Wins, toRemark), converted(u.Struggles, toRemark),
				newTimestamp(u.LastUpdated),
			}
		},
	}
}

// checkRemarks reports a list whose remarks are too long together.
func checkRemarks(field string, remarks []remark) []fault.Field {
	size := 0
	for _, r := range remarks {
		size += len(r)
	}
	if size <= maxRemarksBytes {
		return nil
	}
	message := fmt.Sprintf("must have at most %d bytes of UTF-8 together, and has %d", maxRemarksBytes, size)
	return []fault.Field{{Field: field, Message: message}}
}

func toRemark(text string) remark { return remark(text) }

type preferencesDoc struct {
	CrossContext bool         `json:"crossContext" doc:"false: prompts and queries use the own session only."`
	Memory       bool         `json:"memory" doc:"false: no memories are extracted, and prompts have none of them."`
	Contexts     sharedByName `json:"contexts" doc:"What each context shares with the others."`
	Timezone     zoneName     `json:"timezone"`
}

type sharedDoc struct {
	Share bool `json:"share" doc:"false separates this context from the others."`
}

// sharedByName says for each context what it shares.
type sharedByName map[string]sharedDoc

// Schema lists the registered contexts.
func (sharedByName) Schema(r huma.Registry) *huma.Schema { return contextsSchema[sharedDoc](r) }

type preferencesInput struct {
	CrossContext *bool             `json:"crossContext,omitempty" doc:"Default: true."`
	Memory       *bool             `json:"memory,omitempty" doc:"Default: true."`
	Contexts     sharedInputByName `json:"contexts,omitempty" doc:"What each context shares with the others."`
	Timezone     zoneName          `json:"timezone,omitempty" doc:"Default: UTC."`
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

func preferences(
	s *server, store longterm.Singleton[longterm.Preferences],
) singleton[longterm.Preferences, preferencesInput, preferencesDoc] {
	return singleton[longterm.Preferences, preferencesInput, preferencesDoc]{
		server: s, store: store, path: "preferences", id: "Preferences", name: "preferences",
		detail:    "A change takes effect at once, for older data too. Switching back restores it.",
		fromInput: readPreferences, toDoc: toPreferences,
	}
}

func readPreferences(d preferencesInput) (longterm.Preferences, error) {
	p := longterm.DefaultPreferences()
	assign(d.CrossContext, &p.CrossContext)
	assign(d.Memory, &p.Memory)
	if d.Timezone != "" {
		p.Timezone = string(d.Timezone)
	}
	if _, err := time.LoadLocation(p.Timezone); err != nil || p.Timezone == "Local" {
		return p, fault.InvalidField("timezone", "is not the IANA name of a time zone")
	}
	for context, shared := range d.Contexts {
		if isFalse(shared.Share) {
			p.Separate(context)
		} else if shared.Share != nil {
			delete(p.Unshared, context)
		}
	}
	return p, nil
}

func toPreferences(p longterm.Preferences) preferencesDoc {
	d := preferencesDoc{
		CrossContext: p.CrossContext, Memory: p.Memory, Timezone: zoneName(p.Timezone), Contexts: sharedByName{},
	}
	for _, context := range conversation.Contexts() {
		d.Contexts[context] = sharedDoc{Share: !p.Unshared[context]}
	}
	return d
}
