package summary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// tiers is the local model's service with a flex tier that refuses a fifth of the requests, and answers another fifth
// after a minute, when nobody waits any more. It counts the answers that somebody got, by form and tier.
type tiers struct {
	handler http.Handler

	mu       sync.Mutex
	random   *rand.Rand
	answered map[string]int
	spines   []string // the material of the spines that were answered
	missed   int
}

// flexRefusal is the service's body of 429 while flex has no room.
const flexRefusal = `{"error":{"message":"Resource unavailable.","code":"resource_unavailable"}}`

func (s *tiers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var asked struct {
		Tier  string `json:"service_tier"`
		Text  struct{ Format struct{ Name string } }
		Input json.RawMessage
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	s.mu.Lock()
	luck, takes := s.random.Float64(), time.Second+time.Duration(s.random.Int64N(int64(time.Second)))
	s.mu.Unlock()
	answer := httptest.NewRecorder()
	switch isFlex := asked.Tier == "flex"; {
	case isFlex && luck < 0.2:
		answer.WriteHeader(http.StatusTooManyRequests)
		_, _ = answer.WriteString(flexRefusal)
		s.miss()
		return answer.Result(), nil
	case isFlex && luck < 0.4:
		takes = time.Minute
		s.miss()
	case isFlex:
		takes *= 5
	}
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	s.handler.ServeHTTP(answer, again)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered[strings.TrimSpace(asked.Text.Format.Name+" "+asked.Tier)]++
	if asked.Text.Format.Name == "spine" {
		s.spines = append(s.spines, string(asked.Input))
	}
	return answer.Result(), nil
}

func (s *tiers) miss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed++
}

// month is a user who comes back each day, with the workers that serve the memory.
type month struct {
	*fake
	service *summary.Service
	sweeper *sweep.Service
}

// newMonth has the services ask a model's client.
func newMonth(t *testing.T, f *fake, model *openai.Client) month {
	t.Helper()
	s := f.service()
	s.Model, s.EveryMessages, s.Defers = model, 20, model.IsPatient()
	spines := summary.NewSpines(summary.SpineDeps{
		Store: f.stores.Spines, Model: model, Quota: &f.quota, Tokens: f, Now: time.Now, Random: s.Random,
		Report: s.Report, Written: func(context.Context, int) {}, Idle: s.Idle, Background: true,
	})
	for _, shard := range sweep.Spines.Shards() {
		f.shards[shard] = true
	}
	return month{f, s, sweep.New(sweep.Deps{
		Store: dueStore{f.stores.Due, f},
		Works: []sweep.Work{
			{Queue: sweep.Sessions, Visitor: s, FirstWait: s.Idle}, {Queue: sweep.Spines, Visitor: spines, FirstWait: s.Idle},
		},
		Invoke: func(context.Context, sweep.Task) error { return errors.New("nobody takes over") },
		Now:    time.Now, Random: s.Random, NewOwner: func() string { return "o" }, Report: s.Report,
	})}
}

// pass lets time pass. The sweep comes at each whole minute, which is played where something is due.
func (m month) pass(t *testing.T, end time.Time) {
	t.Helper()
	for {
		next := end
		for _, d := range m.due() {
			if d.DueAt.Before(next) {
				next = d.DueAt
			}
		}
		if until(next.Truncate(time.Minute).Add(time.Minute)); !time.Now().Before(end) {
			return
		}
		if _, err := m.sweeper.Sweep(t.Context(), sweep.Task{}); err != nil {
			t.Error(err)
		}
	}
}

// visit plays a session of four messages, which is completed or left without a word. It returns when its summary is
// due.
func (m month) visit(t *testing.T, id string, isCompleted bool) (due time.Time) {
	t.Helper()
	for i := range 4 {
		consume(t, m.service, m.say(id, fmt.Sprintf("I ran %d km in %s.", i+1, id)))
		time.Sleep(time.Minute)
	}
	if !isCompleted {
		return m.session(id).LastMessageAt.Add(m.service.Idle)
	}
	due = time.Now()
	consume(t, m.service, m.complete(id))
	return due
}

// monthDays is small by default, because each day takes a second. A month is -days=30.
var monthDays = flag.Int("days", 5, "how many days TestAMonthOnTiersThatRefuse plays")

// TestAMonthOnTiersThatRefuse plays a user's days of three sessions, two of them completed, on a flex tier that refuses
// and is slow. Each session has one summary of the model, in time. Each enters the spine once, with those of its day,
// and nothing is left.
func TestAMonthOnTiersThatRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		days := *monthDays
		service := &tiers{handler: offlinemodel.Handler(), random: rand.New(rand.NewPCG(1, 2)), answered: map[string]int{}}
		m := newMonth(t, newFake(t), openai.New(config.OpenAI{
			BaseURL: "https://api.openai.com/v1", APIKey: "k", ChatModel: "gpt-6-luna", BackgroundTier: config.TierAuto,
		}, openai.WithTransport(service)))
		first := time.Now().Truncate(24*time.Hour).AddDate(0, 0, 1)
		due, ids := map[string]time.Time{}, []string{}
		for day := range days {
			for i, hour := range []int{8, 13, 20} {
				m.pass(t, first.AddDate(0, 0, day).Add(time.Duration(hour)*time.Hour))
				id := fmt.Sprintf("place-%d-%d", day, i)
				due[id], ids = m.visit(t, id, i < 2), append(ids, id)
			}
		}
		m.pass(t, first.AddDate(0, 0, days+1))

		m.check(t, service, ids, due)
		if summaries := service.answered["session_summary"] + service.answered["session_summary flex"]; service.missed == 0 ||
			summaries != len(ids) || len(service.spines) != days {
			t.Errorf("%d sessions of %d days have %d summaries and %d spines; flex has missed %d calls", len(ids), days,
				summaries, len(service.spines), service.missed)
		}
		if left := m.due(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// check checks the summaries of sessions that are due at these times.
func (m month) check(t *testing.T, service *tiers, ids []string, due map[string]time.Time) {
	t.Helper()
	usable, byModel, told := map[string]time.Time{}, map[string]int{}, map[string]int{}
	for _, sum := range m.saved {
		if usable[sum.SessionID].IsZero() {
			usable[sum.SessionID] = sum.UpdatedAt
		}
		if sum.Kind == conversation.ByModel {
			byModel[sum.SessionID]++
		}
	}
	for _, material := range service.spines {
		for _, part := range strings.Split(material, "Session summary:")[1:] {
			told[place.FindString(part)]++
		}
	}
	for _, id := range ids {
		s, bound := m.session(id), 90*time.Second
		if s.Status == conversation.Completed {
			bound = 5 * time.Second
		}
		if late := usable[id].Sub(due[id]); usable[id].IsZero() || late > bound {
			t.Errorf("%s: the summary is usable after %v", id, late)
		}
		if byModel[id] != 1 || told[id] != 1 || !summary.IsDone(s) || s.Summary.CoveredThrough != s.LastSeq {
			t.Errorf("%s: %d summaries of the model, told %d times, done %v", id, byModel[id], told[id], summary.IsDone(s))
		}
	}
}

// place is the id of a session, which is also what its user tells of.
var place = regexp.MustCompile(`place-\d+-\d+`)
