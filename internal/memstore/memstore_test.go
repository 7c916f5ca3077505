package memstore_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/memstore"
	"github.com/throughline/throughline/internal/memstore/memstoretest"
	"github.com/throughline/throughline/internal/storetest"
)

// TestStore runs the suite that every store passes.
func TestStore(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, now func() time.Time) storetest.Subject {
		return storetest.Subject{Stores: memstoretest.New(memstore.Options{Now: now})}
	})
}
