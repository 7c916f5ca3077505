package choose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/untrusted"
)

// memoryNote says of a memory that was said in a conversation on which day, and of each that is no plain statement how
// it is known, from when it will hold and until when it does.
func (c *chooser) memoryNote(m longterm.Memory) string {
	var words []string
	isPlanned := m.Status == longterm.Planned || !m.From.IsZero() && m.From.IsAhead(c.Now.In(c.Zone))
	switch {
	case isPlanned:
		words = append(words, string(longterm.Planned))
	case m.Status == longterm.Reported:
		words = append(words, string(m.Status))
	}
	if isPlanned && !m.From.IsZero() {
		words = append(words, "from "+c.momentText(m.From))
	}
	if !m.Until.IsZero() {
		words = append(words, "until "+c.momentText(m.Until))
		if m.Until.IsOver(c.Now.In(c.Zone)) {
			words = append(words, "over")
		}
	}
	if !m.SaidAt.IsZero() {
		words = append(words, "said on "+calendar.Date(m.SaidAt, c.Zone))
	}
	return strings.Join(words, ", ")
}

// momentText writes a moment in the user's days.
func (c *chooser) momentText(m longterm.Moment) string {
	if day, err := time.Parse(time.DateOnly, m.Day); err == nil {
		return calendar.Date(day, time.UTC)
	}
	return calendar.Date(m.Time, c.Zone) + ", " + calendar.Clock(m.Time, c.Zone)
}

// todoNote says when an open todo is due or another was done, and whose it is where it is not the user's. A promise of
// an earlier day that has no day of its own tells when it was said: it may be of last year.
func (c *chooser) todoNote(t longterm.Todo) string {
	var words []string
	switch {
	case t.Status == longterm.TodoCompleted:
		words = append(words, "done on "+calendar.Date(t.CompletedAt, c.Zone))
	case t.Due.IsZero():
		if len(t.MessageIDs) > 0 && !calendar.IsSameDay(t.CreatedAt, c.Now, c.Zone) {
			words = append(words, "said on "+calendar.Date(t.CreatedAt, c.Zone))
		}
	case t.IsOverdue(c.Now.In(c.Zone)):
		words = append(words, "overdue since "+c.momentText(t.Due))
	case urgency(c, t) == 0:
		words = append(words, "due today")
	default:
		words = append(words, "due "+c.momentText(t.DueAfter(c.Now.In(c.Zone).AddDate(0, 0, -1))))
	}
	if t.Status == longterm.Pending && t.Every != "" {
		words = append(words, "every "+string(t.Every))
	}
	if t.By == longterm.ByAssistant {
		words = append(words, "you promised it")
	}
	return strings.Join(words, ", ")
}

// markFresh marks the candidates that came up today, after the session began.
func markFresh(c *chooser, candidates []*Candidate) []*Candidate {
	for _, e := range candidates {
		e.Fresh = c.StablePrefix && len(c.Own) > 0 && e.At.After(c.Session.StartedAt) &&
			calendar.IsSameDay(e.At, c.Now, c.Zone)
	}
	return candidates
}

// chooseFoundation chooses lasting facts: seeded ones, then the oldest (prompt-assembly-map, "Smallest 3
// Improvements", 1).
func chooseFoundation(c *chooser, slot *Slot) []*Candidate {
	memories := slices.DeleteFunc(slices.Clone(c.Snapshot.Memories), func(m longterm.Memory) bool {
		return m.Pinned && c.has(block.Safety) || c.isManner(m)
	})
	slices.SortFunc(memories, func(a, b longterm.Memory) int { // what is seeded before what is extracted
		return cmp.Or(cmp.Compare(b.Source, a.Source), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var candidates []*Candidate
	kept := 0
	for i, m := range memories {
		e := c.memoryCandidate(m)
		e.Position = i
		if candidates = append(candidates, e); slot.Items > 0 && kept == slot.Items {
			e.leave(reasonItems)
		} else if c.claimCandidate(e, factKey(e.Text), slot.Block); e.Left == "" {
			kept++
		}
	}
	return markFresh(c, candidates)
}

// chooseProfile chooses the user's profile (working-context-builder, finding F1). A user without a profile gets no
// block.
func chooseProfile(c *chooser, _ *Slot) []*Candidate {
	p, e := c.Snapshot.Profile, &Candidate{Kind: "profile", ID: "profile"}
	switch {
	case !c.HasLongTerm:
		return nil
	case p == nil:
		return []*Candidate{e.leave("the user has none")}
	}
	fields := addField(nil, "Name", p.Name)
	if c.IncludeEmail {
		fields = addField(fields, "Email", p.Email)
	}
	if !p.CreatedAt.IsZero() {
		fields = addField(fields, "Member since", calendar.Date(p.CreatedAt, c.Zone))
	}
	fields = addField(fields, "About", p.About)
	return fieldsCandidate(e, fields)
}

func addField(fields []Field, label, value string) []Field {
	if !untrusted.HasVisible(value) {
		return fields
	}
	return append(fields, Field{Label: label, Value: value})
}

func fieldsCandidate(e *Candidate, fields []Field) []*Candidate {
	if len(fields) == 0 {
		return nil
	}
	e.Fields = fields
	return []*Candidate{e}
}

// EngagementThreshold is how many days after a check-in a user still counts as engaged, so that a long weekend is no
// absence (working-context-builder, ENGAGEMENT_THRESHOLD_DAYS, finding F6).
const EngagementThreshold = 3

// Engagement is how regularly the user checks in (working-context-builder, EngagementContext).
type Engagement struct {
	// Status is new, engaged or returning.
	Status string
	// Days is how many whole days ago the last check-in was, nil without one.
	Days *int
	// LastCheckInAt is zero without one.
	LastCheckInAt time.Time
}

// EngagementOf derives a user's engagement from the latest check-in (working-context-builder, AC 6 to 8).
func EngagementOf(latest *longterm.CheckIn, now time.Time) Engagement {
	if latest == nil {
		return Engagement{Status: "new"}
	}
	days := max(int(now.Sub(latest.Timestamp)/(24*time.Hour)), 0)
	e := Engagement{Status: "returning", Days: &days, LastCheckInAt: latest.Timestamp}
	if days <= EngagementThreshold {
		e.Status = "engaged"
	}
	return e
}

// newUser is the specification's text for a user who has never checked in (working-context-builder,
// buildContextInjection). It is said only of who has no other conversation.
const newUser = "new user (first conversation)"

// chooseEngagement chooses the user's engagement. Of a user who has talked before without a check-in there is nothing
// to say: an app may have no check-ins, and "new" would contradict other blocks.
func chooseEngagement(c *chooser, slot *Slot) []*Candidate {
	if c.Snapshot.LatestCheckIn == nil && (len(c.Own) > 0 || len(c.Sessions) > 0) {
		return nil
	}
	return SpecifiedEngagement(c, slot)
}

// SpecifiedEngagement is chooseEngagement as the specification has it: a first conversation stays one while it goes on.
func SpecifiedEngagement(c *chooser, _ *Slot) []*Candidate {
	if !c.HasLongTerm {
		return nil
	}
	e := EngagementOf(c.Snapshot.LatestCheckIn, c.Now)
	if e.Days == nil && hasTalkedElsewhere(c) {
		return nil
	}
	if e.Days == nil {
		return []*Candidate{{Kind: "engagement", ID: "engagement", Fields: []Field{{Label: "Status", Value: newUser}}}}
	}
	return []*Candidate{{
		Kind: "engagement", ID: c.Snapshot.LatestCheckIn.ID, At: e.LastCheckInAt,
		Fields: []Field{
			{Label: "Status", Value: e.Status}, {Label: "Days since last check-in", Value: fmt.Sprint(*e.Days)},
		},
	}}
}

// hasTalkedElsewhere reports whether anything is known of another conversation of the user.
func hasTalkedElsewhere(c *chooser) bool {
	return len(c.Sessions) > 0 || len(c.Snapshot.Spines) > 0 ||
		slices.ContainsFunc(c.Timeline, func(m *conversation.Message) bool { return m.SessionID != c.Session.ID })
}

// chooseUserSummary chooses patterns, wins and struggles: those that the app has stored, and the remarks of the spines
// that may be used here, of all coaches.
func chooseUserSummary(c *chooser, _ *Slot) []*Candidate {
	var s longterm.UserSummary
	if app := c.Snapshot.UserSummary; app != nil {
		s = *app
	}
	var spines []longterm.Spine
	for _, spine := range c.Snapshot.Spines {
		if spine.WithheldIn(c.Context, c.Access.Preferences) == "" {
			spines = append(spines, spine)
		}
	}
	s = s.With(spines)
	fields := addField(nil, "Patterns", joined(s.Patterns))
	fields = addField(fields, "Past wins", joined(s.Wins))
	fields = addField(fields, "Challenges", joined(s.Struggles))
	return fieldsCandidate(&Candidate{Kind: "user_summary", ID: "user_summary", At: s.LastUpdated}, fields)
}

// joined joins the texts of a list that have visible text.
func joined(list []string) string {
	hidden := func(text string) bool { return !untrusted.HasVisible(text) }
	return strings.Join(slices.DeleteFunc(slices.Clone(list), hidden), "; ")
}

// chooseGoals chooses the active goals. The newest is the most valuable; they are written in the order in which they
// were set.
func chooseGoals(c *chooser, slot *Slot) []*Candidate {
	goals := slices.Clone(c.Snapshot.Goals)
	slices.SortFunc(goals, func(a, b longterm.Goal) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var candidates []*Candidate
	for i, g := range goals {
		e := &Candidate{Kind: "goal", ID: g.ID, At: g.CreatedAt, Text: g.Title, Note: string(g.GoalType), Position: -i}
		switch {
		case g.Status != longterm.GoalActive:
			continue
		case !slices.Contains([]longterm.GoalType{longterm.Habit, longterm.Target, longterm.Project}, g.GoalType):
			e.leave("of no known type")
		}
		candidates = append(candidates, e)
	}
	return markFresh(c, capItems(candidates, slot))
}

// chooseLoops chooses this coach's pending todos, each content once (prompt-assembly-map, dedupeOpenLoops): what is due
// today, then what is overdue, then the newest. What has been overdue for as long as the app says has lapsed.
func chooseLoops(c *chooser, slot *Slot) []*Candidate {
	return markFresh(c, todoCandidates(c, slot, longterm.Pending, func(t longterm.Todo) time.Time { return t.CreatedAt }))
}

// chooseWins chooses the todos completed in the last 48 hours, newest first.
func chooseWins(c *chooser, slot *Slot) []*Candidate {
	return todoCandidates(c, slot, longterm.TodoCompleted, func(t longterm.Todo) time.Time { return t.CompletedAt })
}

func todoCandidates(c *chooser, slot *Slot, status longterm.TodoStatus, at func(longterm.Todo) time.Time) []*Candidate {
	var all []longterm.Todo
	for _, t := range c.Snapshot.Todos {
		lapsed := status == longterm.TodoCompleted && c.Now.Sub(at(t)) > longterm.WinWindow ||
			!t.Due.IsZero() && t.HasLapsed(c.Now.In(c.Zone), registry.Live().LoopLapseDays)
		if t.Status == status && !lapsed {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b longterm.Todo) int {
		return cmp.Or(urgency(c, a)-urgency(c, b), at(b).Compare(at(a)), cmp.Compare(a.ID, b.ID))
	})
	var candidates []*Candidate
	for i, t := range all {
		e := &Candidate{
			Kind: "todo", ID: t.ID, At: at(t), CoachID: t.CoachID, Text: t.Content, Tokens: t.Tokens, Position: i,
			Note: c.todoNote(t),
		}
		if t.CoachID != c.CoachID {
			e.leave(reasonOtherCoach)
		}
		c.claimCandidate(e, dedupeKey{slot.Block, longterm.Normalize(t.Content)}, slot.Block)
		candidates = append(candidates, capChars(e, slot))
	}
	return capItems(candidates, slot)
}

// urgency is how soon a todo is to be done: today, before, or another time.
func urgency(c *chooser, t longterm.Todo) int {
	if t.Status != longterm.Pending || t.Due.IsZero() {
		return 2
	}
	today := c.Now.In(c.Zone)
	if t.IsOverdue(today) {
		return 1
	}
	if due := t.DueAfter(today.AddDate(0, 0, -1)); calendar.IsSameDay(due.Start(c.Zone), c.Now, c.Zone) {
		return 0
	}
	return 2
}

func chooseSeed(c *chooser, slot *Slot) []*Candidate {
	if c.Snapshot.Seed == nil || strings.TrimSpace(c.Snapshot.Seed.Content) == "" {
		return nil
	}
	return []*Candidate{capChars(&Candidate{Kind: "seed", ID: "seed", Text: c.Snapshot.Seed.Content}, slot)}
}

// chooseSpine chooses the running summary of everything with this coach. It is left out if one of the contexts that it
// is drawn from may not be used here. What ended since it was written is marked in it.
func chooseSpine(c *chooser, slot *Slot) []*Candidate {
	spine, ok := c.Snapshot.Spines[c.CoachID]
	if !ok || strings.TrimSpace(spine.Text) == "" {
		return nil
	}
	e := &Candidate{Kind: "spine", ID: c.CoachID, At: spine.UpdatedAt, Text: spine.Text, Tokens: spine.Tokens}
	until := spine.CoveredTo // what was said later is not in it
	if until.IsZero() {
		until = spine.UpdatedAt
	}
	if !until.IsZero() {
		e.Label = "As of " + calendar.Date(until, c.Zone)
	}
	if why := spine.WithheldIn(c.Context, c.Access.Preferences); why != "" {
		return []*Candidate{e.leave(why)}
	}
	capChars(e, slot)
	correctSentences(c, e, func(m longterm.Memory) bool { return m.Said().After(until) || !m.ValidUntil.After(until) })
	return []*Candidate{e}
}

// UnlessGreeting has a block unless the message is a greeting.
func UnlessGreeting(c *chooser) bool { return !query.IsGreeting(c.Message) }

// AboutUser has a block if the message is about the user.
func AboutUser(c *chooser) bool { return !query.IsGeneral(c.Message) }

// WithLongTerm keeps a block from claiming that there is nothing when nothing could be read.
func WithLongTerm(c *chooser) bool { return c.HasLongTerm }
