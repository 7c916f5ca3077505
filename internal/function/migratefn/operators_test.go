package migratefn_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// meeting serves the engine. It holds the first transaction of each of two operators until the other's has come, so
// that both have read the same stage.
func meeting(t *testing.T) string {
	t.Helper()
	engine := check.Got(url.Parse(dynamodbtest.Endpoint(t)))(t)
	proxy, both := httputil.NewSingleHostReverseProxy(engine), make(chan struct{})
	var came atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			if came.Add(1) == 2 {
				close(both)
			}
			select {
			case <-both:
			case <-r.Context().Done():
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestTwoOperators has two operators change the stage at the same time. One wins, and the other gets what the stage
// has become.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	changed := time.Now().Add(-time.Hour)
	verified := migration.State{
		Stage: migration.SharedRead, Percent: 100, ChangedAt: changed, Backfilled: 100, VerifiedAt: changed.Add(time.Minute),
	}
	embedded, shared := migration.Initial(migration.Embedded), verified
	shared.Stage = migration.Shared
	// operator is what one of the two does, what the stage is when it wins, and what its error says when it does not.
	type operator struct{ payload, wins, refusal string }
	for name, c := range map[string]struct {
		state migration.State
		two   [2]operator
	}{
		"two advances": {embedded, [2]operator{
			{`{"action":"advance","to":"dual","percent":10}`, "dual 10 false", "the stage is dual at 20%"},
			{`{"action":"advance","to":"dual","percent":20}`, "dual 20 false", "the stage is dual at 10%"},
		}},
		"forward and back": {verified, [2]operator{
			{`{"action":"advance","to":"shared"}`, "shared 100 false", "the stage is dual at 100%"},
			{`{"action":"rollback","to":"dual"}`, "dual 100 false", "go back to shared-read at 100% first"},
		}},
		"cleanup and back": {shared, [2]operator{
			{`{"action":"cleanup"}`, "shared 100 true", "cleanup needs shared at 100%"},
			{`{"action":"rollback","to":"shared-read"}`, "shared-read 100 false", "there is no way back"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApp(t, migration.Embedded)
			stages := adopt.NewStageStore(dynamo.New(a.client, a.table, adopt.WithInitialStage(migration.Embedded)))
			before := check.Got(stages.State(t.Context()))(t)
			c.state.Version = 1
			check.OK(t, stages.Save(t.Context(), before, c.state))
			endpoint := meeting(t)
			var errs [2]error
			var both sync.WaitGroup
			for i := range errs {
				other := openApp(t, a.table, endpoint, migration.Embedded)
				both.Go(func() { _, errs[i] = other.call(t.Context(), c.two[i].payload) })
			}
			both.Wait()
			winner := 0
			if errs[0] != nil {
				winner = 1
			}
			won, lost := c.two[winner], c.two[1-winner]
			refused, ok := errors.AsType[messages.InvokeResponse_Error](errs[1-winner])
			if errs[winner] != nil || !ok || refused.Type != "conflict" || !strings.Contains(refused.Message, lost.refusal) {
				t.Errorf("%s: %v; %s: %v, want a conflict with %q", won.payload, errs[winner], lost.payload, errs[1-winner],
					lost.refusal)
			}
			after, err := stages.State(t.Context())
			if got := fmt.Sprint(after.Stage, " ", after.Percent, " ", after.Cleaned); err != nil || got != won.wins {
				t.Errorf("the stage is %s, %v, want %s", got, err, won.wins)
			}
		})
	}
}

// TestOneStepForTwo has two operators give the same rollback or cleanup. Both carry it out, because it is the same step
// as that of two segments.
func TestOneStepForTwo(t *testing.T) {
	t.Parallel()
	changed := time.Now().Add(-time.Hour)
	state := migration.State{
		Stage: migration.Shared, Percent: 100, ChangedAt: changed, Backfilled: 100, VerifiedAt: changed.Add(time.Minute),
		Version: 1,
	}
	for _, payload := range []string{`{"action":"cleanup"}`, `{"action":"rollback","to":"shared-read"}`} {
		a := newApp(t, migration.Embedded)
		stages := adopt.NewStageStore(dynamo.New(a.client, a.table))
		check.OK(t, stages.Save(t.Context(), migration.State{}, state))
		endpoint := meeting(t)
		var both sync.WaitGroup
		for range 2 {
			other := openApp(t, a.table, endpoint, migration.Embedded)
			both.Go(func() {
				if out, err := other.call(t.Context(), payload); err != nil || !out.Done {
					t.Errorf("%s: %+v, %v", payload, out, err)
				}
			})
		}
		both.Wait()
		if after, err := stages.State(t.Context()); err != nil || after.Version != 2 {
			t.Errorf("%s: the stage has changed to version %d, %v", payload, after.Version, err)
		}
	}
}
