package httpapi

import (
	"cmp"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
)

// Memory is a fact about the user, as the API shows it.
type Memory struct {
	ID           string     `json:"id"`
	Type         memoryType `json:"type"`
	Content      string     `json:"content"`
	Pinned       bool       `json:"pinned" doc:"Whether every prompt has it, as injuries and allergies."`
	Source       string     `json:"source" enum:"seeded,extracted"`
	Confidence   *float64   `json:"confidence,omitempty" minimum:"0" maximum:"1" doc:"Absent if not known."`
	MessageIDs   []string   `json:"messageIds,omitempty" doc:"The messages that it was drawn from."`
	Status       string     `json:"status" enum:"stated,planned,reported" doc:"How it is known."`
	About        string     `json:"about,omitempty" doc:"Whom it concerns. Absent for the user."`
	SaidAt       *timestamp `json:"saidAt,omitempty" doc:"When it was last said."`
	Until        string     `json:"until,omitempty" doc:"The last day on which it holds, or the time of its end."`
	ValidUntil   *timestamp `json:"validUntil,omitempty" doc:"The time from which no prompt has it."`
	SupersededBy string     `json:"supersededBy,omitempty" doc:"The id of the memory that replaces it."`
	EndedReason  string     `json:"endedReason,omitempty" enum:"false,over,forgotten,replaced" doc:"Why it ended."`
	ExpiresAt    *timestamp `json:"expiresAt,omitempty" doc:"When it is deleted by itself. Absent for never."`
	CreatedAt    *timestamp `json:"createdAt,omitempty"`
	UpdatedAt    *timestamp `json:"updatedAt,omitempty"`
}

type newMemory struct {
	Type         memoryType  `json:"type"`
	Content      string      `json:"content" minLength:"1" maxLength:"8000"`
	Pinned       bool        `json:"pinned,omitempty" doc:"Whether every prompt has it, as injuries and allergies."`
	Source       string      `json:"source,omitempty" enum:"seeded,extracted" default:"seeded"`
	Confidence   *confidence `json:"confidence,omitempty" doc:"How certain it is."`
	MessageIDs   []source    `json:"messageIds,omitempty" maxItems:"100" doc:"What it was drawn from, at most 16 KiB."`
	Status       string      `json:"status,omitempty" enum:"stated,planned,reported" default:"stated"`
	About        string      `json:"about,omitempty" maxLength:"200" doc:"Whom it concerns. Default: the user."`
	SaidAt       *timestamp  `json:"saidAt,omitempty" doc:"When it was said. Default: when it is created."`
	Until        *moment     `json:"until,omitempty" doc:"The last day on which it holds, or the time of its end."`
	ValidUntil   *timestamp  `json:"validUntil,omitempty"`
	SupersededBy string      `json:"supersededBy,omitempty" maxLength:"1024"`
	EndedReason  string      `json:"endedReason,omitempty" enum:"false,over,forgotten,replaced" doc:"Why it ended."`
	TTLSeconds   *int        `json:"ttlSeconds,omitempty" minimum:"1" maximum:"315360000" doc:"It is deleted then."`
}

// expiry is when a record with a time to live is gone. Nil is never.
func (s *server) expiry(ttlSeconds *int) time.Time {
	if ttlSeconds == nil {
		return time.Time{}
	}
	return s.storedNow().Add(time.Duration(*ttlSeconds) * time.Second).Truncate(time.Second)
}

// source is the id of a message that a memory was drawn from.
type source string

// Schema limits the length. Message ids are shorter, even with a user id of 128 characters in them.
func (source) Schema(huma.Registry) *huma.Schema { return textSchema(512) }

type changedMemory struct {
	Type         *memoryType          `json:"type,omitempty"`
	Content      *string              `json:"content,omitempty" minLength:"1" maxLength:"8000"`
	Pinned       *bool                `json:"pinned,omitempty"`
	Source       *string              `json:"source,omitempty" enum:"seeded,extracted"`
	Confidence   optional[confidence] `json:"confidence,omitzero" doc:"null removes it."`
	MessageIDs   *[]source            `json:"messageIds,omitempty" maxItems:"100" doc:"At most 16 KiB."`
	Status       *string              `json:"status,omitempty" enum:"stated,planned,reported"`
	About        optional[string]     `json:"about,omitzero" maxLength:"200" doc:"null is the user."`
	SaidAt       optional[timestamp]  `json:"saidAt,omitzero" doc:"null is when it was created."`
	Until        optional[moment]     `json:"until,omitzero" doc:"null removes it."`
	ValidUntil   optional[timestamp]  `json:"validUntil,omitzero" doc:"null makes it valid again."`
	SupersededBy optional[string]     `json:"supersededBy,omitzero" maxLength:"1024" doc:"null removes it."`
	EndedReason  optional[string]     `json:"endedReason,omitzero" enum:"false,over,forgotten,replaced"`
}

func memories(
	s *server, store longterm.Collection[longterm.Memory], tokens llm.Counter,
) collection[longterm.Memory, newMemory, changedMemory, Memory] {
	return collection[longterm.Memory, newMemory, changedMemory, Memory]{
		server: s, store: store, path: "memories", id: "Memory", name: "memory",
		fromNew: func(n newMemory) (longterm.Memory, error) {
			m := longterm.Memory{
				Type: longterm.MemoryType(n.Type), Content: n.Content, Pinned: n.Pinned,
				Source: longterm.MemorySource(cmp.Or(n.Source, string(longterm.Seeded))),
				Status: storedStatus(n.Status), About: n.About, SaidAt: storedTime(n.SaidAt), Until: n.Until.stored(),
				MessageIDs: toStrings(n.MessageIDs), ValidUntil: storedTime(n.ValidUntil), SupersededBy: n.SupersededBy,
				ExpiresAt:   s.expiry(n.TTLSeconds),
				EndedReason: longterm.EndedReason(n.EndedReason), Tokens: tokens.Count(n.Content),
			}
			setConfidence(&m, n.Confidence)
			return m, invalidFields(slices.Concat(n.ValidUntil.check("validUntil"), n.SaidAt.check("saidAt"),
				n.Until.check("until"), checkSources(m.MessageIDs)))
		},
		applyPatch: func(p changedMemory, m *longterm.Memory) error { return s.patchMemory(p, m, tokens) },
		toView:     toMemory,
		recordID:   func(m longterm.Memory) string { return m.ID },
	}
}

// filterMemories returns the page of an input, and which memories to keep.
func (s *server) filterMemories(in *memoriesInput) (ListInput, func(longterm.Memory) bool) {
	now := s.storedNow()
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

func (s *server) patchMemory(p changedMemory, m *longterm.Memory, tokens llm.Counter) error {
	wrong := slices.Concat(p.ValidUntil.value.check("validUntil"), p.SaidAt.value.check("saidAt"),
		p.Until.value.check("until"))
	if p.MessageIDs != nil {
		wrong = append(wrong, checkSources(toStrings(*p.MessageIDs))...)
	}
	if err := invalidFields(wrong); err != nil {
		return err
	}
	assign((*longterm.MemoryType)(p.Type), &m.Type)
	assign((*longterm.MemorySource)(p.Source), &m.Source)
	assign(p.Pinned, &m.Pinned)
	if p.MessageIDs != nil {
		m.MessageIDs = toStrings(*p.MessageIDs)
	}
	if p.Confidence.set {
		setConfidence(m, p.Confidence.value)
	}
	applyEnd(p, m)
	if p.Content != nil {
		m.Content, m.Tokens = *p.Content, tokens.Count(*p.Content)
	}
	m.UpdatedAt = s.storedNow()
	return nil
}

// applyEnd changes how a memory is known and when it ends.
func applyEnd(p changedMemory, m *longterm.Memory) {
	if p.Status != nil {
		m.Status = storedStatus(*p.Status)
	}
	p.About.apply(&m.About)
	if p.SaidAt.set {
		m.SaidAt = storedTime(p.SaidAt.value)
	}
	if p.Until.set {
		m.Until = p.Until.value.stored()
	}
	if p.ValidUntil.set {
		m.ValidUntil = storedTime(p.ValidUntil.value)
	}
	p.SupersededBy.apply(&m.SupersededBy)
	p.EndedReason.apply((*string)(&m.EndedReason))
}

// storedStatus is a memory's status as it is stored: nothing for the default.
func storedStatus(status string) longterm.MemoryStatus {
	if s := longterm.MemoryStatus(status); s != longterm.Stated {
		return s
	}
	return ""
}

// maxSourceBytes limits the ids of a memory's messages together. Every prompt reads the user's live memories.
const maxSourceBytes = 16 << 10

func checkSources(ids []string) []fault.Field {
	size := 0
	for _, id := range ids {
		size += len(id)
	}
	if size <= maxSourceBytes {
		return nil
	}
	return []fault.Field{{Field: "messageIds", Message: "must take at most 16 KiB together"}}
}

// setConfidence sets a memory's confidence. Nil removes it.
func setConfidence(m *longterm.Memory, c *confidence) {
	m.Confidence, m.Rated = 0, c != nil
	assign((*float64)(c), &m.Confidence)
}

func toMemory(m longterm.Memory) Memory {
	out := Memory{
		ID: m.ID, Type: memoryType(m.Type), Content: m.Content, Pinned: m.Pinned, Source: string(m.Source),
		MessageIDs: m.MessageIDs, Status: string(cmp.Or(m.Status, longterm.Stated)), About: m.About,
		SaidAt: newTimestamp(m.Said()), Until: m.Until.String(), ValidUntil: newTimestamp(m.ValidUntil),
		SupersededBy: m.SupersededBy, EndedReason: string(m.EndedReason), ExpiresAt: newTimestamp(m.ExpiresAt),
		CreatedAt: newTimestamp(m.CreatedAt),
		UpdatedAt: newTimestamp(m.UpdatedAt),
	}
	if m.Rated {
		out.Confidence = &m.Confidence
	}
	return out
}
