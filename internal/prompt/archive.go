package prompt

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt/pack"
)

// Record is a stored prompt as the API returns it. The rendered parts are present only if storing text is switched on,
// and the manifest only if one prompt is read.
type Record struct {
	ID        string `json:"promptId" doc:"The id of the prompt."`
	SessionID string `json:"sessionId" doc:"The id of the session."`
	Recipe    string `json:"recipe" doc:"The name of the recipe."`
	CreatedAt string `json:"createdAt" doc:"When the record was created."`
	ExpiresAt string `json:"expiresAt" doc:"When the record is deleted."`
	// SHA256 is the hex hash of the rendered prompt. It is stored even if the text is not.
	SHA256   string    `json:"sha256" doc:"The hash of the rendered prompt, in hexadecimal."`
	Tokens   Tokens    `json:"tokens"`
	Manifest *Manifest `json:"manifest,omitempty"`
	System   *string   `json:"system,omitempty" doc:"The system text."`
	Messages []Message `json:"messages,omitempty" doc:"The messages, oldest first."`
	Text     string    `json:"text,omitempty" doc:"The one payload of context-format."`
	// Tools are the tools of the recipe.
	Tools []llm.Tool `json:"tools,omitempty" doc:"The tools that the model may call."`
}

// StoredPrompt is a prompt as the table stores it: ids, decisions and hashes, and the rendered text only if storing
// text is switched on.
type StoredPrompt struct {
	// ID is "prompt_<epoch milliseconds of CreatedAt>_<random>", so that a store can tell its key from it.
	ID        string
	SessionID string `stored:"sessionId,omitempty"`
	// SessionCreatedAt distinguishes the session from others of the same id.
	SessionCreatedAt time.Time `stored:"sessionCreatedAtMs,millis"`
	Recipe           string    `stored:"recipe"`
	CreatedAt        time.Time `stored:"createdAt"`
	// ExpiresAt is when the store deletes it, by default after 7 days.
	ExpiresAt  time.Time `stored:"expiresAt,seconds"`
	Generation int64     `stored:"generation"`
	// Manifest is the compressed JSON of the answer of GET /v1/prompts/{promptId} without the text, at most
	// MaxManifestBytes.
	Manifest []byte `stored:"manifest,omitempty"`
	// Text is the compressed JSON of the rendered system, messages and text; empty if text is not stored.
	Text []byte `stored:"text,omitempty"`
}

// Archive stores prompts.
type Archive interface {
	// SavePrompt stores a prompt, on condition that the user's generation is still the prompt's.
	SavePrompt(ctx context.Context, user conversation.UserID, k StoredPrompt) error
	// StoredPrompt returns a prompt by its id; NotFound if it is deleted, expired or another user's.
	StoredPrompt(ctx context.Context, user conversation.UserID, id string) (StoredPrompt, error)
	// StoredPrompts lists the prompts of one session, or of all if sessionID is empty, newest first.
	StoredPrompts(ctx context.Context, user conversation.UserID, sessionID string, page conversation.Page) ([]StoredPrompt,
		conversation.Position, error)
}

// MaxManifestBytes limits the compressed manifest of a stored prompt.
const MaxManifestBytes = 8 << 10

// SaveOptions says how a prompt is stored.
type SaveOptions struct {
	// Text stores the rendered prompt with its manifest.
	Text bool
	// Now is the creation time if the prompt's id has none. TTL is how long the prompt is stored.
	Now time.Time
	TTL time.Duration
	// Generation is the user's when the prompt was built.
	Generation int64
	// SessionCreatedAt is when the prompt's session was created.
	SessionCreatedAt time.Time
}

// storedText is the part of a prompt that is stored only if storing text is switched on.
type storedText struct {
	System   string    `json:"system"`
	Messages []Message `json:"messages"`
	Text     string    `json:"text,omitempty"`
	// Tools are the names of the tools, where they are not those of the recipe.
	Tools []string `json:"tools,omitempty"`
}

// storedManifest is the part of a prompt that is always stored.
type storedManifest struct {
	SHA256   string   `json:"sha256"`
	Tokens   Tokens   `json:"tokens"`
	Manifest Manifest `json:"manifest"`
}

// NewStoredPrompt encodes a prompt for the store. A manifest that would exceed MaxManifestBytes loses the parts of its
// scores and then items, dropped ones first, and says so in its warnings.
func NewStoredPrompt(p Prompt, k SaveOptions) (StoredPrompt, error) {
	whole := storedText{System: p.System, Messages: p.Messages, Text: p.Text}
	if recipe, ok := findRecipe(p.Recipe); ok && len(p.Tools) != len(recipe.Tools) {
		for _, tool := range p.Tools {
			whole.Tools = append(whole.Tools, tool.Name)
		}
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return StoredPrompt{}, fmt.Errorf("encode prompt: %w", err)
	}
	sum := sha256.Sum256(text)
	manifest, err := encodeManifest(storedManifest{
		SHA256: hex.EncodeToString(sum[:]), Tokens: p.Tokens,
		Manifest: p.Manifest,
	})
	if err != nil {
		return StoredPrompt{}, err
	}
	built := createdAt(p.ID, k.Now)
	stored := StoredPrompt{
		ID: p.ID, SessionID: p.SessionID, Recipe: p.Recipe, CreatedAt: built, ExpiresAt: built.Add(k.TTL),
		Generation: k.Generation, SessionCreatedAt: k.SessionCreatedAt, Manifest: manifest,
	}
	if k.Text {
		if stored.Text, err = deflate(text); err != nil {
			return StoredPrompt{}, err
		}
	}
	return stored, nil
}

// promptID returns an id that contains the time, so that a store can derive its key from it.
func promptID(at time.Time, random string) string {
	return "prompt_" + strconv.FormatInt(at.UnixMilli(), 10) + "_" + random
}

// createdAt reads the time in a prompt's id, or returns another one if it has none.
func createdAt(id string, otherwise time.Time) time.Time {
	rest, found := strings.CutPrefix(id, "prompt_")
	digits, _, _ := strings.Cut(rest, "_")
	ms, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil {
		return conversation.Milliseconds(otherwise)
	}
	return time.UnixMilli(ms).UTC()
}

// encodeManifest compresses a manifest. Until it fits, it loses the parts of the scores and then more and more items of
// each block.
func encodeManifest(a storedManifest) ([]byte, error) {
	whole := a.Manifest
	for i, lines := range []int{math.MaxInt, math.MaxInt, 40, 10, 0} {
		if i == 1 {
			whole = withoutFeatures(whole)
		}
		a.Manifest = limitItems(whole, lines)
		plain, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("encode manifest: %w", err)
		}
		packed, err := deflate(plain)
		if err != nil {
			return nil, err
		}
		if len(packed) <= MaxManifestBytes {
			return packed, nil
		}
	}
	return nil, fault.New(fault.Internal, "the manifest is too large to store")
}

// withoutFeatures returns the manifest without the parts of its scores.
func withoutFeatures(m Manifest) Manifest {
	m.Blocks = slices.Clone(m.Blocks)
	cut := false
	for i := range m.Blocks {
		items := slices.Clone(m.Blocks[i].Items)
		for j := range items {
			cut = cut || items[j].Features != nil
			items[j].Features = nil
		}
		m.Blocks[i].Items = items
	}
	if cut {
		m.Warnings = append(slices.Clip(m.Warnings), fmt.Sprintf(
			"the parts of the scores were left out so that this manifest has at most %d bytes", MaxManifestBytes))
	}
	return m
}

// limitItems returns the manifest with at most that many items of each block, included ones before dropped ones.
func limitItems(m Manifest, lines int) Manifest {
	blocks := make([]Block, len(m.Blocks))
	cut := 0
	for i, b := range m.Blocks {
		whole := b.Items
		b.Items = firstItems(whole, lines)
		cut += len(whole) - len(b.Items)
		blocks[i] = b
	}
	m.Blocks = blocks
	if cut > 0 {
		m.Warnings = append(slices.Clip(m.Warnings),
			fmt.Sprintf("%d lines of this manifest were left out so that it has at most %d bytes", cut, MaxManifestBytes))
	}
	return m
}

func firstItems(items []Item, lines int) []Item {
	if len(items) <= lines {
		return items
	}
	isDropped := func(i Item) bool { return i.Decision == pack.Dropped }
	isIn := func(i Item) bool { return !isDropped(i) }
	in, dropped := slices.DeleteFunc(slices.Clone(items), isDropped), slices.DeleteFunc(slices.Clone(items), isIn)
	return append(in, dropped...)[:lines]
}

// Get returns one stored prompt with its manifest, and its rendered text if that is stored. A prompt that is deleted,
// expired or another user's is NotFound.
func (s *Service) Get(ctx context.Context, user conversation.UserID, promptID string) (Record, error) {
	stored, err := s.Archive.StoredPrompt(ctx, user, promptID)
	if err != nil {
		return Record{}, err
	}
	return decodeFullRecord(stored)
}

// List returns one page of the stored prompts of a session, or of all sessions if sessionID is empty, newest first,
// without manifests and texts.
func (s *Service) List(ctx context.Context, user conversation.UserID, sessionID string,
	page conversation.Page,
) ([]Record, conversation.Position, error) {
	return s.list(ctx, user, sessionID, page, func(k StoredPrompt) (Record, error) {
		r, err := decodeRecord(k)
		r.Manifest = nil
		return r, err
	})
}

// ListFull returns one page of all stored prompts, newest first, each as Get returns it.
func (s *Service) ListFull(ctx context.Context, user conversation.UserID, page conversation.Page) ([]Record,
	conversation.Position, error,
) {
	return s.list(ctx, user, "", page, decodeFullRecord)
}

func (s *Service) list(ctx context.Context, user conversation.UserID, sessionID string, page conversation.Page,
	decodeRecord func(StoredPrompt) (Record, error),
) ([]Record, conversation.Position, error) {
	stored, next, err := s.Archive.StoredPrompts(ctx, user, sessionID, page)
	if err != nil {
		return nil, "", err
	}
	records := make([]Record, len(stored))
	for i, k := range stored {
		if records[i], err = decodeRecord(k); err != nil {
			return nil, "", err
		}
	}
	return records, next, nil
}

func decodeFullRecord(k StoredPrompt) (Record, error) {
	r, err := decodeRecord(k)
	if err != nil || len(k.Text) == 0 {
		return r, err
	}
	var text storedText
	if err := inflate(k.Text, &text); err != nil {
		return Record{}, err
	}
	r.System, r.Messages, r.Text = &text.System, text.Messages, text.Text
	if recipe, ok := findRecipe(r.Recipe); ok {
		names := recipe.Tools
		if len(text.Tools) > 0 {
			names = text.Tools
		}
		r.Tools = toolsOf(names)
	}
	return r, nil
}

func decodeRecord(k StoredPrompt) (Record, error) {
	var a storedManifest
	if err := inflate(k.Manifest, &a); err != nil {
		return Record{}, err
	}
	return Record{
		ID: k.ID, SessionID: k.SessionID, Recipe: k.Recipe, CreatedAt: conversation.FormatTime(k.CreatedAt),
		ExpiresAt: conversation.FormatTime(k.ExpiresAt), SHA256: a.SHA256, Tokens: a.Tokens, Manifest: &a.Manifest,
	}, nil
}

// deflaters are compressors that are used again, because each has tables of 800 KB.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant of the package
	}
	return w
}}

func deflate(plain []byte) ([]byte, error) {
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, err := w.Write(plain)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}

// maxInflatedBytes limits the size of a decompressed record.
const maxInflatedBytes = 8 << 20

func inflate(packed []byte, into any) error {
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxInflatedBytes))
	if err != nil {
		return fmt.Errorf("decompress stored prompt: %w", err)
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return fmt.Errorf("decode stored prompt: %w", err)
	}
	return nil
}
