package recall

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
)

// view is what one search may see: its own limits, and what the user's preferences allow from where it stands. The
// index is asked for no more than that, and what it answers is held to the same rules again, by the table's records.
type view struct {
	Search
	longterm.Preferences
	generation int64
	now        time.Time
}

// userLevel are the record types that belong to no session: to the user.
var userLevel = []string{vector.MemoryRecord, vector.CheckInRecord}

// summaryTypes are the record types of summaries.
var summaryTypes = func() []string {
	var types []string
	for _, s := range conversation.Surfaces {
		types = append(types, string(s.Writes))
	}
	return types
}()

// seesSession reports whether something of that session may be seen: always of its own, unless that is left out; of
// others as the preferences say. Without cross-context sharing there are no others, wherever the search stands.
func (v view) seesSession(context, id string) bool {
	switch {
	case id == v.ExcludeSessionID && id != "":
		return false
	case len(v.Contexts) > 0 && !slices.Contains(v.Contexts, context):
		return false
	case id == v.SessionID && id != "":
		return true
	case !v.CrossContext:
		return false
	}
	return v.Context == "" || v.Shares(context, v.Context)
}

// seesNothing reports whether the preferences leave nothing that the search asks for, so that none has to be asked.
func (v view) seesNothing() bool {
	return !v.wantsUserLevel() && !v.CrossContext && (v.SessionID == "" || v.SessionID == v.ExcludeSessionID)
}

func (v view) wantsUserLevel() bool {
	return len(v.Contexts) == 0 && (len(v.RecordTypes) == 0 || slices.ContainsFunc(v.RecordTypes, func(t string) bool {
		return slices.Contains(userLevel, t)
	}))
}

// sees reports whether a resolved record may be seen.
func (v view) sees(h Hit) bool {
	if at := h.OccurredAt(); at.Before(v.From) || (!v.To.IsZero() && !at.Before(v.To)) {
		return false
	}
	switch {
	case h.Message != nil:
		return v.wants(vector.MessageRecord) && v.seesSession(h.Message.Context, h.Message.SessionID)
	case h.Summary != nil:
		return v.seesSummary(*h.Summary)
	case h.Memory != nil:
		return v.wants(vector.MemoryRecord) && v.wantsUserLevel() && h.Memory.Valid(v.now) &&
			(v.Memory || h.Memory.Source != longterm.Extracted)
	case h.CheckIn != nil:
		return v.wants(vector.CheckInRecord) && v.wantsUserLevel()
	}
	return false
}

func (v view) seesSummary(s summary.Summary) bool {
	return v.wants(string(s.RecordType)) && (v.CoachID == "" || s.CoachID == v.CoachID) &&
		s.Text != "" && v.seesSession(s.Context, s.SessionID)
}

func (v view) wants(recordType string) bool {
	return len(v.RecordTypes) == 0 || slices.Contains(v.RecordTypes, recordType)
}

// filter says the same in the index's language, as far as its metadata goes.
func (v view) filter() vector.Filter {
	var all []vector.Filter
	if len(v.RecordTypes) > 0 {
		all = append(all, oneOf(fieldRecordType, v.RecordTypes))
	}
	for _, condition := range v.sessionConditions() {
		all = append(all, v.orUserLevel(condition))
	}
	if len(v.Contexts) > 0 {
		all = append(all, oneOf(fieldContext, v.Contexts))
	}
	if v.CoachID != "" {
		all = append(all, v.orOther(summaryTypes, vector.Filter{fieldCoach: vector.Filter{"$eq": v.CoachID}}))
	}
	if !v.From.IsZero() {
		all = append(all, vector.Filter{fieldTime: vector.Filter{"$gte": epoch(v.From)}})
	}
	if !v.To.IsZero() {
		all = append(all, vector.Filter{fieldTime: vector.Filter{"$lte": epoch(v.To)}})
	}
	return every(all)
}

// sessionConditions are what holds for records that belong to a session.
func (v view) sessionConditions() []vector.Filter {
	var all []vector.Filter
	if v.ExcludeSessionID != "" {
		all = append(all, vector.Filter{fieldSession: vector.Filter{"$ne": v.ExcludeSessionID}})
	}
	switch {
	case !v.CrossContext:
		// An empty id is no session's: what is left is the user's own.
		all = append(all, vector.Filter{fieldSession: vector.Filter{"$eq": v.SessionID}})
	case v.Context != "":
		if shared := v.sharedContexts(); len(shared) < len(conversation.Surfaces) {
			all = append(all, oneOf(fieldContext, shared))
		}
	}
	return all
}

// sharedContexts are the contexts that may be seen from where the search stands.
func (v view) sharedContexts() []string {
	return slices.DeleteFunc(conversation.Contexts(), func(c string) bool { return !v.Shares(c, v.Context) })
}

// orUserLevel lets what belongs to the user through beside the condition, where it is asked for.
func (v view) orUserLevel(condition vector.Filter) vector.Filter {
	if !v.wantsUserLevel() {
		return condition
	}
	return vector.Filter{"$or": []vector.Filter{oneOf(fieldRecordType, userLevel), condition}}
}

// orOther holds the given record types to a condition and lets the others through, where they are asked for.
func (v view) orOther(types []string, condition vector.Filter) vector.Filter {
	others := func(t string) bool { return !slices.Contains(types, t) }
	if len(v.RecordTypes) > 0 && !slices.ContainsFunc(v.RecordTypes, others) {
		return condition
	}
	return vector.Filter{"$or": []vector.Filter{{fieldRecordType: vector.Filter{"$nin": types}}, condition}}
}

func oneOf(field string, values []string) vector.Filter {
	return vector.Filter{field: vector.Filter{"$in": values}}
}

func every(conditions []vector.Filter) vector.Filter {
	switch len(conditions) {
	case 0:
		return nil
	case 1:
		return conditions[0]
	}
	return vector.Filter{"$and": conditions}
}

// epoch is a time in whole seconds, as records carry it; hits are compared with the exact bounds again.
func epoch(t time.Time) float64 { return float64(t.Unix()) }
