package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/table"
)

// Owner says whose a record is, as reads and erasures decide it.
type Owner int

// The owners of records in a table that the app shares with Throughline.
const (
	// Other is an app's record at a key that Throughline never uses.
	Other Owner = iota
	// AppSession is an app's record at the key of a session. Throughline takes it for a conversation that it may move,
	// and that an erasure of the user deletes. One with an id that the API cannot name is not served and not moved.
	AppSession
	// Clash is an app's record at a key where Throughline expects its own records only.
	Clash
	// Own is a record that Throughline wrote.
	Own
)

// Classify says whose a record is. kind is the kind of record that Throughline takes it for, unless its key is none of
// Throughline's.
func Classify(record map[string]types.AttributeValue) (kind string, owner Owner) {
	it := table.Item(record)
	if _, ours := table.ParsePartition(it.String(table.AttrPK)); !ours {
		return "", Other
	}
	sk := it.String(table.AttrSK)
	kind, ours := table.KindOf(sk)
	switch {
	case sk == table.GenerationSK:
		return "generation", Own
	case !ours && table.IsSessionOrUnnamed(sk):
		return "session", AppSession
	case !ours:
		return "", Other
	case it.Has(table.AttrGeneration):
		return kind, Own
	case IsSessionKey(sk):
		return kind, AppSession
	}
	return kind, Clash
}

// IsSessionKey reports whether a sort key is of a session, whatever the partition's name is.
func IsSessionKey(sk string) bool {
	_, _, ok := table.ParseSessionSK(sk)
	return ok
}

// UserPartition returns the partition key of a user's records.
func UserPartition(user string) string { return table.UserPrefix + user }

// WrittenType returns the type of a top-level attribute that Throughline's records have. It is empty for names that
// they do not use, and for attributes that no index can have as a key.
func WrittenType(name string) types.ScalarAttributeType {
	for kind, names := range writtenTypes {
		for written := range strings.FieldsSeq(names) {
			if written == name {
				return kind
			}
		}
	}
	return ""
}

// writtenTypes lists the attributes that can be keys of an index of the app's. A test compares it with stored records.
var writtenTypes = map[types.ScalarAttributeType]string{
	types.ScalarAttributeTypeN: `generation seq tokens sessionCreatedAtMs messageCount lastSeq version summarizedSeq
		indexedSeq extractedSeq dueShard summaryTokens summaryCoveredSeq sweeps vectorCount confidence expiresAt
		claimedVersion failures userSeq urgentSeq percent backfilled cleanBy`,
	types.ScalarAttributeTypeS: `pk sk createdAt updatedAt messageId role content timestamp sourceContext sourceId coachId
		agentId mode entityType status title deletedSeqs startedAt lastMessageAt leftAt sessionCompletedAt placement
		summarizedAt indexedAt activeAt coachKey dueAt summary summaryKind summaryUpdatedAt summaryModel summaryDigest
		sessionId occurredAt subjectId model promptVersion recipe bodyHash sessionSk recordId state lease leaseUntil
		answerSk deletedAt erasedAt name email joinedAt about lastUpdated persona goalType note type source validUntil
		supersededBy completedAt timezone creation summaryIndexedAt extractedAt coveredTo stage
		changedAt verifiedAt claimedAt reading askedAt`,
}
