package dynamo

import (
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/summary"
)

func encodeSummary(user conversation.UserID, s summary.Summary) (item, error) {
	sk, ok := summarySK(s.RecordType, s.SubjectID)
	if !ok {
		return nil, errBadKey
	}
	it := key{partition(user), sk}.attributes()
	it[attrSessionID] = text(s.SessionID)
	it[attrSourceContext] = text(s.Context)
	it.setText(attrCoachID, s.CoachID)
	it[attrSummary] = text(s.Text)
	it[attrTokens] = whole(s.Tokens)
	it[attrSummaryKind] = text(string(s.Kind))
	it[attrSummaryInProgress] = flag(s.InProgress)
	it[attrSummaryCoveredSeq] = whole(s.CoveredThrough)
	it.setTime(attrOccurredAt, s.OccurredAt)
	it[attrUpdatedAt] = moment(s.UpdatedAt)
	it.setText(attrModel, s.Model)
	it.setText(attrPromptVersion, s.PromptVersion)
	it[attrGeneration] = whole(s.Generation)
	return it, it.setDocument(attrFields, s.Fields)
}

// decodeSummary reads a summary's record; ok is false for records of other kinds.
func decodeSummary(it item) (s summary.Summary, ok bool) {
	rest, ok := strings.CutPrefix(it.text(attrSK), summaryPrefix)
	recordType, subject, found := strings.Cut(rest, "#")
	if !ok || !found {
		return summary.Summary{}, false
	}
	return summary.Summary{
		RecordType: conversation.RecordType(recordType), SubjectID: subject, SessionID: it.text(attrSessionID),
		Context: it.text(attrSourceContext), CoachID: it.text(attrCoachID), Text: it.text(attrSummary),
		Tokens: int(it.whole(attrTokens)), Kind: conversation.SummaryKind(it.text(attrSummaryKind)),
		InProgress: it.flag(attrSummaryInProgress), CoveredThrough: int(it.whole(attrSummaryCoveredSeq)),
		OccurredAt: it.time(attrOccurredAt), UpdatedAt: it.time(attrUpdatedAt), Fields: it.document(attrFields),
		Model: it.text(attrModel), PromptVersion: it.text(attrPromptVersion), Generation: it.whole(attrGeneration),
	}, true
}
