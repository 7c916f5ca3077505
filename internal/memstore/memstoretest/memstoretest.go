// Package memstoretest gives tests the stores in memory, as dynamotest gives them those of a real engine.
package memstoretest

import (
	"github.com/throughline/throughline/internal/memstore"
	"github.com/throughline/throughline/internal/storetest"
)

// New returns the stores of an empty DB.
func New(o memstore.Options) storetest.Stores { return Stores(memstore.New(o)) }

// Stores returns all stores of a DB.
func Stores(db *memstore.DB) storetest.Stores {
	sessions, messages := memstore.SessionReader{DB: db}, memstore.MessageReader{DB: db}
	source := memstore.NewSource(db)
	deletions, prompts := memstore.Deletions{DB: db}, memstore.Prompts{DB: db}
	return storetest.Stores{
		Sessions: memstore.Sessions{SessionReader: sessions}, Messages: memstore.Messages{MessageReader: messages},
		Turns: memstore.Turns{DB: db}, Profiles: memstore.Profiles(db), Seeds: memstore.Seeds(db),
		UserSummaries: memstore.UserSummaries{DB: db}, Preferences: memstore.Preferences(db),
		Coaches: memstore.Coaches{DB: db}, Goals: memstore.Goals(db), CheckIns: memstore.CheckIns(db),
		Memories: memstore.Memories(db), Todos: memstore.Todos(db),
		DrawnMemories: memstore.Memories(db).WithoutTrace(), DrawnTodos: memstore.Todos(db).WithoutTrace(),
		Documents:  memstore.Documents{DocumentReader: memstore.DocumentReader{DB: db}},
		Extraction: source, Quota: memstore.Quota{DB: db},
		Summaries: source, Spines: source,
		Indexing: source, Recall: source,
		PromptSource: source, Prompts: prompts,
		MessageDeletion: deletions, SessionDeletion: deletions, Cuts: deletions, PromptDeletion: prompts,
		Sources: deletions, Forgetting: deletions,
		Tombstones: memstore.Tombstones{DB: db}, Erasures: memstore.Erasures{DB: db},
		Due: memstore.Due{DB: db},
	}
}
