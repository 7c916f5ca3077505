package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
)

// writers is how many sessions are written at once.
const writers = 4

// The newest messages of every history of a given length: that many, in that many sessions.
const (
	recentMessages = 100
	recentSessions = 20
	maxPerSession  = 50
)

// sessionSizes returns the sizes of a history's sessions, the newest first. The newest hundred messages are always in
// 20 sessions of 5, so that a prompt has the same days whatever the length. The messages before them are in
// sessions of 50.
func sessionSizes(messages int) []int {
	var sizes []int
	for left := messages; left > 0; {
		size := recentMessages / recentSessions
		if len(sizes) >= recentSessions {
			size = maxPerSession
		}
		sizes = append(sizes, min(size, left))
		left -= size
	}
	return sizes
}

// history is one user's stored history, and the request that the coach function would make now.
type history struct {
	user    conversation.UserID
	now     time.Time
	request prompt.Request
}

func (h *history) clock() time.Time { return h.now }

// build builds a recipe's prompt. A prompt that lacks a source is an error.
func (h *history) build(ctx context.Context, p *prompt.Service, recipe string) (prompt.Prompt, error) {
	r := h.request
	r.Recipe = recipe
	built, err := p.Build(ctx, h.user, r)
	if err == nil && len(built.Manifest.Degraded) > 0 {
		err = fmt.Errorf("the prompt lacks %v", built.Manifest.Degraded)
	}
	return built, err
}

// writeHistory writes and indexes a user's sessions of those sizes, the newest first, and the long-term memory.
func (s *services) writeHistory(ctx context.Context, user string, sizes []int, now time.Time) (*history, error) {
	h := &history{user: conversation.UserID(user), now: now}
	w := historyWriter{
		services: s, history: h, db: dynamo.New(s.client, s.Table, adopt.WithLegacy()),
		indexer: indexing.NewIndexer(vector.Held{
			Index: s.vectors, Model: vector.Model{Embedder: randomEmbedder{}, Version: "random"},
		}),
	}
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(writers)
	for i, size := range sizes {
		work.Go(func() error { return w.writeSession(workCtx, i, size) })
	}
	if err := work.Wait(); err != nil {
		return nil, fmt.Errorf("write history: %w", err)
	}
	if err := w.writeLongTerm(ctx); err != nil {
		return nil, fmt.Errorf("write long-term memory: %w", err)
	}
	return h, w.writeCurrentMessage(ctx)
}

type historyWriter struct {
	*services
	*history
	db      *dynamo.DB
	indexer *indexing.Indexer
}

// writeSession writes the session that began that many sessions ago. Recent sessions begin 20 minutes apart, older ones
// two hours, before the days that a prompt has.
func (w historyWriter) writeSession(ctx context.Context, ago, size int) error {
	appContexts := conversation.Contexts()
	began := w.now.Add(-time.Duration(ago+1) * 20 * time.Minute)
	if ago >= recentSessions {
		began = w.now.Add(-8*24*time.Hour - time.Duration(ago)*2*time.Hour)
	}
	id := fmt.Sprintf("session-%d", ago)
	if err := w.open(ctx, id, appContexts[ago%len(appContexts)]); err != nil {
		return err
	}
	said := make([]conversation.NewMessage, size)
	for i := range said {
		said[i] = w.message(speakers[i%2], sampleText(ago*maxPerSession+i), began.Add(time.Duration(i)*20*time.Second))
	}
	stored, err := w.say(ctx, id, said...)
	if err != nil {
		return err
	}
	text := "The user and the coach spoke about this: " + sampleText(stored.Session.LastSeq+7)
	_, err = w.summarize(ctx, stored.Session, text)
	return err
}

// speakers take turns.
var speakers = [...]conversation.Role{conversation.RoleUser, conversation.RoleAssistant}

func (w historyWriter) open(ctx context.Context, id, in string) error {
	_, err := dynamo.NewSessionStore(w.db).CreateSession(ctx, w.user,
		conversation.NewSession{ID: id, Context: in, CoachID: coach}, conversation.Idempotency{})
	return err
}

func (w historyWriter) message(role conversation.Role, text string, at time.Time) conversation.NewMessage {
	return conversation.NewMessage{Role: role, Content: text, Tokens: w.tokens.Count(text), Timestamp: at}
}

// say appends messages and indexes them.
func (w historyWriter) say(
	ctx context.Context, session string, messages ...conversation.NewMessage,
) (conversation.Appended, error) {
	in := conversation.Append{SessionID: session, Messages: messages}
	stored, err := dynamo.NewMessageStore(w.db).Append(ctx, w.user, in)
	if err != nil {
		return stored, err
	}
	return stored, w.indexer.IndexMessages(ctx, w.user, 0, stored.Messages)
}

// summarize stores a session's summary up to its last message.
func (w historyWriter) summarize(
	ctx context.Context, of conversation.Session, text string,
) (summary.Summary, error) {
	appContext, err := conversation.AppContextOf(of.Context)
	if err != nil {
		return summary.Summary{}, err
	}
	s := summary.Summary{
		RecordType: appContext.Summary.Type, SubjectID: of.ID, SessionID: of.ID, Context: of.Context, CoachID: of.CoachID,
		Text: text, Tokens: w.tokens.Count(text), Kind: conversation.ByModel, CoveredThrough: of.LastSeq,
		OccurredAt: of.LastMessageAt, UpdatedAt: w.now,
	}
	return s, dynamo.NewSummaryStore(w.db).SaveSummary(ctx, w.user, of, s)
}

// request is the request of a prompt that the coach function would make for a stored message.
func request(stored conversation.Appended) prompt.Request {
	said := stored.Messages[0]
	return prompt.Request{
		Context: stored.Session.Context, SessionID: stored.Session.ID, CoachID: coach, Message: said.Content,
		MessageID: said.ID, SkipSave: true,
	}
}

const coach = "coach-strength"

func (w historyWriter) writeLongTerm(ctx context.Context) error {
	err := w.writePerson(ctx, "You are Mia, a calm strength coach.", "Trains at home, three evenings a week.",
		"Ann came back to training after a long break.")
	if err != nil {
		return err
	}
	for i := range longTermRecords {
		if err := w.setGoal(ctx, fmt.Sprintf("Goal number %d", i)); err != nil {
			return err
		}
		if _, err := w.remember(ctx, fmt.Sprintf("Fact %d: likes %s", i, sampleText(i)[:40]), i == 0); err != nil {
			return err
		}
		if err := w.openLoop(ctx, fmt.Sprintf("Try %s", sampleText(-i)[:40])); err != nil {
			return err
		}
	}
	return nil
}

func (w historyWriter) writePerson(ctx context.Context, persona, about, seed string) error {
	mia := longterm.Coach{ID: coach, Name: "Mia", Persona: persona}
	if _, err := dynamo.NewCoachStore(w.db).PutCoach(ctx, w.user, mia); err != nil {
		return err
	}
	ann := longterm.Profile{Name: "Ann", About: about}
	if _, err := dynamo.NewProfileStore(w.db).Put(ctx, w.user, ann); err != nil {
		return err
	}
	_, err := dynamo.NewSeedStore(w.db).Put(ctx, w.user, longterm.Seed{Content: seed})
	return err
}

// longTermRecords is how many goals, memories and todos a user has.
const longTermRecords = 12

func (w historyWriter) setGoal(ctx context.Context, title string) error {
	_, _, err := dynamo.NewGoalStore(w.db).Create(ctx, w.user, longterm.Goal{
		Title: title, Status: longterm.GoalActive, GoalType: longterm.Habit,
	}, conversation.Idempotency{})
	return err
}

func (w historyWriter) remember(ctx context.Context, text string, pinned bool) (longterm.Memory, error) {
	m, _, err := dynamo.NewMemoryStore(w.db).Create(ctx, w.user, longterm.Memory{
		Type: longterm.ProfileMemory, Content: text, Confidence: 0.9, Rated: true, Pinned: pinned,
		Tokens: w.tokens.Count(text),
	}, conversation.Idempotency{})
	return m, err
}

func (w historyWriter) openLoop(ctx context.Context, text string) error {
	_, _, err := dynamo.NewTodoStore(w.db).Create(ctx, w.user, longterm.Todo{
		CoachID: coach, Content: text, Status: longterm.Pending, Tokens: w.tokens.Count(text),
	}, conversation.Idempotency{})
	return err
}

// writeCurrentMessage stores the current message, as the coach function does before it requests the prompt.
func (w historyWriter) writeCurrentMessage(ctx context.Context) error {
	const message = "What should I do in tomorrow's session, now that the hip thrusts are swapped?"
	stored, err := dynamo.NewMessageStore(w.db).Append(ctx, w.user, conversation.Append{
		SessionID: "session-0", Messages: []conversation.NewMessage{w.message(conversation.RoleUser, message, w.now)},
	})
	if err == nil {
		w.request = request(stored)
	}
	return err
}

// sampleText returns sentences of about 250 characters together, different ones for each number.
func sampleText(n int) string { return fmt.Sprintf("Set %d. ", n) + rig.NewTexts(uint64(n)).Text(240) }
