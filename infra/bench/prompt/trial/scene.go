package trial

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/token"
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

// grown is a history of that many messages: the newest hundred always in 20 sessions of 5, so that the days that a
// prompt tells are the same whatever lies before them in sessions of 50.
func grown(messages int) []int {
	var sizes []int
	for left := messages; left > 0; {
		size := 5
		if len(sizes) >= 20 {
			size = 50
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
	// vectors are the ids of messages all over the history, which the index answers with.
	vectors []string
}

// stage writes a user with sessions of those sizes, the newest first.
func stage(ctx context.Context, store *dynamo.Store, tokens *token.Counter, user string, sizes []int, now time.Time) (*scene, error) {
	s := &scene{user: conversation.UserID(user), now: now}
	ids := make([][]string, len(sizes))
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(writers)
	for i := range sizes {
		work.Go(func() (err error) {
			ids[i], err = s.session(workCtx, store, tokens, i, sizes[i])
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for i := range 100 {
		ofSession := ids[i*len(sizes)/100]
		s.vectors = append(s.vectors, ofSession[i%len(ofSession)])
	}
	if err := s.remember(ctx, store); err != nil {
		return nil, err
	}
	return s, s.ask(ctx, store, tokens)
}

// session writes the session that began that many sessions ago: 20 minutes each while they are recent, two hours each
// before.
func (s *scene) session(ctx context.Context, store *dynamo.Store, tokens *token.Counter, ago, size int) ([]string, error) {
	surfaces := conversation.Contexts()
	began := s.now.Add(-time.Duration(ago+1) * 20 * time.Minute)
	if ago >= 20 {
		began = s.now.Add(-24*time.Hour - time.Duration(ago)*2*time.Hour)
	}
	in := conversation.NewSession{ID: fmt.Sprintf("session-%d", ago), Context: surfaces[ago%len(surfaces)], CoachID: coach}
	if _, err := store.CreateSession(ctx, s.user, in, conversation.Idempotency{}); err != nil {
		return nil, err
	}
	batch := make([]conversation.NewMessage, size)
	for i := range batch {
		text := prose(ago*50 + i)
		batch[i] = conversation.NewMessage{
			Role: [...]conversation.Role{conversation.User, conversation.Assistant}[i%2], Content: text,
			Tokens: tokens.Count(text), Timestamp: began.Add(time.Duration(i) * 20 * time.Second),
		}
	}
	stored, err := store.Append(ctx, s.user, conversation.Append{SessionID: in.ID, Messages: batch})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range stored.Messages {
		ids = append(ids, recall.MessageVectorIDs(m)...)
	}
	return ids, s.summarize(ctx, store, tokens, stored.Session)
}

func (s *scene) summarize(ctx context.Context, store *dynamo.Store, tokens *token.Counter, of conversation.Session) error {
	surface, err := conversation.SurfaceOf(of.Context)
	if err != nil {
		return err
	}
	text := "The user and the coach spoke about this: " + prose(of.LastSeq+7)
	return store.SaveSummary(ctx, s.user, of, summary.Summary{
		RecordType: surface.Writes, SubjectID: of.ID, SessionID: of.ID, Context: of.Context, CoachID: of.CoachID, Text: text,
		Tokens: tokens.Count(text), Kind: conversation.ByModel, CoveredThrough: of.LastSeq, OccurredAt: of.LastMessageAt,
		UpdatedAt: s.now,
	})
}

const coach = "coach-strength"

func (s *scene) remember(ctx context.Context, store *dynamo.Store) error {
	if _, err := store.PutCoach(ctx, s.user, longterm.Coach{ID: coach, Name: "Mia", Persona: "You are Mia, a calm strength coach."}); err != nil {
		return err
	}
	if _, err := store.Profiles().Put(ctx, s.user, longterm.Profile{Name: "Ann", About: "Trains at home, three evenings a week."}); err != nil {
		return err
	}
	for i := range 12 {
		_, _, err := store.Goals().Create(ctx, s.user, longterm.Goal{
			Title: fmt.Sprintf("Goal number %d", i), Status: longterm.GoalActive, GoalType: longterm.Habit,
		}, conversation.Idempotency{})
		if err != nil {
			return err
		}
	}
	return nil
}

// ask stores the current message, as the coach function does before it asks for the prompt.
func (s *scene) ask(ctx context.Context, store *dynamo.Store, tokens *token.Counter) error {
	const message = "What should I do in tomorrow's session, now that the hip thrusts are swapped?"
	stored, err := store.Append(ctx, s.user, conversation.Append{SessionID: "session-0", Messages: []conversation.NewMessage{
		{Role: conversation.User, Content: message, Tokens: tokens.Count(message), Timestamp: s.now},
	}})
	if err != nil {
		return err
	}
	s.request = prompt.Request{
		Context: stored.Session.Context, SessionID: stored.Session.ID, CoachID: coach, Message: message,
		MessageID: stored.Messages[0].ID, Unkept: true,
	}
	return nil
}

var parts = strings.Fields("squat bridge tempo row carry hinge band kettlebell breath stride ladder plank mobility rest " +
	"protein walk stretch balance grip tempo shoulder hip knee ankle evening morning Tuesday weekend light heavy easy slow")

// prose writes a text of about 250 characters that no other number has.
func prose(n int) string {
	var words []string
	for length := 0; length < 240; {
		word := parts[(n*31+len(words)*len(words)*7+length)%len(parts)]
		if len(words)%9 == 8 {
			word += "."
		}
		words = append(words, word)
		length += len(word) + 1
	}
	return fmt.Sprintf("Set %d: %s.", n, strings.Join(words, " "))
}
