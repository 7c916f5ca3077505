package promptbench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
)

// writers is how many sessions are written at once.
const writers = 4

// day is a history whose newest 120,000 characters, 16 sessions of 30 messages, are of today.
func day() []int {
	sizes := make([]int, 16)
	for i := range sizes {
		sizes[i] = 30
	}
	return sizes
}

// The newest messages of every grown history: that many, in that many sessions.
const (
	recentMessages = 100
	recentSessions = 20
	maxPerSession  = 50
)

// grown is a history of that many messages: the newest hundred always in 20 sessions of 5, so that the days that a
// prompt tells are the same whatever lies before them in sessions of 50.
func grown(messages int) []int {
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

// scene is one user's history, and the request that a coach would make now.
type scene struct {
	user    conversation.UserID
	now     time.Time
	request prompt.Request
}

func (sc *scene) clock() time.Time { return sc.now }

// stage writes a user with sessions of those sizes, the newest first, and indexes them.
func (s *services) stage(ctx context.Context, user string, sizes []int, now time.Time) (*scene, error) {
	sc := &scene{user: conversation.UserID(user), now: now}
	w := writer{
		services: s, scene: sc, store: dynamo.New(bulk{s.meter}, s.table),
		indexer: recall.NewIndexer(scatter{}, s.vectors, "scatter"),
	}
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(writers)
	for i, size := range sizes {
		work.Go(func() error { return w.session(workCtx, i, size) })
	}
	if err := work.Wait(); err != nil {
		return nil, fmt.Errorf("write history: %w", err)
	}
	if err := w.remember(ctx); err != nil {
		return nil, fmt.Errorf("write long-term memory: %w", err)
	}
	return sc, w.ask(ctx)
}

// writer writes one scene.
type writer struct {
	*services
	*scene
	store   *dynamo.Store
	indexer *recall.Indexer
}

// session writes the session that began that many sessions ago: 20 minutes each while they are recent, two hours each
// before.
func (w writer) session(ctx context.Context, ago, size int) error {
	surfaces := conversation.Contexts()
	began := w.now.Add(-time.Duration(ago+1) * 20 * time.Minute)
	if ago >= recentSessions {
		began = w.now.Add(-24*time.Hour - time.Duration(ago)*2*time.Hour)
	}
	in := conversation.NewSession{ID: fmt.Sprintf("session-%d", ago), Context: surfaces[ago%len(surfaces)], CoachID: coach}
	if _, err := w.store.CreateSession(ctx, w.user, in, conversation.Idempotency{}); err != nil {
		return err
	}
	batch := make([]conversation.NewMessage, size)
	for i := range batch {
		text := prose(ago*maxPerSession + i)
		batch[i] = conversation.NewMessage{
			Role: [...]conversation.Role{conversation.User, conversation.Assistant}[i%2], Content: text,
			Tokens: w.tokens.Count(text), Timestamp: began.Add(time.Duration(i) * 20 * time.Second),
		}
	}
	stored, err := w.store.Append(ctx, w.user, conversation.Append{SessionID: in.ID, Messages: batch})
	if err != nil {
		return err
	}
	if err := w.indexer.IndexMessages(ctx, w.user, 0, stored.Messages); err != nil {
		return err
	}
	return w.summarize(ctx, stored.Session)
}

func (w writer) summarize(ctx context.Context, of conversation.Session) error {
	surface, err := conversation.SurfaceOf(of.Context)
	if err != nil {
		return err
	}
	text := "The user and the coach spoke about this: " + prose(of.LastSeq+7)
	return w.store.SaveSummary(ctx, w.user, of, summary.Summary{
		RecordType: surface.Writes, SubjectID: of.ID, SessionID: of.ID, Context: of.Context, CoachID: of.CoachID, Text: text,
		Tokens: w.tokens.Count(text), Kind: conversation.ByModel, CoveredThrough: of.LastSeq, OccurredAt: of.LastMessageAt,
		UpdatedAt: w.now,
	})
}

const coach = "coach-strength"

func (w writer) remember(ctx context.Context) error {
	if _, err := w.store.PutCoach(ctx, w.user, longterm.Coach{ID: coach, Name: "Mia", Persona: "You are Mia, a calm strength coach."}); err != nil {
		return err
	}
	if _, err := w.store.Profiles().Put(ctx, w.user, longterm.Profile{Name: "Ann", About: "Trains at home, three evenings a week."}); err != nil {
		return err
	}
	if _, err := w.store.Seeds().Put(ctx, w.user, longterm.Seed{Content: "Ann came back to training after a long break."}); err != nil {
		return err
	}
	for i := range remembered {
		if err := w.note(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// remembered is how many goals, memories and todos a user has.
const remembered = 12

func (w writer) note(ctx context.Context, i int) error {
	_, _, err := w.store.Goals().Create(ctx, w.user, longterm.Goal{
		Title: fmt.Sprintf("Goal number %d", i), Status: longterm.GoalActive, GoalType: longterm.Habit,
	}, conversation.Idempotency{})
	if err != nil {
		return err
	}
	fact := fmt.Sprintf("Fact %d: likes the %s before the %s.", i, parts[i], parts[i+1])
	_, _, err = w.store.Memories().Create(ctx, w.user, longterm.Memory{
		Type: longterm.ProfileMemory, Content: fact, Confidence: 0.9, Rated: true, Pinned: i == 0, Tokens: w.tokens.Count(fact),
	}, conversation.Idempotency{})
	if err != nil {
		return err
	}
	todo := fmt.Sprintf("Try the %s with a lighter %s.", parts[i+2], parts[i+3])
	_, _, err = w.store.Todos().Create(ctx, w.user, longterm.Todo{
		CoachID: coach, Content: todo, Status: longterm.Pending, Tokens: w.tokens.Count(todo),
	}, conversation.Idempotency{})
	return err
}

// ask stores the current message, as the coach function does before it asks for the prompt.
func (w writer) ask(ctx context.Context) error {
	const message = "What should I do in tomorrow's session, now that the hip thrusts are swapped?"
	stored, err := w.store.Append(ctx, w.user, conversation.Append{SessionID: "session-0", Messages: []conversation.NewMessage{
		{Role: conversation.User, Content: message, Tokens: w.tokens.Count(message), Timestamp: w.now},
	}})
	if err != nil {
		return err
	}
	w.request = prompt.Request{
		Context: stored.Session.Context, SessionID: stored.Session.ID, CoachID: coach, Message: message,
		MessageID: stored.Messages[0].ID, SkipSave: true,
	}
	return nil
}

var parts = strings.Fields("squat bridge tempo row carry hinge band kettlebell breath stride ladder plank mobility rest " +
	"protein walk stretch balance grip tempo shoulder hip knee ankle evening morning Tuesday weekend light heavy easy slow")

// prose writes sentences of about 250 characters together, as no other number has them.
func prose(n int) string {
	random := rand.New(rand.NewPCG(uint64(n), 0))
	var b strings.Builder
	fmt.Fprintf(&b, "%s set %d", title(parts[random.IntN(len(parts))]), n)
	for i := 0; b.Len() < 240; i++ {
		word := parts[random.IntN(len(parts))]
		if i%9 == 8 {
			b.WriteString(".")
			word = title(word)
		}
		b.WriteString(" " + word)
	}
	return b.String() + [...]string{".", "?", "!"}[n%3]
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
