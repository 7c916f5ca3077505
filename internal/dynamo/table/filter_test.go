package table_test

import (
	"slices"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// TestSessionsHaveWhatTheFiltersLookFor builds the update of an append in which nothing urgent was said. Without the
// attribute the stream's filters would take the session for a new one and pass each of its changes.
func TestSessionsHaveWhatTheFiltersLookFor(t *testing.T) {
	t.Parallel()
	names := table.SetCounters("ann", conversation.Session{LastSeq: 1}).Names()
	if !slices.Contains(names, table.AttrUrgentSeq) {
		t.Errorf("an append writes %v, without urgentSeq", names)
	}
}
