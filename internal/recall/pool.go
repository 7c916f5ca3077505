package recall

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// RankedFields are the metadata fields that the ranking of messages and check-ins reads.
var RankedFields = []string{
	vector.FieldRecordType, vector.FieldContext, vector.FieldSession, vector.FieldRole, vector.FieldSeq, vector.FieldTime,
	vector.FieldText,
}

// Candidates returns the messages and the check-ins among matches, as the ranking takes them. The matches have
// RankedFields.
func Candidates(matches []vector.Match) []rank.Candidate {
	out := make([]rank.Candidate, 0, len(matches))
	for _, m := range matches {
		recordType := stringField(m, vector.FieldRecordType)
		if !slices.Contains(rankedTypes, recordType) {
			continue
		}
		seq, _ := m.Metadata[vector.FieldSeq].(float64)
		at, _ := m.Metadata[vector.FieldTime].(float64)
		c := rank.Candidate{
			ID: vector.RecordID(m.ID), Context: stringField(m, vector.FieldContext),
			Session: stringField(m, vector.FieldSession), Role: stringField(m, vector.FieldRole), Seq: int(seq),
			Time: time.Unix(int64(at), 0), Text: stringField(m, vector.FieldText), Score: m.Score,
		}
		if recordType == vector.CheckInRecord {
			c.Role = "user"
		}
		out = append(out, c)
	}
	return out
}

// otherRecords is how many memories and summaries a search for all kinds reads where there are more messages than it
// reads. A prompt takes eight memories.
const otherRecords = 10

// rankedTypes are the record types that are ranked among themselves.
var rankedTypes = []string{vector.MessageRecord, vector.CheckInRecord}

// candidateOf is a message of the table as the ranking takes it.
func candidateOf(m conversation.Message, score float64) rank.Candidate {
	return rank.Candidate{
		ID: m.ID, Context: m.Context, Session: m.SessionID, Role: string(m.Role), Seq: m.Seq, Time: m.Timestamp,
		Text: truncate.Runes(m.Content, vector.MaxTextChars), Score: score,
	}
}

// best returns the records that a ranked search reads, best first: the messages and check-ins, unless all are noise,
// and of the other kinds, by their likeness, as many as otherRecords or as the messages leave room for.
func (s *Service) best(v visibility, matches []vector.Match, ids []string) ([]string, map[string]rank.Result) {
	results := s.Weights.Rank(v.asked, Candidates(matches))
	ranks := make(map[string]rank.Result, len(results))
	ranked := make([]string, 0, len(results))
	isNoise := len(results) > 0 && s.Weights.IsNoise(results[0].Probability)
	for _, r := range results {
		if ranks[r.ID] = r; !isNoise {
			ranked = append(ranked, r.ID)
		}
	}
	others := slices.DeleteFunc(ids, func(id string) bool { return ranks[id].ID != "" })
	room := v.records()
	others = others[:min(len(others), max(min(room/2, otherRecords), room-len(ranked)))]
	ranked = ranked[:min(len(ranked), room-len(others))]
	return append(ranked, others...), ranks
}

func stringField(m vector.Match, name string) string {
	s, _ := m.Metadata[name].(string)
	return s
}
