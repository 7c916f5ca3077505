package function

import (
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/httpapi"
)

// LongTerm wires the stores of what the user is and wants.
func LongTerm(store *dynamo.Store) httpapi.LongTerm {
	return httpapi.LongTerm{
		Profile: store.Profiles(), Seed: store.Seeds(), UserSummary: store.UserSummaries(), Preferences: store.Preferences(),
		Coaches: store, Goals: store.Goals(), CheckIns: store.CheckIns(), Memories: store.Memories(), Todos: store.Todos(),
	}
}
