package dynamo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation/storetest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// TestAnErasureBeginsWhollyOrNotAtAll cuts the beginning of an erasure behind each of its remote calls: a prompt reads
// the same as every other read does.
func TestAnErasureBeginsWhollyOrNotAtAll(t *testing.T) {
	for made := range 3 {
		t.Run(fmt.Sprint("after ", made), func(t *testing.T) {
			table, calls := dynamotest.Table(t), 0
			plain := dynamo.New(dynamodbtest.Client(t), table, atNow())
			if _, err := plain.Profiles().Put(t.Context(), alice, longterm.Profile{Name: "Ann"}); err != nil {
				t.Fatal(err)
			}
			ctx, die := context.WithCancel(t.Context())
			defer die()
			s := withSeam(t, table, seam{call: func(_ string, run func() error) error {
				if calls++; calls > made {
					die()
					return errCrash
				}
				return run()
			}}, atNow())
			_, held, err := s.BeginErasure(ctx, alice, storetest.Now.Add(time.Minute))
			if held != (err == nil) || made == 0 && held {
				t.Errorf("held %v, %v", held, err)
			}
			_, err = plain.Profiles().Get(t.Context(), alice)
			snap, lookErr := plain.LongTerm(t.Context(), alice)
			if lookErr != nil || fault.Is(err, fault.NotFound) != (snap.Profile == nil) {
				t.Errorf("the profile reads %v, and %+v in a prompt, %v", err, snap.Profile, lookErr)
			}
		})
	}
}
