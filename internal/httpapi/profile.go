package httpapi

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

type profileDoc struct {
	Name      string `json:"name,omitempty" maxLength:"500"`
	Email     string `json:"email,omitempty" maxLength:"500"`
	CreatedAt *stamp `json:"createdAt,omitempty" doc:"When the user came to the app."`
	About     string `json:"about,omitempty" maxLength:"16000"`
}

func profile(s *server, store longterm.Singleton[longterm.Profile]) singleton[longterm.Profile, profileDoc] {
	return singleton[longterm.Profile, profileDoc]{
		server: s, store: store, path: "profile", id: "Profile", one: "profile",
		read: func(d profileDoc) (longterm.Profile, error) {
			return longterm.Profile{Name: d.Name, Email: d.Email, CreatedAt: timeOf(d.CreatedAt), About: d.About},
				wrongOr(d.CreatedAt.check("createdAt"))
		},
		view: func(p longterm.Profile) profileDoc { return profileDoc{p.Name, p.Email, stampOf(p.CreatedAt), p.About} },
	}
}

type seedDoc struct {
	Content string `json:"content" maxLength:"16000" doc:"A short text about the user that the app sets by hand."`
}

func seed(s *server, store longterm.Singleton[longterm.Seed]) singleton[longterm.Seed, seedDoc] {
	return singleton[longterm.Seed, seedDoc]{
		server: s, store: store, path: "seed", id: "Seed", one: "seed",
		read: func(d seedDoc) (longterm.Seed, error) { return longterm.Seed(d), nil },
		view: func(r longterm.Seed) seedDoc { return seedDoc(r) },
	}
}

type userSummaryDoc struct {
	Patterns    []remark `json:"patterns" required:"false" maxItems:"200" doc:"At most 96 KiB together."`
	Wins        []remark `json:"wins" required:"false" maxItems:"200" doc:"At most 96 KiB together."`
	Struggles   []remark `json:"struggles" required:"false" maxItems:"200" doc:"At most 96 KiB together."`
	LastUpdated *stamp   `json:"lastUpdated,omitempty"`
}

// maxRemarksBytes is what the remarks of one list take together at most, so that a summary of three lists stays within the
// 400 KB of a record.
const maxRemarksBytes = 96 << 10

// remark is one entry of a user summary.
type remark string

// Schema bounds a remark's length.
func (remark) Schema(huma.Registry) *huma.Schema { return textOf(4000) }

// textOf is the schema of a text of at most so many characters.
func textOf(longest int) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MaxLength: &longest}
}

func userSummary(s *server, store longterm.Singleton[longterm.UserSummary]) singleton[longterm.UserSummary, userSummaryDoc] {
	return singleton[longterm.UserSummary, userSummaryDoc]{
		server: s, store: store, path: "user-summary", id: "UserSummary", one: "user summary",
		read: func(d userSummaryDoc) (longterm.UserSummary, error) {
			return longterm.UserSummary{
				Patterns: texts(d.Patterns), Wins: texts(d.Wins), Struggles: texts(d.Struggles), LastUpdated: timeOf(d.LastUpdated),
			}, wrongOr(checkRemarks("patterns", d.Patterns), checkRemarks("wins", d.Wins), checkRemarks("struggles", d.Struggles), d.LastUpdated.check("lastUpdated"))
		},
		view: func(u longterm.UserSummary) userSummaryDoc {
			return userSummaryDoc{remarksOf(u.Patterns), remarksOf(u.Wins), remarksOf(u.Struggles), stampOf(u.LastUpdated)}
		},
	}
}

// checkRemarks says that the remarks of a field are too long together.
func checkRemarks(field string, remarks []remark) []fault.Field {
	size := 0
	for _, r := range remarks {
		size += len(r)
	}
	if size <= maxRemarksBytes {
		return nil
	}
	return []fault.Field{{Field: field, Message: fmt.Sprintf("must have at most %d bytes of UTF-8 together, and has %d", maxRemarksBytes, size)}}
}

// remarksOf is a list that is written as [] where it is empty.
func remarksOf(list []string) []remark {
	remarks := make([]remark, len(list))
	for i, text := range list {
		remarks[i] = remark(text)
	}
	return remarks
}

type preferencesDoc struct {
	CrossContext *bool                `json:"crossContext,omitempty" default:"true" doc:"false: a prompt, query or recall holds nothing of any session but its own."`
	Memory       *bool                `json:"memory,omitempty" default:"true" doc:"false: no extraction, and extracted memories stay out of prompts."`
	Contexts     map[string]sharedDoc `json:"contexts,omitempty" doc:"By context: whether it shares with the others."`
	Timezone     string               `json:"timezone,omitempty" minLength:"1" maxLength:"100" default:"UTC" doc:"An IANA name."`
}

type sharedDoc struct {
	Share *bool `json:"share,omitempty" doc:"true where absent; false: nothing of this context reaches the others, nor theirs it."`
}

func preferences(s *server, store longterm.Singleton[longterm.Preferences]) singleton[longterm.Preferences, preferencesDoc] {
	return singleton[longterm.Preferences, preferencesDoc]{
		server: s, store: store, path: "preferences", id: "Preferences", one: "preferences",
		detail: "They hold from that moment on, for what was stored before too; switching back restores.",
		read:   readPreferences, view: viewPreferences,
	}
}

func readPreferences(d preferencesDoc) (longterm.Preferences, error) {
	p := longterm.DefaultPreferences()
	set(d.CrossContext, &p.CrossContext)
	set(d.Memory, &p.Memory)
	if d.Timezone != "" {
		p.Timezone = d.Timezone
	}
	var wrong []fault.Field
	if _, err := time.LoadLocation(p.Timezone); err != nil || p.Timezone == "Local" {
		wrong = append(wrong, fault.Field{Field: "timezone", Message: "is not the IANA name of a time zone"})
	}
	p.Unshared = map[string]bool{}
	for _, context := range slices.Sorted(maps.Keys(d.Contexts)) {
		shared := d.Contexts[context]
		if _, err := conversation.SurfaceOf(context); err != nil {
			wrong = append(wrong, fault.Field{Field: "contexts." + context, Message: "is not a context"})
		}
		if shared.Share != nil && !*shared.Share {
			p.Unshared[context] = true
		}
	}
	return p, wrongOr(wrong)
}

func viewPreferences(p longterm.Preferences) preferencesDoc {
	d := preferencesDoc{CrossContext: &p.CrossContext, Memory: &p.Memory, Timezone: p.Timezone, Contexts: map[string]sharedDoc{}}
	for _, context := range conversation.Contexts() {
		share := !p.Unshared[context]
		d.Contexts[context] = sharedDoc{&share}
	}
	return d
}
