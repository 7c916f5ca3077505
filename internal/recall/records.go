package recall

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// The kinds of records that a search of all of them returns. A check-in's note counts as a message.
const (
	MessageKind  = "message"
	SummaryKind  = "summary"
	MemoryKind   = "memory"
	DocumentKind = "document"
)

// Kinds returns the kinds of records.
func Kinds() []string { return []string{MessageKind, SummaryKind, MemoryKind, DocumentKind} }

// RecordQuery asks for the messages, summaries, facts and documents that help to answer a text, in one order. With
// Contexts, what belongs to no context is left out: facts, check-ins and documents.
type RecordQuery struct {
	MessageQuery
	// Kinds, where set, limits the records to those of Kinds.
	Kinds []string
}

// Record is what a search has found. Exactly one of the pointers is set. The note of a check-in is a message of the
// user in the context "check_in", with the check-in's id and without session, coach and seq.
type Record struct {
	// Score is the estimated probability that the record helps to answer the query. With the intercept, the
	// contributions add up to the logarithm of its odds.
	Score         float64
	Contributions rank.Contributions

	Message  *conversation.Message
	Summary  *SummaryHit
	Memory   *longterm.Memory
	Document *document.Document
}

// Text is the stored text of a record.
func (r Record) Text() string {
	switch {
	case r.Message != nil:
		return r.Message.Content
	case r.Summary != nil:
		return r.Summary.Text
	case r.Memory != nil:
		return r.Memory.Content
	case r.Document != nil:
		return string(r.Document.Value)
	}
	return ""
}

// Records is the answer to a search, most relevant first.
type Records struct {
	Records  []Record
	Degraded []Degradation
}

// Records returns the user's messages, summaries, facts and documents that are most relevant to a query. One ranking
// orders all of them. Where even the best is noise, as for a greeting, it finds nothing. The table has all facts, so
// none is missing where the index has no vector of it yet; so it is with documents where Kinds names them or the index
// does not answer, as far as one page brings them. When the embedding or the index does not answer, facts, documents
// and the newest messages are ranked by their words, and the answer is degraded. Its errors are Invalid, with the
// fields, and those of the store.
func (s *Service) Records(ctx context.Context, user conversation.UserID, q RecordQuery) (Records, error) {
	search, err := q.search()
	if err != nil {
		return Records{}, err
	}
	limit := search.Limit
	// One order of several kinds needs more records than it returns. One batch read brings so many.
	search.RecordTypes, search.Limit = q.recordTypes(), max(limit, OneRead)
	found, visible, err := s.search(ctx, user, search)
	if err != nil {
		return Records{}, err
	}
	if len(found.Degraded) > 0 && visible.wants(vector.MessageRecord) && !visible.allowsNothing() {
		if found.Hits, err = s.newestMessages(ctx, user, visible); err != nil {
			return Records{}, err
		}
	}
	hits, err := s.withFacts(ctx, user, visible, found.Hits)
	if err != nil {
		return Records{}, err
	}
	if slices.Contains(q.Kinds, DocumentKind) || len(found.Degraded) > 0 {
		if hits, err = visible.withDocuments(ctx, s.store, user, nil, hits); err != nil {
			return Records{}, err
		}
	}
	hits = s.rankHits(visible.currentSummaries(hits), visible.asked)
	if len(hits) > 0 && s.Weights.IsNoise(hits[0].Rank) {
		hits = nil
	}
	hits = boundDocuments(hits)
	hits = fit(hits[:min(limit, len(hits))], q.Tokens)
	return visible.answer(hits, visible.degradations(found.Degraded)), nil
}

// answer converts hits to the form of the answer.
func (v visibility) answer(hits []Hit, degraded []Degradation) Records {
	out := Records{Records: make([]Record, len(hits)), Degraded: degraded}
	for i, h := range hits {
		r := Record{Score: h.Value(), Contributions: h.Contributions, Memory: h.Memory, Document: h.Document}
		switch {
		case h.Summary != nil:
			r.Summary = new(v.summaryHit(h))
		case h.Memory == nil && h.Document == nil:
			r.Message = new(h.message())
		}
		out.Records[i] = r
	}
	return out
}

// recordTypes are the index's types of the kinds.
func (q RecordQuery) recordTypes() []string {
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = Kinds()
	}
	var types []string
	for _, kind := range kinds {
		switch kind {
		case MessageKind:
			types = append(types, rankedTypes...)
		case SummaryKind:
			types = append(types, vector.SummaryRecords()...)
		case MemoryKind:
			types = append(types, vector.MemoryRecord)
		case DocumentKind:
			types = append(types, vector.DocumentRecord)
		}
	}
	return types
}

// withFacts returns hits with all of the user's facts that the search may see, in place of those that the index found.
func (s *Service) withFacts(
	ctx context.Context, user conversation.UserID, visible visibility, hits []Hit,
) ([]Hit, error) {
	if !visible.wants(vector.MemoryRecord) || !visible.wantsUserLevel() {
		return hits, nil
	}
	facts, err := s.facts(ctx, user, visible, false, hits)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return h.Memory != nil })
	for _, h := range factHits(facts, hits) {
		if visible.allows(h) {
			others = append(others, h)
		}
	}
	return others, nil
}

// factHits returns facts of the table as hits, with the index's score of those that it found.
func factHits(facts []longterm.Memory, found []Hit) []Hit {
	scores := make(map[string]float64, len(found))
	for _, h := range found {
		scores[h.ID] = h.Score
	}
	hits := make([]Hit, len(facts))
	for i := range facts {
		hits[i] = Hit{ID: facts[i].ID, Score: scores[facts[i].ID], Memory: &facts[i]}
	}
	return hits
}

// currentSummaries drops the summaries that are not the newest of their subjects.
func (v visibility) currentSummaries(hits []Hit) []Hit {
	var summaries []Hit
	for _, h := range hits {
		if h.Summary != nil {
			summaries = append(summaries, h)
		}
	}
	newest := newestOfSubjects(summaries)
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Summary != nil && newest[h.Summary.Subject()] != h.ID })
}

// rankHits orders hits of all kinds by how likely each helps.
func (s *Service) rankHits(hits []Hit, asked *rank.Query) []Hit {
	byID, candidates := make(map[string]Hit, len(hits)), make([]rank.Candidate, len(hits))
	for i, h := range hits {
		byID[h.ID], candidates[i] = h, h.candidate()
	}
	out := make([]Hit, 0, len(hits))
	for _, r := range s.Weights.Rank(asked, candidates) {
		h := byID[r.ID]
		h.Rank, h.Contributions = r.Probability, r.Contributions
		out = append(out, h)
	}
	sortHits(out)
	return out
}

// candidate is the hit as the ranking takes it. A summary and a fact have no neighbours: each is a session of its own.
func (h Hit) candidate() rank.Candidate {
	switch {
	case h.Summary != nil:
		return newCandidate(h.ID, h.Summary.Text, h.Score, h.Summary.OccurredAt)
	case h.Memory != nil:
		return newCandidate(h.ID, h.Memory.Content, h.Score, h.Memory.Said())
	case h.Document != nil:
		return newCandidate(h.ID, h.Document.Text(), h.Score, h.Document.UpdatedAt)
	}
	return candidateOf(h.message(), h.Score)
}

func newCandidate(id, text string, score float64, at time.Time) rank.Candidate {
	return rank.Candidate{
		ID: id, Session: id, Role: string(conversation.RoleUser), Time: at,
		Text: truncate.Runes(text, vector.MaxTextChars), Score: score,
	}
}

// tokens is how many tokens the text of a hit has. What was never counted is estimated.
func (h Hit) tokens() int {
	switch {
	case h.Summary != nil:
		return cmp.Or(h.Summary.Tokens, (len(h.Summary.Text)+3)/4)
	case h.Memory != nil:
		return cmp.Or(h.Memory.Tokens, (len(h.Memory.Content)+3)/4)
	case h.Document != nil:
		return (len(h.Document.Value) + 3) / 4
	}
	return h.message().Tokens
}
