package table_test

import (
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// TestSessionsHaveWhatTheFiltersLookFor encodes a session in which nothing urgent was said. Without the attribute the
// stream's filters would take it for an app's own record and pass each of its changes.
func TestSessionsHaveWhatTheFiltersLookFor(t *testing.T) {
	t.Parallel()
	if !table.Encode(conversation.Session{}).Has(table.AttrUrgentSeq) {
		t.Error("a session is stored without urgentSeq")
	}
}
