package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestTheTierOfEachFamily(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model, base string
		tier        config.Tier
		want        any
	}{
		{"gpt-6-astra", ownService, config.TierAuto, "flex"},
		{"gpt-6-luna", ownService, config.TierAuto, "flex"},
		{"gpt-5.6-terra", ownService, config.TierAuto, "flex"},
		{"gpt-5.4-mini", ownService, config.TierAuto, "flex"},
		{"gpt-5.1", ownService, config.TierAuto, "flex"},
		{"gpt-5-nano", ownService, config.TierAuto, "flex"},
		{"gpt-5-codex", ownService, config.TierAuto, nil},
		{"gpt-5.2-chat-latest", ownService, config.TierAuto, nil},
		{"o1", ownService, config.TierAuto, nil},
		{"gpt-4o-mini", ownService, config.TierAuto, nil},
		{"gpt-7", ownService, config.TierAuto, nil},
		{"gpt-6-luna", otherService, config.TierAuto, nil},
		{"gpt-6-luna", ownService, config.TierDefault, nil},
		{"gpt-6-luna", otherService, config.TierFlex, "flex"},
		{"gpt-5-mini", otherService, config.TierFlex, "flex"}, // in chat completions
		{"gpt-6-luna", ownService, "", nil},                   // a configuration that was not parsed
	} {
		t.Run(tt.model+" "+tt.base+" "+string(tt.tier), func(t *testing.T) {
			t.Parallel()
			client, sent := recorded(t, config.OpenAI{BaseURL: tt.base, ChatModel: tt.model, BackgroundTier: tt.tier})
			for _, patient := range []bool{false, true} {
				want := tt.want
				if !patient {
					want = nil
				}
				check.Got(client.Complete(t.Context(), llm.Request{Patient: patient}))(t)
				if got := sent.body["service_tier"]; got != want {
					t.Errorf("patient %v: the tier %v was asked for, want %v", patient, got, want)
				}
			}
			check.Equal(t, (tt.want != nil), client.IsPatient(), "IsPatient")
		})
	}
}

// flexTier is how the flex tier is: whether it has no room for a request, and how much later it answers.
type flexTier struct {
	refuses bool
	later   time.Duration
}

// flexService is the offline model as a service whose flex tier a test sets, without a network between. It notes the
// tiers that were asked for.
type flexService struct {
	flex    flexTier
	handler http.Handler
	gate    chan struct{} // if set, requests wait until it is closed

	mu    sync.Mutex
	tiers []string
}

func newFlexService(tier config.Tier) (*openai.Client, *flexService) {
	s := &flexService{handler: offlinemodel.Handler()}
	cfg := config.OpenAI{BaseURL: ownService, APIKey: "k", ChatModel: "gpt-6-luna", BackgroundTier: tier}
	return openai.New(cfg, openai.WithTransport(s)), s
}

// RoundTrip implements http.RoundTripper.
func (s *flexService) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var sent struct {
		Tier string `json:"service_tier"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.tiers = append(s.tiers, sent.Tier)
	s.mu.Unlock()
	if s.gate != nil {
		<-s.gate
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := httptest.NewRecorder()
	switch isFlex := sent.Tier == "flex"; {
	case isFlex && s.flex.refuses:
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.WriteString(`{"error":{"message":"Resource unavailable. Please try again later.",` +
			`"type":"resource_unavailable","param":null,"code":"resource_unavailable"}}`)
		return w.Result(), nil
	case isFlex:
		if err := delay.Sleep(r.Context(), s.flex.later); err != nil {
			return nil, err
		}
	}
	s.handler.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

// ask asks patiently and returns how long it took.
func (s *flexService) ask(ctx context.Context, t *testing.T, client *openai.Client) (took time.Duration) {
	t.Helper()
	began := time.Now()
	_, err := client.Complete(ctx, llm.Request{Patient: true, Messages: []llm.Message{{Role: "user", Content: "hello"}}})
	if err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// TestFlexFallsBackOnce has the flex tier answer, refuse, and answer too late. The default tier is asked once, in time.
// While flex fails again and again it is not asked.
func TestFlexFallsBackOnce(t *testing.T) {
	t.Parallel()
	const ok, back, skipped = "flex", "flex then default", "default"
	for name, tt := range map[string]struct {
		flex flexTier
		want []string // of a call each half minute
		took time.Duration
	}{
		"it answers":  {flexTier{later: 14 * time.Second}, []string{ok, ok, ok}, 14 * time.Second},
		"it refuses":  {flexTier{refuses: true}, []string{back, back, skipped, back, skipped, skipped, skipped}, 0},
		"it is slow":  {flexTier{later: time.Hour}, []string{back, back, skipped, back}, llm.Patience},
		"it is quick": {flexTier{}, []string{ok, ok}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, s := newFlexService(config.TierAuto)
				s.flex = tt.flex
				var got []string
				for range tt.want {
					s.tiers = nil
					took := s.ask(t.Context(), t, client)
					kind := map[string]string{`["flex"]`: ok, `["flex",""]`: back, `[""]`: skipped}[marshal(s.tiers)]
					if got = append(got, kind); kind != skipped && took != tt.took {
						t.Errorf("%s took %v, want %v", kind, took, tt.took)
					}
					time.Sleep(30*time.Second + time.Millisecond)
				}
				check.Same(t, tt.want, got, "the result")
				s.flex = flexTier{}
				time.Sleep(16 * time.Minute)
				s.tiers = nil
				if s.ask(t.Context(), t, client); marshal(s.tiers) != `["flex"]` {
					t.Errorf("a tier that answers again is asked as %v", s.tiers)
				}
			})
		})
	}
}

func marshal(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// TestFlexLeavesTimeForTheDefaultTier has a call whose deadline is too near for both tiers.
func TestFlexLeavesTimeForTheDefaultTier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, s := newFlexService(config.TierAuto)
		ctx, cancel := context.WithTimeout(t.Context(), 29*time.Second)
		defer cancel()
		if s.ask(ctx, t, client); marshal(s.tiers) != `[""]` {
			t.Errorf("asked %v", s.tiers)
		}
	})
}

// TestManyFlexMissesAreOne has many calls at once that flex refuses. The next one asks flex again.
func TestManyFlexMissesAreOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, s := newFlexService(config.TierAuto)
		s.flex.refuses, s.gate = true, make(chan struct{})
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() { s.ask(t.Context(), t, client) })
		}
		synctest.Wait()
		close(s.gate)
		calls.Wait()
		time.Sleep(time.Second)
		s.tiers = nil
		if s.ask(t.Context(), t, client); marshal(s.tiers) != `["flex",""]` {
			t.Errorf("after many misses at once flex is asked as %v", s.tiers)
		}
	})
}

// TestAFailureOfBothTiersIsOne has a service that is down. The error is that of the default tier.
func TestAFailureOfBothTiersIsOne(t *testing.T) {
	t.Parallel()
	asked := 0
	client, _ := serviceOf(t, config.OpenAI{ChatModel: "gpt-6-luna", BackgroundTier: config.TierFlex},
		func(w http.ResponseWriter, _ *http.Request) {
			asked++
			sendError(w, http.StatusBadRequest, "invalid_request_error", "unsupported")
		})
	_, err := client.Complete(t.Context(), llm.Request{Patient: true})
	if !fault.Is(err, fault.Internal) || asked != 2 {
		t.Errorf("%v after %d requests, want one in each tier", err, asked)
	}
}
