package recall

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/vector"
)

const (
	fieldRole = "role"
	fieldSeq  = "seq"
)

// RankedFields are the metadata fields that the ranking of messages and check-ins reads.
var RankedFields = []string{
	fieldRecordType, fieldContext, fieldSession, fieldRole, fieldSeq, fieldTime, fieldText,
}

// Candidates returns the messages and the check-ins among matches, as the ranking takes them. The matches have
// RankedFields.
func Candidates(matches []vector.Match) []rank.Candidate {
	out := make([]rank.Candidate, 0, len(matches))
	for _, m := range matches {
		recordType := stringField(m, fieldRecordType)
		if !slices.Contains(rankedTypes, recordType) {
			continue
		}
		seq, _ := m.Metadata[fieldSeq].(float64)
		at, _ := m.Metadata[fieldTime].(float64)
		c := rank.Candidate{
			ID: RecordID(m.ID), Context: stringField(m, fieldContext), Session: stringField(m, fieldSession),
			Role: stringField(m, fieldRole), Seq: int(seq), Time: time.Unix(int64(at), 0), Text: stringField(m, fieldText),
			Score: m.Score,
		}
		if recordType == vector.CheckInRecord {
			c.Role = "user"
		}
		out = append(out, c)
	}
	return out
}

// rankedTypes are the record types that are ranked among themselves.
var rankedTypes = []string{vector.MessageRecord, vector.CheckInRecord}

func stringField(m vector.Match, name string) string {
	s, _ := m.Metadata[name].(string)
	return s
}
