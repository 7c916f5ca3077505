package delay_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/delay"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		deadline time.Duration
		want     error
		took     time.Duration
	}{
		{"the whole time", time.Hour, nil, time.Minute},
		{"a context that ends first", time.Second, context.DeadlineExceeded, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				start := time.Now()
				err := delay.Sleep(ctx, time.Minute)
				if took := time.Since(start); !errors.Is(err, tt.want) || took != tt.took {
					t.Errorf("Sleep took %s and returned %v, want %s and %v", took, err, tt.took, tt.want)
				}
			})
		})
	}
}
