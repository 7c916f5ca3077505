package dynamo_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// view is what a client can see of a user.
type view struct {
	Sessions map[string]sessionView
	// Records are goals, todos, memories, check-ins, coaches and single records, by kind and name.
	Records map[string]string
}

type sessionView struct {
	Context, Title, Summary, Attribute string
	Status                             conversation.Status
	Count, LastSeq, Covered            int
	Messages                           []string // "seq role content"
}

func newView() view { return view{map[string]sessionView{}, map[string]string{}} }

func (v view) clone() view { return view{maps.Clone(v.Sessions), maps.Clone(v.Records)} }

func differ(want, got view) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// with changes a session's view.
func (v view) with(id string, change func(*sessionView)) {
	s := v.Sessions[id]
	s.Messages = slices.Clone(s.Messages)
	change(&s)
	v.Sessions[id] = s
}

// say adds a message.
func (s *sessionView) say(role conversation.Role, content string) {
	s.LastSeq++
	s.Count++
	s.Messages = append(s.Messages, fmt.Sprintf("%d %s %s", s.LastSeq, role, content))
}

// look reads everything, as a process that has just started, and compares what two reads tell of the same.
func (w *world) look() view {
	got := newView()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failures []error
	each := func(read func() error) {
		wg.Go(func() {
			if err := read(); err != nil && !fault.Is(err, fault.NotFound) {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, err)
			}
		})
	}
	record := func(name, id, value string) {
		mu.Lock()
		defer mu.Unlock()
		if _, twice := got.Records[name]; twice {
			failures = append(failures, fmt.Errorf("%s is there twice", name))
		}
		got.Records[name] = value
		w.note(name, id)
	}
	each(func() error { return w.lookAtSessions(got) })
	w.lookAtSingles(each, record)
	live := make([][]string, len(shelves()))
	for i, s := range shelves() {
		each(func() (err error) {
			live[i], err = s.look(w, record)
			return err
		})
	}
	var snap longterm.Snapshot
	each(func() (err error) {
		snap, err = w.plain.PromptSource.LongTerm(w.t.Context(), w.user)
		return err
	})
	wg.Wait()
	for _, err := range failures {
		w.rt.Fatalf("look: %v", err)
	}
	w.compareLive(snap, live, got)
	return got
}

func (w *world) lookAtSessions(got view) error {
	ctx, page := w.t.Context(), conversation.Page{Limit: 200}
	sessions, _, err := w.plain.Sessions.Sessions(ctx, w.user, conversation.SessionFilter{}, page)
	if err != nil {
		return err
	}
	all := 0
	for _, s := range sessions {
		messages, _, err := w.plain.Messages.Messages(ctx, w.user, s.ID, page)
		if err != nil {
			return err
		}
		v := sessionView{Context: s.Context, Title: s.Title, Status: s.Status, Count: s.MessageCount, LastSeq: s.LastSeq}
		v.Attribute, _ = s.Attributes["k"].(string)
		if s.Summary != nil {
			v.Summary, v.Covered = s.Summary.Text, s.Summary.CoveredThrough
		}
		for _, m := range messages {
			v.Messages = append(v.Messages, fmt.Sprintf("%d %s %s", m.Seq, m.Role, m.Content))
			w.note("message/"+m.Content, m.ID)
		}
		if _, twice := got.Sessions[s.ID]; twice {
			return fmt.Errorf("session %s is listed twice", s.ID)
		}
		got.Sessions[s.ID] = v
		all += len(messages)
	}
	line, _, err := w.plain.Messages.Timeline(ctx, w.user, conversation.Range{}, page)
	if err == nil && len(line) != all {
		return fmt.Errorf("the timeline has %d messages, the sessions have %d", len(line), all)
	}
	return err
}

func (w *world) lookAtSingles(each func(func() error), record func(name, id, value string)) {
	ctx := w.t.Context()
	single := func(name string, get func() (string, error)) {
		each(func() error {
			value, err := get()
			if err == nil && value != "" {
				record(name, "", value)
			}
			return err
		})
	}
	single("profile", func() (string, error) { p, err := w.plain.Profiles.Get(ctx, w.user); return p.Name, err })
	single("seed", func() (string, error) { p, err := w.plain.Seeds.Get(ctx, w.user); return p.Content, err })
	single("preferences", func() (string, error) {
		p, err := w.plain.Preferences.Get(ctx, w.user)
		if p.Timezone == "UTC" {
			return "", err
		}
		return p.Timezone, err
	})
	each(func() error {
		coaches, _, err := w.plain.Coaches.Coaches(ctx, w.user, conversation.Page{Limit: 200})
		for _, c := range coaches {
			record("coach/"+c.ID, c.ID, c.Name)
		}
		return err
	})
}

// compareLive holds that what a prompt reads is what the lists tell to be live.
func (w *world) compareLive(snap longterm.Snapshot, live [][]string, got view) {
	var told, latest []string
	for _, g := range snap.Goals {
		told = append(told, "goal/"+g.Title)
	}
	for _, t := range snap.Todos {
		told = append(told, "todo/"+t.Content)
	}
	for _, m := range snap.Memories {
		told = append(told, "memory/"+m.Content)
	}
	for _, c := range snap.Coaches {
		told = append(told, "coach/"+c.ID)
	}
	if snap.Profile != nil {
		told = append(told, "profile")
	}
	if snap.Seed != nil {
		told = append(told, "seed")
	}
	if snap.LatestCheckIn != nil {
		latest = append(latest, "check-in/"+snap.LatestCheckIn.Note)
	}
	var listed []string
	for name := range got.Records {
		if name == "profile" || name == "seed" || len(name) > 6 && name[:6] == "coach/" {
			listed = append(listed, name)
		}
	}
	for _, l := range live[:len(live)-1] {
		listed = append(listed, l...)
	}
	slices.Sort(told)
	slices.Sort(listed)
	if !slices.Equal(told, listed) {
		w.rt.Fatalf("a prompt reads %v, the lists hold %v", told, listed)
	}
	// The latest check-in has no follower when it is deleted.
	checkIns, orphaned := live[len(live)-1], w.orphaned && latest == nil
	if !orphaned && !slices.Equal(latest, checkIns[:min(1, len(checkIns))]) {
		w.rt.Fatalf("a prompt reads %v, the check-ins are %v", latest, checkIns)
	}
}
