package prompt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// chooseProfile tells who the user is (working-context-builder, finding F1). A user without a profile gets no block.
func chooseProfile(v *view, _ *Slot) []*entry {
	p := v.snapshot.Profile
	if p == nil {
		return nil
	}
	var fields []field
	fields = addField(fields, "Name", p.Name)
	if v.recipe.TellEmail {
		fields = addField(fields, "Email", p.Email)
	}
	if !p.CreatedAt.IsZero() {
		fields = addField(fields, "Member since", date(p.CreatedAt, v.place))
	}
	fields = addField(fields, "About", p.About)
	return fieldsEntry(&entry{kind: "profile", id: "profile"}, fields)
}

func addField(fields []field, label, value string) []field {
	if !says(value) {
		return fields
	}
	return append(fields, field{label, value})
}

func fieldsEntry(e *entry, fields []field) []*entry {
	if len(fields) == 0 {
		return nil
	}
	e.fields = fields
	return []*entry{e}
}

// date writes a local date in words.
func date(t time.Time, place *time.Location) string { return t.In(place).Format("2 January 2006") }

// EngagementThreshold is how long after a check-in a user still counts as engaged: a long weekend without one is no
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

// EngagementOf works out a user's engagement from the latest check-in (AC 6 to 8).
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

// newUser is the specification's word for a user who has never checked in (working-context-builder,
// buildContextInjection).
const newUser = "new user (first conversation)"

// chooseEngagement tells how regularly the user checks in. Who has talked before without ever checking in is not called
// new: the prompt would say the contrary a few lines on.
func chooseEngagement(v *view, _ *Slot) []*entry {
	if len(v.own) > 0 || len(v.sessions) > 0 {
		return v.engagement("no check-ins yet")
	}
	return v.engagement(newUser)
}

// chooseSpecifiedEngagement is chooseEngagement in the specification's own words.
func chooseSpecifiedEngagement(v *view, _ *Slot) []*entry { return v.engagement(newUser) }

func (v *view) engagement(without string) []*entry {
	if !v.knows {
		return nil
	}
	e := EngagementOf(v.snapshot.LatestCheckIn, v.now)
	if e.Days == nil {
		return []*entry{{kind: "engagement", id: "engagement", fields: []field{{"Status", without}}}}
	}
	return []*entry{{
		kind: "engagement", id: v.snapshot.LatestCheckIn.ID, at: e.LastCheckInAt,
		fields: []field{{"Status", e.Status}, {"Days since last check-in", fmt.Sprint(*e.Days)}},
	}}
}

// chooseUserSummary tells patterns, wins and struggles, as far as there are any.
func chooseUserSummary(v *view, _ *Slot) []*entry {
	s := v.snapshot.UserSummary
	if s == nil {
		return nil
	}
	var fields []field
	fields = addField(fields, "Patterns", joined(s.Patterns))
	fields = addField(fields, "Past wins", joined(s.Wins))
	fields = addField(fields, "Challenges", joined(s.Struggles))
	return fieldsEntry(&entry{kind: "user_summary", id: "user_summary", at: s.LastUpdated}, fields)
}

// joined writes the texts of a list that say anything behind each other.
func joined(list []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(list), func(text string) bool { return !says(text) }), "; ")
}

// chooseGoals tells the active goals in the order in which they were set, the newest the last to go.
func chooseGoals(v *view, s *Slot) []*entry {
	goals := slices.Clone(v.snapshot.Goals)
	slices.SortFunc(goals, func(a, b longterm.Goal) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var entries []*entry
	for i, g := range goals {
		e := &entry{kind: "goal", id: g.ID, at: g.CreatedAt, text: g.Title, note: string(g.GoalType), place: -i}
		switch {
		case g.Status != longterm.GoalActive:
			continue
		case !slices.Contains([]longterm.GoalType{longterm.Habit, longterm.Target, longterm.Project}, g.GoalType):
			e.out("of no known type")
		}
		entries = append(entries, e)
	}
	return capItems(entries, s)
}

// chooseLoops tells this coach's pending todos, newest first and each content once
// (prompt-assembly-map, dedupeOpenLoops).
func chooseLoops(v *view, s *Slot) []*entry {
	return v.todos(s, longterm.Pending, func(t longterm.Todo) time.Time { return t.CreatedAt })
}

// chooseWins tells what was completed in the last 48 hours, newest first.
func chooseWins(v *view, s *Slot) []*entry {
	return v.todos(s, longterm.TodoCompleted, func(t longterm.Todo) time.Time { return t.CompletedAt })
}

func (v *view) todos(s *Slot, status longterm.TodoStatus, at func(longterm.Todo) time.Time) []*entry {
	var mine []longterm.Todo
	for _, t := range v.snapshot.Todos {
		lapsed := status == longterm.TodoCompleted && v.now.Sub(at(t)) > longterm.WinWindow
		if t.Status == status && t.CoachID == v.CoachID && !lapsed {
			mine = append(mine, t)
		}
	}
	slices.SortFunc(mine, func(a, b longterm.Todo) int {
		return cmp.Or(at(b).Compare(at(a)), cmp.Compare(a.ID, b.ID))
	})
	var entries []*entry
	for i, t := range mine {
		e := &entry{kind: "todo", id: t.ID, at: at(t), text: t.Content, tokens: t.Tokens, place: i}
		entries = append(entries, v.once(e, telling{s.Block, longterm.Normalize(t.Content)}, s.Block))
	}
	return capItems(entries, s)
}

func chooseSeed(v *view, s *Slot) []*entry {
	if v.snapshot.Seed == nil || strings.TrimSpace(v.snapshot.Seed.Content) == "" {
		return nil
	}
	return []*entry{capChars(&entry{kind: "seed", id: "seed", text: v.snapshot.Seed.Content}, s.Cap)}
}

// chooseSpine tells the running summary of everything with this coach. It spans contexts, so it is not told where the
// user keeps any of them apart.
func chooseSpine(v *view, s *Slot) []*entry {
	spine, ok := v.snapshot.Spines[v.CoachID]
	if !ok || strings.TrimSpace(spine.Text) == "" {
		return nil
	}
	e := &entry{kind: "spine", id: v.CoachID, at: spine.UpdatedAt, text: spine.Text}
	if keepsApart(v.prefs) {
		return []*entry{e.out("the user keeps contexts apart")}
	}
	return []*entry{capChars(e, s.Cap)}
}

// chooseNow tells the local date and time to the minute, the time since the last message, and the thread's status.
func chooseNow(v *view, _ *Slot) []*entry {
	fields := []field{{"Local time", v.now.In(v.place).Format("Monday, 2 January 2006, 15:04") + " (" + v.place.String() + ")"}}
	last := "none before this one"
	if at := v.lastMessage(); !at.IsZero() {
		last = lasting(v.now.Sub(at)) + " ago"
	}
	fields = append(fields, field{"Last message", last}, field{"Thread", v.thread.status(v.now)})
	return []*entry{{kind: "now", id: "now", at: v.now, fields: fields}}
}

// lastMessage is when the newest message before the current one was said, in any session that may be told of.
func (v *view) lastMessage() time.Time {
	last := v.lastOwn()
	if n := len(v.timeline); n > 0 && v.timeline[n-1].Timestamp.After(last) {
		last = v.timeline[n-1].Timestamp
	}
	return last
}

// maxAttributes and maxAttribute bound what is told of a session's attributes.
const (
	maxAttributes = 12
	maxAttribute  = 120
)

// chooseState tells where the session itself stands. Times are the now block's alone
// (prompt-assembly-map, "Duplications / Contradictions").
func chooseState(v *view, _ *Slot) []*entry {
	fields := []field{{"Screen", label(v.Context)}}
	fields = addField(fields, "Title", excerpt(v.session.Title, maxAttribute))
	fields = addField(fields, "Mode", v.session.Mode)
	if v.session.Status != "" && v.session.Status != conversation.Active {
		fields = addField(fields, "Status", string(v.session.Status))
	}
	for _, name := range slices.Sorted(maps.Keys(v.session.Attributes)) {
		if value, ok := scalar(v.session.Attributes[name]); ok && len(fields) < maxAttributes {
			fields = addField(fields, excerpt(name, 40), excerpt(value, maxAttribute))
		}
	}
	return []*entry{{kind: "session_state", id: v.SessionID, sessionID: v.SessionID, context: v.Context, fields: fields}}
}

// scalar writes a value that is no object, and lists of such.
func scalar(value any) (string, bool) {
	switch x := value.(type) {
	case nil, map[string]any:
		return "", false
	case []any:
		var parts []string
		for _, item := range x {
			if text, ok := scalar(item); ok {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", "), len(parts) > 0
	default:
		return fmt.Sprint(x), true
	}
}
