package memstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/summary"
)

// user is what the DB has of a user. An erasure sets the records aside and begins with empty ones, so no reader or
// writer meets records of an earlier generation.
type user struct {
	id         conversation.UserID
	generation int64
	*records
	// erased are the records of earlier generations that are not deleted yet.
	erased []*records
	// erasing is the last erasure, nil for a user who was never erased. erasureDue is when the sweep has to work on it.
	erasing    *erasing
	erasureDue *mark
	// spent are the tokens of the models by day. They outlive an erasure.
	spent map[string]int64
}

// records are a user's records of one generation.
type records struct {
	sessions  map[string]*session
	messages  map[string]*conversation.Message
	timeline  []*conversation.Message // sorted by time and id
	threads   map[thread][]*conversation.Message
	clientIDs map[thread]map[string]string // ids of messages by clientMessageId
	calls     map[callKey]*call

	profile     *longterm.Profile
	seed        *longterm.Seed
	userSummary *longterm.UserSummary
	preferences *longterm.Preferences
	coaches     map[string]longterm.Coach
	goals       collection[longterm.Goal]
	checkIns    collection[longterm.CheckIn]
	memories    collection[longterm.Memory]
	todos       collection[longterm.Todo]
	spines      map[string]longterm.Spine
	summaries   map[string]storedSummary
	documents   map[string]storedDocument
	prompts     map[string]prompt.StoredPrompt

	extraction lease
	forgotten  map[string]trace
	tombstones map[string]erasure.Tombstone
	// due are the records that the sweep has to work on, by their ids in the index.
	due map[string]*mark
}

func newRecords() *records {
	return &records{
		sessions: map[string]*session{}, messages: map[string]*conversation.Message{},
		threads: map[thread][]*conversation.Message{}, clientIDs: map[thread]map[string]string{},
		calls:   map[callKey]*call{},
		coaches: map[string]longterm.Coach{}, goals: collection[longterm.Goal]{},
		checkIns: collection[longterm.CheckIn]{}, memories: collection[longterm.Memory]{},
		todos: collection[longterm.Todo]{}, spines: map[string]longterm.Spine{},
		summaries: map[string]storedSummary{}, documents: map[string]storedDocument{},
		prompts: map[string]prompt.StoredPrompt{}, forgotten: map[string]trace{},
		tombstones: map[string]erasure.Tombstone{}, due: map[string]*mark{},
	}
}

// counts counts the records by kind, as the receipt of an erasure names them.
func (r *records) counts() map[string]int {
	control := len(r.tombstones)
	for _, is := range []bool{r.preferences != nil, r.extraction.owner != ""} {
		if is {
			control++
		}
	}
	counts := map[string]int{
		"session": len(r.sessions), "message": len(r.messages), "summary": len(r.summaries), "spine": len(r.spines),
		"coach": len(r.coaches), "goal": len(r.goals), "check_in": len(r.checkIns), "memory": len(r.memories),
		"todo": len(r.todos), "document": len(r.documents), "prompt": len(r.prompts), "idempotency": len(r.calls),
		"forgotten": len(r.forgotten), "control": control,
	}
	for kind, is := range map[string]bool{
		"profile": r.profile != nil, "seed": r.seed != nil, "user_summary": r.userSummary != nil,
	} {
		if is {
			counts[kind] = 1
		}
	}
	for kind, n := range counts {
		if n == 0 {
			delete(counts, kind)
		}
	}
	return counts
}

// thread is the messages of one session, and not of an earlier or later one of its id.
type thread struct {
	sessionID string
	createdAt time.Time
}

func threadOf(s conversation.Session) thread {
	return thread{s.ID, conversation.Milliseconds(s.CreatedAt)}
}

func threadOfMessage(m conversation.Message) thread { return thread{m.SessionID, m.SessionCreatedAt} }

// session is a session with what readers do not see. When it is due is in its mark.
type session struct {
	conversation.Session
	indexingUntil time.Time
}

// storedSummary is the record of a session's summary. createdAt is when its session was created.
type storedSummary struct {
	summary.Summary
	createdAt time.Time
}

// add stores a message.
func (r *records) add(m conversation.Message) {
	stored := copied(m)
	r.messages[m.ID] = &stored
	at := threadOfMessage(stored)
	r.threads[at] = append(r.threads[at], &stored)
	i, _ := slices.BinarySearchFunc(r.timeline, &stored, func(a, b *conversation.Message) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ID, b.ID))
	})
	r.timeline = slices.Insert(r.timeline, i, &stored)
}

// remove deletes a message.
func (r *records) remove(id string) {
	m, ok := r.messages[id]
	if !ok {
		return
	}
	delete(r.messages, id)
	is := func(other *conversation.Message) bool { return other == m }
	at := threadOfMessage(*m)
	r.threads[at] = slices.DeleteFunc(r.threads[at], is)
	r.timeline = slices.DeleteFunc(r.timeline, is)
}

// session returns a session as it is read, if there is one that is the same as known. A nil known accepts any.
func (r *records) session(id string, known *conversation.Session) (*session, bool) {
	s, ok := r.sessions[id]
	return s, ok && (known == nil || s.IsSame(*known))
}

// read returns a session as readers see it: a copy, with when it is due.
func (r *records) read(s *session) conversation.Session {
	out := copied(s.Session)
	if m := r.due[sessionDueID(s.ID)]; m != nil {
		out.DueAt = m.at
		if m.claimed {
			out.ClaimedVersion = m.version
		}
	}
	return out
}
