package recall

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
)

// visibility is what one search may see: its own limits, and what the user's preferences allow from the session that
// asks. The index is asked for no more than that by its filter, and each record from the table is checked again.
type visibility struct {
	Search
	longterm.Preferences
	generation int64
	// notMigrated says that the shared store does not have all of the user's history yet.
	notMigrated bool
	now         time.Time
	// sparse is the sparse vector of the search's text, asked what the ranking reads of it.
	sparse vector.Sparse
	asked  *rank.Query
}

// userLevel are the record types that belong to the user and to no session.
var userLevel = []string{vector.MemoryRecord, vector.CheckInRecord, vector.DocumentRecord}

// allowsSession reports whether records of that session may be seen. Those of the session that asks may, unless it is
// excluded; those of others as the preferences say. A search from outside every session is in no context.
func (v visibility) allowsSession(context, id string) bool {
	switch {
	case id == v.ExcludeSessionID && id != "":
		return false
	case len(v.Contexts) > 0 && !slices.Contains(v.Contexts, context):
		return false
	}
	return id == v.SessionID && id != "" || v.allowsContext(context)
}

// allowsContext reports whether the preferences, and the context that asks, let what was said in a context be seen.
func (v visibility) allowsContext(context string) bool {
	isRecalled := v.Recalls == nil || context == v.Context || slices.Contains(v.Recalls, context)
	return isRecalled && v.Shares(context, v.Context)
}

// allowsNothing reports whether the preferences rule out all that the search asks for, so that the index need not be
// asked.
func (v visibility) allowsNothing() bool {
	return !v.wantsUserLevel() && !v.CrossContext && (v.SessionID == "" || v.SessionID == v.ExcludeSessionID)
}

func (v visibility) wantsUserLevel() bool {
	return len(v.Contexts) == 0 && (len(v.RecordTypes) == 0 || slices.ContainsFunc(v.RecordTypes, func(t string) bool {
		return slices.Contains(userLevel, t)
	}))
}

// allows reports whether a record from the table may be seen.
func (v visibility) allows(h Hit) bool {
	if at := h.OccurredAt(); at.Before(v.From) || (!v.To.IsZero() && !at.Before(v.To)) {
		return false
	}
	if v.hidesSecrets && (h.Message != nil || h.CheckIn != nil) && IsSecretTo(v.SessionID, h.message()) {
		return false
	}
	switch {
	case h.Message != nil:
		return h.Message.IsSearched() && v.wants(vector.MessageRecord) &&
			v.allowsSession(h.Message.Context, h.Message.SessionID)
	case h.Summary != nil:
		return v.allowsSummary(*h.Summary)
	case h.Memory != nil:
		return v.wants(vector.MemoryRecord) && v.wantsUserLevel() && h.Memory.Valid(v.now) &&
			(v.Memory || h.Memory.Source != longterm.Extracted)
	case h.CheckIn != nil:
		return v.wants(vector.CheckInRecord) && v.wantsUserLevel()
	case h.Document != nil:
		return v.allowsDocument(*h.Document)
	}
	return false
}

func (v visibility) allowsSummary(s summary.Summary) bool {
	return v.wants(string(s.RecordType)) && (v.CoachID == "" || s.CoachID == v.CoachID) &&
		s.Text != "" && v.allowsSession(s.Context, s.SessionID)
}

// allowsDocument reports whether a document may be seen. It is the app's data, so preferences about memory do not hide
// it, and only a search that names documents finds it.
func (v visibility) allowsDocument(d document.Document) bool {
	isUnder := len(d.Namespace) >= len(v.under) && slices.Equal(d.Namespace[:len(v.under)], v.under)
	return v.wantsDocuments() && isUnder && d.IsSearched()
}

func (v visibility) wantsDocuments() bool {
	return v.wantsUserLevel() && slices.Contains(v.RecordTypes, vector.DocumentRecord)
}

func (v visibility) wants(recordType string) bool {
	return len(v.RecordTypes) == 0 || slices.Contains(v.RecordTypes, recordType)
}

// filter is the same rule as a filter of the index, as far as the metadata allows.
func (v visibility) filter() vector.Filter {
	var all []vector.Filter
	if len(v.RecordTypes) > 0 {
		all = append(all, vector.Where(vector.FieldRecordType, vector.In, v.RecordTypes))
	} else {
		all = append(all, vector.Where(vector.FieldRecordType, vector.NotIn, []string{vector.DocumentRecord}))
	}
	if len(v.under) > 0 {
		all = append(all, vector.Where(vector.FieldNamespace, vector.In, []string{v.under.String()}))
	}
	for _, condition := range v.sessionConditions() {
		all = append(all, v.orUserLevel(condition))
	}
	if len(v.Contexts) > 0 {
		all = append(all, vector.Where(vector.FieldContext, vector.In, v.Contexts))
	}
	if v.CoachID != "" {
		all = append(all, v.orOther(vector.SummaryRecords(), vector.Where(vector.FieldCoach, vector.Equal, v.CoachID)))
	}
	if !v.From.IsZero() {
		all = append(all, vector.Where(vector.FieldTime, vector.AtLeast, vector.Epoch(v.From)))
	}
	if !v.To.IsZero() {
		all = append(all, vector.Where(vector.FieldTime, vector.AtMost, vector.Epoch(v.To)))
	}
	return vector.AllOf(append(all, v.fields.filters()...)...)
}

// sessionConditions are the conditions on records that belong to a session.
func (v visibility) sessionConditions() []vector.Filter {
	var all []vector.Filter
	if v.ExcludeSessionID != "" {
		all = append(all, vector.Where(vector.FieldSession, vector.NotEqual, v.ExcludeSessionID))
	}
	if !v.CrossContext {
		// No session has an empty id: with one, only records that belong to the user pass.
		return append(all, vector.Where(vector.FieldSession, vector.Equal, v.SessionID))
	}
	shared := slices.DeleteFunc(conversation.Contexts(), func(c string) bool { return !v.allowsContext(c) })
	if len(shared) < len(conversation.AppContexts()) {
		all = append(all, vector.Where(vector.FieldContext, vector.In, shared))
	}
	return all
}

// orUserLevel also lets records pass that belong to the user, where the search asks for them.
func (v visibility) orUserLevel(condition vector.Filter) vector.Filter {
	if !v.wantsUserLevel() {
		return condition
	}
	return vector.AnyOf(vector.Where(vector.FieldRecordType, vector.In, userLevel), condition)
}

// orOther applies a condition to the given record types only, and lets the others pass where the search asks for them.
func (v visibility) orOther(types []string, condition vector.Filter) vector.Filter {
	others := func(t string) bool { return !slices.Contains(types, t) }
	if len(v.RecordTypes) > 0 && !slices.ContainsFunc(v.RecordTypes, others) {
		return condition
	}
	return vector.AnyOf(vector.Where(vector.FieldRecordType, vector.NotIn, types), condition)
}
