package memstore

import (
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
)

// Source is what the services read and write that work on more than one noun: prompts, recall, summaries and spines,
// indexing, the extraction of memories.
type Source struct {
	SessionReader
	MessageReader
	LongTermReader
	RecordReader
	DocumentReader
	SummaryWriter
	DueSessions
	Due
	SpineStore
	Progress
	ExtractionWriter
}

var (
	_ gather.Store         = Source{}
	_ recall.Store         = Source{}
	_ summary.Store        = Source{}
	_ summary.SpineStore   = Source{}
	_ longterm.SpineReader = Source{}
	_ indexing.Store       = Source{}
	_ extraction.Store     = Source{}
)

// NewSource returns the source of a DB.
func NewSource(db *DB) Source {
	return Source{
		SessionReader{db},
		MessageReader{db},
		LongTermReader{db},
		RecordReader{db},
		DocumentReader{db},
		SummaryWriter{db},
		DueSessions{db},
		Due{db},
		SpineStore{db},
		Progress{db},
		ExtractionWriter{db},
	}
}
