package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/secret"
	"github.com/throughline/throughline/internal/untrusted"
)

const (
	// maxContent and maxAbout are the longest texts of a memory in characters, and maxID the longest id, as in the HTTP
	// API.
	maxContent = 8000
	maxAbout   = 200
	maxID      = 1024

	defaultListed = 50
	maxListed     = 200
)

// memory is a fact as the tools show it.
type memory struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Content     string `json:"content"`
	Pinned      bool   `json:"pinned,omitempty" jsonschema:"Whether every prompt has it."`
	Source      string `json:"source" jsonschema:"seeded or extracted."`
	About       string `json:"about,omitempty" jsonschema:"Whom it concerns. Absent for the user."`
	Status      string `json:"status,omitempty" jsonschema:"planned, or reported by somebody else. Absent for stated."`
	From        string `json:"from,omitempty" jsonschema:"The first day on which it holds, or the time of its beginning."`
	Until       string `json:"until,omitempty" jsonschema:"The last day on which it holds, or the time of its end."`
	Valid       bool   `json:"valid" jsonschema:"Whether it holds now."`
	EndedReason string `json:"endedReason,omitempty"`
	SaidAt      string `json:"saidAt,omitempty"`
	UpdatedAt   string `json:"updatedAt,omitempty"`
}

// memories serves the tools of facts.
type memories struct{ *handler }

func (h memories) toMemory(m longterm.Memory) memory {
	return memory{
		ID: m.ID, Type: string(m.Type), Content: secret.Redact(untrusted.Clean(m.Content)), Pinned: m.Pinned,
		Source: string(m.Source), About: untrusted.OneLine(m.About), Status: string(m.Status),
		From: m.From.String(), Until: m.Until.String(),
		Valid:       m.Valid(longterm.InLastZone(h.Now())),
		EndedReason: string(m.EndedReason), SaidAt: formatted(m.Said()), UpdatedAt: formatted(m.UpdatedAt),
	}
}

// formatted returns a time as the API writes it, and nothing for none.
func formatted(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return conversation.FormatTime(at)
}

type rememberInput struct {
	Content string `json:"content" jsonschema:"One lasting fact in a sentence, such as: The user is allergic to peanuts."`
	Type    string `json:"type,omitempty" jsonschema:"The kind of fact. Default: the first, facts about the user."`
	Pinned  bool   `json:"pinned,omitempty" jsonschema:"Whether every prompt has it, as injuries and allergies."`
	About   string `json:"about,omitempty" jsonschema:"Whom it concerns. Default: the user."`
	From    string `json:"from,omitempty" jsonschema:"The first day on which it holds (2026-11-16), or an RFC 3339 time."`
	Until   string `json:"until,omitempty" jsonschema:"The last day on which it holds (2026-11-20), or an RFC 3339 time."`
}

type rememberOutput struct {
	Notice  string `json:"notice"`
	Created bool   `json:"created" jsonschema:"False if the memory was there already."`
	Memory  memory `json:"memory"`
}

type updateInput struct {
	ID      string  `json:"id" jsonschema:"The exact id of the memory."`
	Content *string `json:"content,omitempty" jsonschema:"The fact as it is now."`
	Type    string  `json:"type,omitempty" jsonschema:"The kind of fact."`
	Pinned  *bool   `json:"pinned,omitempty"`
	From    *string `json:"from,omitempty" jsonschema:"The first day on which it holds, or a time. Empty removes it."`
	Until   *string `json:"until,omitempty" jsonschema:"The last day on which it holds, or a time. Empty removes it."`
	Ended   string  `json:"ended,omitempty" jsonschema:"Ends it now: over, if it holds no longer; false, if it never did."`
}

type updateOutput struct {
	Notice string `json:"notice"`
	Memory memory `json:"memory"`
}

type forgetInput struct {
	ID string `json:"id" jsonschema:"The exact id of the memory."`
}

// receipt says what was forgotten, without its content.
type receipt struct {
	Forgotten   bool   `json:"forgotten"`
	ID          string `json:"id"`
	Type        string `json:"type"`
	ForgottenAt string `json:"forgottenAt"`
	Effect      string `json:"effect"`
}

type listInput struct {
	Type    string `json:"type,omitempty" jsonschema:"Only facts of this kind."`
	Invalid bool   `json:"includeEnded,omitempty" jsonschema:"Facts that hold no longer, too."`
	Limit   *int   `json:"limit,omitempty" jsonschema:"The most memories that are read for a page. Default: 50."`
	Cursor  string `json:"cursor,omitempty" jsonschema:"The nextCursor of the page before."`
}

type listOutput struct {
	Notice     string   `json:"notice"`
	Items      []memory `json:"items" jsonschema:"The newest first. A page may have fewer than the limit."`
	NextCursor string   `json:"nextCursor,omitempty" jsonschema:"Absent on the last page."`
}

func (h memories) add(s *sdk.Server) {
	add(h.handler, s, tool{
		name: "remember", title: "Remember a fact", hints: hints{repeatable: true},
		does: "Store a lasting fact about the user for all surfaces and all later conversations. Call it when the user " +
			"states something that stays true, or asks to remember it. The same fact again changes nothing and returns the " +
			"memory that is there.",
		limit: func(p map[string]*jsonschema.Schema) {
			length(p["content"], 1, maxContent)
			length(p["about"], 0, maxAbout)
			oneOf(p["type"], registry.Live().MemoryTypeNames())
		},
	}, h.remember)
	add(h.handler, s, tool{
		name: "update_memory", title: "Change a fact", hints: hints{destroys: true, repeatable: true},
		does: "Change a fact by its exact id: its words, its kind, whether it is pinned, from and until when it holds, or " +
			"that it has ended. A fact that the user wants gone is forgotten instead.",
		limit: func(p map[string]*jsonschema.Schema) {
			length(p["id"], 1, maxID)
			length(p["content"], 1, maxContent)
			oneOf(p["type"], registry.Live().MemoryTypeNames())
			oneOf(p["ended"], []string{string(longterm.EndedOver), string(longterm.EndedFalse)})
		},
	}, h.update)
	add(h.handler, s, tool{
		name: "forget", title: "Forget a fact", hints: hints{destroys: true, repeatable: true},
		does: "Delete one fact for good, by its exact id, and forget the messages that it was drawn from. It cannot be " +
			"undone: call it only after the user asked for it. Returns a receipt.",
		limit: func(p map[string]*jsonschema.Schema) { length(p["id"], 1, maxID) },
	}, h.forget)
	add(h.handler, s, tool{
		name: "list_memories", title: "List facts", hints: hints{reads: true},
		does: "The facts about the user with their ids, the newest first, page by page. To find facts about something, " +
			"search.",
		limit: func(p map[string]*jsonschema.Schema) {
			oneOf(p["type"], registry.Live().MemoryTypeNames())
			between(p["limit"], 1, maxListed)
		},
	}, h.list)
}

// rememberAttempts bounds how many forgotten memories of the same content are passed over.
const rememberAttempts = 10

// remember stores a fact unless a valid one says the same. Calls that meet store one: their idempotency key is that of
// the content. The key of a memory that is gone leads to the next key.
func (h memories) remember(ctx context.Context, c Caller, in rememberInput) (rememberOutput, error) {
	m, err := h.newMemory(in)
	if err != nil {
		return rememberOutput{}, err
	}
	known, found, err := h.known(ctx, c.User, m)
	if err != nil || found {
		return rememberOutput{notice, false, h.toMemory(known)}, err
	}
	for key, n := sum(string(m.Type), m.About, longterm.Normalize(m.Content)), 0; n < rememberAttempts; n++ {
		stored, replayed, err := h.Memories.Create(ctx, c.User, m, conversation.Idempotency{
			Scope: "mcp remember", Key: key, BodyHash: key,
		})
		if err != nil || !replayed {
			return rememberOutput{notice, true, h.toMemory(stored)}, err
		}
		current, err := h.Memories.Get(ctx, c.User, stored.ID)
		switch {
		case err == nil && h.isSame(current, m):
			return rememberOutput{notice, false, h.toMemory(current)}, nil
		case err != nil && !fault.Is(err, fault.NotFound):
			return rememberOutput{}, err
		}
		key = sum(key, stored.ID)
	}
	return rememberOutput{}, fault.New(fault.Conflict,
		"the same fact was remembered and forgotten many times today: say it in other words")
}

func (h memories) newMemory(in rememberInput) (longterm.Memory, error) {
	m := longterm.Memory{
		Type:    longterm.MemoryType(cmp.Or(in.Type, registry.Live().MemoryTypeNames()[0])),
		Content: in.Content, Pinned: in.Pinned, Source: longterm.Seeded, About: in.About,
		Tokens: h.Tokens.Count(in.Content),
	}
	err := cmp.Or(setMoment(&m.From, "from", &in.From), setMoment(&m.Until, "until", &in.Until))
	if err == nil && longterm.Normalize(in.Content) == "" {
		err = fault.InvalidField("content", "must be a fact in words")
	}
	return m, cmp.Or(err, m.CheckSpan())
}

// known returns a valid memory that says the same.
func (h memories) known(ctx context.Context, user conversation.UserID, m longterm.Memory,
) (known longterm.Memory, found bool, err error) {
	access, err := h.Facts.Access(ctx, user)
	if err != nil {
		return known, false, err
	}
	all, err := h.Facts.Memories(ctx, user, access.Generation, false)
	if err != nil {
		return known, false, err
	}
	for _, known := range all {
		if h.isSame(known, m) {
			return known, true, nil
		}
	}
	return known, false, nil
}

// isSame reports whether a stored memory is valid and says the same as a new one.
func (h memories) isSame(stored, m longterm.Memory) bool {
	return stored.Valid(longterm.InLastZone(h.Now())) && stored.Type == m.Type && stored.About == m.About &&
		longterm.Normalize(stored.Content) == longterm.Normalize(m.Content)
}

// sum returns the hash of some texts. It writes the length before each, so that no two lists have the same bytes.
func sum(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte{byte(len(part) >> 16), byte(len(part) >> 8), byte(len(part))})
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (h memories) update(ctx context.Context, c Caller, in updateInput) (updateOutput, error) {
	if in == (updateInput{ID: in.ID}) {
		return updateOutput{}, fault.New(fault.Invalid, "give content, type, pinned, from, until or ended")
	}
	stored, err := h.Memories.Update(ctx, c.User, in.ID, func(m *longterm.Memory) error { return h.apply(in, m) })
	if err != nil {
		return updateOutput{}, err
	}
	return updateOutput{notice, h.toMemory(stored)}, nil
}

// apply changes a memory as asked.
func (h memories) apply(in updateInput, m *longterm.Memory) error {
	now := conversation.Milliseconds(h.Now())
	if in.Content != nil {
		if longterm.Normalize(*in.Content) == "" {
			return fault.InvalidField("content", "must be a fact in words")
		}
		m.Content, m.Tokens, m.SaidAt = *in.Content, h.Tokens.Count(*in.Content), now
	}
	if in.Type != "" {
		m.Type = longterm.MemoryType(in.Type)
	}
	if in.Pinned != nil {
		m.Pinned = *in.Pinned
	}
	if err := cmp.Or(setMoment(&m.From, "from", in.From), setMoment(&m.Until, "until", in.Until)); err != nil {
		return err
	}
	if in.Ended != "" && m.HeldAt(now) {
		m.ValidUntil, m.EndedReason = now, longterm.EndedReason(in.Ended)
	}
	m.UpdatedAt = now
	return nil
}

// setMoment sets a moment to a text, if there is one. An empty one is none.
func setMoment(m *longterm.Moment, field string, text *string) (err error) {
	if text == nil {
		return nil
	}
	if *m, err = longterm.ParseMoment(*text); err != nil {
		return fault.InvalidField(field, err.Error())
	}
	return nil
}

// forget deletes a memory and forgets what it was drawn from. A repeat finds none.
func (h memories) forget(ctx context.Context, c Caller, in forgetInput) (receipt, error) {
	if err := h.Door.ChargeForgetting(ctx, c.User); err != nil {
		return receipt{}, err
	}
	m, err := h.Memories.Get(ctx, c.User, in.ID)
	if err != nil {
		return receipt{}, err
	}
	if err := h.Memories.Delete(ctx, c.User, in.ID); err != nil {
		return receipt{}, err
	}
	return receipt{
		Forgotten: true, ID: m.ID, Type: string(m.Type),
		ForgottenAt: conversation.FormatTime(conversation.Milliseconds(h.Now())),
		Effect: "No prompt, search, summary or list has it any more, nor the messages that it was drawn from, which stay " +
			"in the history, marked. It is not drawn again from what was said before.",
	}, nil
}

// list returns one page. The store's position is the id of a memory of this user, and is checked as one.
func (h memories) list(ctx context.Context, c Caller, in listInput) (listOutput, error) {
	all, next, err := h.Memories.List(ctx, c.User, conversation.Page{
		Limit: valueOr(in.Limit, defaultListed), After: conversation.Position(in.Cursor), Descending: true,
	})
	if err != nil {
		return listOutput{}, err
	}
	out := listOutput{Notice: notice, Items: []memory{}, NextCursor: string(next)}
	for _, m := range secret.Without(all, func(m longterm.Memory) string { return m.Content }) {
		shown := h.toMemory(m)
		if (in.Type == "" || in.Type == shown.Type) && (in.Invalid || shown.Valid) {
			out.Items = append(out.Items, shown)
		}
	}
	return out, nil
}
