package httpapi

import (
	"cmp"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// Memory is a fact about the user, as the API shows it.
type Memory struct {
	ID           string     `json:"id" doc:"The id of the record."`
	Type         memoryType `json:"type" doc:"What the memory is about."`
	Content      string     `json:"content" doc:"The text, as it was stored."`
	Pinned       bool       `json:"pinned" doc:"Whether every prompt has it, as injuries and allergies."`
	Source       string     `json:"source" enum:"seeded,extracted" doc:"Whether the app stored it (seeded) or it was read from messages (extracted)."`
	Confidence   *float64   `json:"confidence,omitempty" from:"-" minimum:"0" maximum:"1" doc:"Absent if not known."`
	MessageIDs   []string   `json:"messageIds,omitempty" doc:"The messages that it was drawn from."`
	Status       string     `json:"status" enum:"stated,planned,reported,waiting" doc:"How it is known; waiting until it is reviewed."`
	About        string     `json:"about,omitempty" doc:"Whom it concerns. Absent for the user."`
	SaidAt       *timestamp `json:"saidAt,omitempty" from:"-" doc:"When it was last said."`
	From         string     `json:"from,omitempty" doc:"The first day on which it holds, or the time of its beginning."`
	Until        string     `json:"until,omitempty" doc:"The last day on which it holds, or the time of its end."`
	ValidUntil   *timestamp `json:"validUntil,omitempty" doc:"The time from which no prompt has it."`
	SupersededBy string     `json:"supersededBy,omitempty" doc:"The id of the memory that replaces it."`
	EndedReason  string     `json:"endedReason,omitempty" enum:"false,over,forgotten,replaced" doc:"Why it ended."`
	ExpiresAt    *timestamp `json:"expiresAt,omitempty" doc:"When it is deleted by itself. Absent for never."`
	CreatedAt    *timestamp `json:"createdAt,omitempty"`
	UpdatedAt    *timestamp `json:"updatedAt,omitempty"`
}

type newMemory struct {
	Type         memoryType  `json:"type" doc:"What the memory is about."`
	Content      string      `json:"content" minLength:"1" maxLength:"8000" doc:"The text, as it was stored." visible:"true"`
	Pinned       bool        `json:"pinned,omitempty" doc:"Whether every prompt has it, as injuries and allergies."`
	Source       string      `json:"source,omitempty" enum:"seeded,extracted" default:"seeded" doc:"Whether the app stored it (seeded) or it was read from messages (extracted)."`
	Confidence   *confidence `json:"confidence,omitempty" doc:"How certain it is."`
	MessageIDs   []source    `json:"messageIds,omitempty" maxItems:"100" doc:"What it was drawn from, at most 16 KiB. Needs throughline/app."`
	Status       string      `json:"status,omitempty" enum:"stated,planned,reported" default:"stated" doc:"The state of the record."`
	About        string      `json:"about,omitempty" maxLength:"200" doc:"Whom it concerns. Default: the user."`
	SaidAt       *timestamp  `json:"saidAt,omitempty" doc:"When it was said. Default: when it is created."`
	From         *moment     `json:"from,omitempty" doc:"The first day on which it holds, or the time of its beginning."`
	Until        *moment     `json:"until,omitempty" doc:"The last day on which it holds, or the time of its end."`
	ValidUntil   *timestamp  `json:"validUntil,omitempty"`
	SupersededBy string      `json:"supersededBy,omitempty" maxLength:"1024" doc:"The id of the memory that replaced this one."`
	EndedReason  string      `json:"endedReason,omitempty" enum:"false,over,forgotten,replaced" doc:"Why it ended. Needs validUntil, until or supersededBy."`
	TTLSeconds   *int        `json:"ttlSeconds,omitempty" from:"-" minimum:"1" maximum:"315360000" doc:"It is deleted then."`
}

// source is the id of a message that a memory was drawn from.
type source string

// Schema limits the length. Message ids are shorter, even with a user id of 128 characters in them.
func (source) Schema(huma.Registry) *huma.Schema { return textSchema(512) }

type changedMemory struct {
	Type         *memoryType          `json:"type,omitempty" doc:"What the memory is about."`
	Content      *string              `json:"content,omitempty" minLength:"1" maxLength:"8000" doc:"The text, as it was stored." visible:"true"`
	Pinned       *bool                `json:"pinned,omitempty" doc:"Whether it is a safety fact, which no prompt drops."`
	Source       *string              `json:"source,omitempty" enum:"seeded,extracted" doc:"Whether the app stored it (seeded) or it was read from messages (extracted)."`
	Confidence   optional[confidence] `json:"confidence,omitzero" doc:"null removes it."`
	MessageIDs   *[]source            `json:"messageIds,omitempty" maxItems:"100" doc:"At most 16 KiB. Needs throughline/app."`
	Status       *string              `json:"status,omitempty" enum:"stated,planned,reported" doc:"The state of the record."`
	About        optional[string]     `json:"about,omitzero" maxLength:"200" doc:"null is the user."`
	SaidAt       optional[timestamp]  `json:"saidAt,omitzero" doc:"null is when it was created."`
	From         optional[moment]     `json:"from,omitzero" doc:"null removes it."`
	Until        optional[moment]     `json:"until,omitzero" doc:"null removes it."`
	ValidUntil   optional[timestamp]  `json:"validUntil,omitzero" doc:"null takes the end back, and its reason with it."`
	SupersededBy optional[string]     `json:"supersededBy,omitzero" maxLength:"1024" doc:"null removes it."`
	EndedReason  optional[string]     `json:"endedReason,omitzero" enum:"false,over,forgotten,replaced" doc:"Why it ended; null removes it. Needs validUntil, until or supersededBy."`
}

func (m *Memory) complete(of longterm.Memory) {
	m.Status, m.SaidAt = cmp.Or(m.Status, string(longterm.Stated)), newTimestamp(of.Said())
	if of.Rated {
		m.Confidence = &of.Confidence
	}
}

func (n newMemory) appField() string { return provenance(n.Source, n.MessageIDs != nil) }

func (p changedMemory) appField() string {
	if p.Source == nil {
		p.Source = new(string)
	}
	return provenance(*p.Source, p.MessageIDs != nil)
}

// provenance returns the name of a field that says from where the app has a memory. A user's own token cannot say that
// it was read from messages.
func provenance(source string, hasMessages bool) string {
	switch {
	case source == string(longterm.Extracted):
		return "source " + source
	case hasMessages:
		return "messageIds"
	}
	return ""
}

func (n newMemory) complete(s *server, m *longterm.Memory) error {
	m.Rated, m.Tokens = n.Confidence != nil, s.tokens.Count(m.Content)
	if n.TTLSeconds != nil {
		m.ExpiresAt = s.storedNow().Add(time.Duration(*n.TTLSeconds) * time.Second).Truncate(time.Second)
	}
	return cmp.Or(m.CheckSpan(), settleMemory(m, n.MessageIDs))
}

func (p changedMemory) complete(s *server, m *longterm.Memory) error {
	if p.Status != nil && len(m.Supersedes) > 0 {
		return fault.New(fault.Conflict, "it waits to take the place of another one: review it instead")
	}
	if p.Confidence.set {
		m.Rated = p.Confidence.value != nil
	}
	if p.Content != nil {
		m.Tokens = s.tokens.Count(m.Content)
	}
	holdsAgain := p.ValidUntil.set && m.ValidUntil.IsZero() && !p.SupersededBy.set
	if holdsAgain {
		m.SupersededBy = ""
	}
	if (holdsAgain || !m.HasEnd()) && !p.EndedReason.set {
		m.EndedReason = "" // it goes with the end
	}
	if p.From.set && p.Until.set { // until alone may also call off what was to begin
		if err := m.CheckSpan(); err != nil {
			return err
		}
	}
	if p.SupersededBy.set && m.SupersededBy == m.ID {
		return fault.InvalidField("supersededBy", "must be the id of another memory")
	}
	if p.ValidUntil.set || p.EndedReason.set || p.SupersededBy.set {
		m.EndedBy = nil // the app decides now, and not what a message says
	}
	m.UpdatedAt = s.storedNow()
	if p.MessageIDs == nil {
		p.MessageIDs = &[]source{}
	}
	return settleMemory(m, *p.MessageIDs)
}

// filterMemories returns the page of an input, and which memories to keep.
func (s *server) filterMemories(in *memoriesInput) (ListInput, func(longterm.Memory) bool) {
	if in.Type == "" && in.Valid == "" {
		return in.ListInput, nil
	}
	now := longterm.InLastZone(s.storedNow()) // where the user may be, as the searches have it
	return in.ListInput, func(m longterm.Memory) bool {
		hasType := in.Type == "" || in.Type == memoryType(m.Type)
		return hasType && (in.Valid == "" || m.Valid(now) == (in.Valid == "true"))
	}
}

// memoriesInput is the input of the list of memories.
type memoriesInput struct {
	ListInput
	Type  memoryType `query:"type" doc:"Only memories of this type."`
	Valid string     `query:"valid" enum:"true,false" doc:"Only memories that are valid now, or only the others."`
}

// maxSourceBytes limits the ids of a memory's messages together. Every prompt reads the user's live memories.
const maxSourceBytes = 16 << 10

// settleMemory leaves out the status that is the default, and checks why the memory ended and the message ids that a
// caller has sent.
func settleMemory(m *longterm.Memory, sent []source) error {
	if m.Status == longterm.Stated {
		m.Status = ""
	}
	if m.EndedReason != "" && !m.HasEnd() {
		return fault.InvalidField("endedReason", "needs validUntil, until or supersededBy; what the user wants forgotten "+
			"is deleted instead")
	}
	if len(strings.Join(toStrings(sent), "")) > maxSourceBytes {
		return fault.InvalidField("messageIds", "must take at most 16 KiB together")
	}
	return nil
}
