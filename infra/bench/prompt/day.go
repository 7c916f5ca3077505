package main

import (
	"context"
	_ "embed" // day.txt
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

//go:embed day.txt
var dayText string

// day is a user's day of a chat with the coach, on the production stores, and the days before it.
type day struct {
	historyWriter
	prompts *prompt.Service
	texts   map[string][]string
}

// coachSession is the session of the chat.
const coachSession = "chat"

// line returns a text of a section of day.txt; there is no last one.
func (d *day) line(section string, n int) string { return d.texts[section][n%len(d.texts[section])] }

// parseDay returns the texts of each section of day.txt.
func parseDay() map[string][]string {
	texts, section := map[string][]string{}, ""
	for line := range strings.Lines(dayText) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "# "); ok {
			section, _, _ = strings.Cut(name, ":")
			continue
		}
		texts[section] = append(texts[section], line)
	}
	return texts
}

// dayBegins is the first turn's time.
var dayBegins = time.Date(2026, 3, 10, 7, 30, 0, 0, time.UTC)

// startDay writes what there is before the day's first turn.
func startDay(ctx context.Context, s *services) (*day, error) {
	h := &history{user: "day-of-a-chat", now: dayBegins.AddDate(0, -2, 0)}
	d := &day{
		historyWriter: historyWriter{
			services: s, history: h, db: s.db(s.client, h),
			indexer: indexing.NewIndexer(vector.Held{
				Index: s.vectors, Model: vector.Model{Embedder: s.embedder, Version: "offline"},
			}),
		},
		texts: parseDay(),
	}
	d.prompts = s.prompter(s.client, s.vectors, h)
	if err := d.writeUser(ctx); err != nil {
		return nil, fmt.Errorf("write the user: %w", err)
	}
	for i := range earlierSessions {
		if err := d.writeEarlier(ctx, i); err != nil {
			return nil, fmt.Errorf("write an earlier session: %w", err)
		}
	}
	d.now = dayBegins
	return d, d.open(ctx, coachSession, "coach_conversation")
}

// earlierSessions is how many sessions the user had in the days before, earlierTurns how many turns each has.
const (
	earlierSessions = 14
	earlierTurns    = 5
	knownMemories   = 10
)

func (d *day) writeUser(ctx context.Context) error {
	err := d.writePerson(ctx, "You are Mia, a calm strength coach. You answer in plain words, give numbers where you "+
		"can, and never push through pain.", "Nurse, 34, trains at home, three times a week.",
		"Ann came back to training after a broken ankle and wants to stay free of pain.")
	if err != nil {
		return err
	}
	for i := range knownMemories {
		if err := d.learn(ctx, i, i == 3); err != nil {
			return err
		}
	}
	for _, title := range d.texts["goals"] {
		d.now = d.now.Add(time.Hour)
		if err := d.setGoal(ctx, title); err != nil {
			return err
		}
	}
	for i := range 2 {
		if err := d.openLoop(ctx, d.line("loops", i)); err != nil {
			return err
		}
	}
	d.now = dayBegins.Add(-26 * time.Hour)
	_, _, err = dynamo.NewCheckInStore(d.db).Create(ctx, d.user, longterm.CheckIn{
		Timestamp: d.now, Note: "Slept six hours, the knee is a bit stiff.",
	}, conversation.Idempotency{})
	if err != nil {
		return err
	}
	return d.spine(ctx, "first weeks")
}

// learn stores a memory and indexes it.
func (d *day) learn(ctx context.Context, n int, pinned bool) error {
	d.now = d.now.Add(time.Second)
	m, err := d.remember(ctx, d.line("memories", n), pinned)
	if err != nil {
		return err
	}
	return d.indexer.IndexHits(ctx, d.user, 0, []recall.Hit{{Memory: &m}})
}

func (d *day) spine(ctx context.Context, latest string) error {
	store := dynamo.NewPromptSource(d.db)
	snapshot, err := store.LongTerm(ctx, d.user)
	if err != nil {
		return err
	}
	spine := snapshot.Spines[coach]
	spine.CoachID, spine.UpdatedAt, spine.CoveredTo = coach, d.now, d.now
	spine.Text = "Up to the " + latest + ": " + strings.Join(d.texts["summaries"][4:8], " ")
	spine.Tokens = d.tokens.Count(spine.Text)
	spine.Patterns = []string{"trains best before lunch", "skips sessions after two night shifts", "up to the " + latest}
	spine.Wins, spine.Struggles = []string{"first full pull-up"}, []string{"sleep after night shifts"}
	spine.Contexts = conversation.Contexts()
	return dynamo.NewSpineStore(d.db).SaveSpine(ctx, d.user, 0, spine)
}

// writeEarlier writes a session of an earlier day, with its summary.
func (d *day) writeEarlier(ctx context.Context, n int) error {
	appContexts := []string{"coach_conversation", "workout_log", "coach_conversation", "program_designer"}
	id, in := fmt.Sprint("earlier-", n), appContexts[n%len(appContexts)]
	d.now = dayBegins.Add(-time.Duration(earlierSessions-n) * 13 * time.Hour)
	if err := d.open(ctx, id, in); err != nil {
		return err
	}
	var said []conversation.NewMessage
	for i := range earlierTurns {
		d.now = d.now.Add(2 * time.Minute)
		said = append(said, d.message(conversation.RoleUser, d.line("earlier", earlierTurns*n+i), d.now),
			d.message(conversation.RoleAssistant, d.answerText(11*n+i), d.now))
	}
	if _, err := d.say(ctx, id, said...); err != nil {
		return err
	}
	return d.writeSummary(ctx, id, in, n)
}

// answerText is an answer of some sentences.
func (d *day) answerText(n int) string {
	sentences := make([]string, 3+n%3)
	for i := range sentences {
		sentences[i] = d.line("answers", 5*n+7*i)
	}
	return strings.Join(sentences, " ")
}

// writeSummary stores a summary of a session of a context, and indexes it.
func (d *day) writeSummary(ctx context.Context, id, in string, line int) error {
	session, _, err := dynamo.NewPromptSource(d.db).Open(ctx, d.user, in, id)
	if err != nil {
		return err
	}
	s, err := d.summarize(ctx, session, d.line("summaries", line))
	if err != nil {
		return err
	}
	return d.indexer.IndexSummary(ctx, d.user, s)
}

// pauses are the times before the turns that follow the one before by more than some minutes.
var pauses = map[int]time.Duration{8: 4 * time.Hour, 16: 5 * time.Hour, 24: 3*time.Hour + 20*time.Minute}

// ask plays what comes before a turn, and stores the user's message.
func (d *day) ask(ctx context.Context, turn int) error {
	if turn > 0 {
		d.now = d.now.Add(time.Minute + time.Duration(turn*37%100)*time.Second)
	}
	d.now = d.now.Add(pauses[turn])
	if err := d.between(ctx, turn); err != nil {
		return err
	}
	stored, err := d.say(ctx, coachSession, d.message(conversation.RoleUser, d.line("says", turn), d.now))
	if err == nil {
		d.request = request(stored)
	}
	return err
}

// answer stores the coach's answer to a turn.
func (d *day) answer(ctx context.Context, turn int) error {
	d.now = d.now.Add(9 * time.Second)
	_, err := d.say(ctx, coachSession, d.message(conversation.RoleAssistant, d.answerText(turn), d.now))
	return err
}

// between plays what comes before a turn: the user visits another screen, which summarizes the chat; the visit's own
// summary comes a turn later; memories are extracted; the spine is written anew in a pause.
func (d *day) between(ctx context.Context, turn int) error {
	const chatContext, design = "coach_conversation", "program_designer"
	switch turn {
	case 4:
		return errors.Join(d.visit(ctx, "designer", design, 0), d.writeSummary(ctx, coachSession, chatContext, 2))
	case 6, 19:
		return d.writeSummary(ctx, "designer", design, 0)
	case 10, 22:
		return errors.Join(d.openLoop(ctx, d.line("loops", 2+turn/20)), d.learn(ctx, knownMemories+turn/20, false))
	case 14:
		return errors.Join(d.visit(ctx, "workout", "workout_log", 4),
			d.writeSummary(ctx, coachSession, chatContext, 3))
	case 15:
		return d.writeSummary(ctx, "workout", "workout_log", 1)
	case 18:
		return d.visit(ctx, "designer", design, 2)
	case 24:
		return d.spine(ctx, "run at noon")
	case 27:
		return d.writeSummary(ctx, coachSession, chatContext, 4)
	}
	return nil
}

// visit says some words on another screen.
func (d *day) visit(ctx context.Context, id, in string, from int) error {
	if _, _, err := dynamo.NewPromptSource(d.db).Open(ctx, d.user, in, id); err != nil {
		if err := d.open(ctx, id, in); err != nil {
			return err
		}
	}
	var said []conversation.NewMessage
	for i := range 4 {
		d.now = d.now.Add(30 * time.Second)
		said = append(said, d.message(speakers[i%2], d.line("elsewhere", from+i), d.now))
	}
	_, err := d.say(ctx, id, said...)
	return err
}
