package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// DecodeChange decodes one record of the table's stream. ok is false unless the record is of a session, a new message,
// a memory, a check-in or a document. A record of one of these that can't be decoded is an error. DecodeChange does
// not panic, whatever the record holds.
func (db *DB) DecodeChange(r events.DynamoDBEventRecord) (c conversation.Change, ok bool, err error) {
	keys, err := fromStream(r.Change.Keys)
	if err != nil {
		return c, false, err
	}
	user, isUser := table.ParsePartition(keys.String(table.AttrPK))
	if !isUser {
		return c, false, nil
	}
	c = conversation.Change{User: user, Sequence: r.Change.SequenceNumber}
	if _, _, isSession := table.ParseSessionSK(keys.String(table.AttrSK)); isSession {
		return db.sessionChange(c, r.Change)
	}
	if table.IsMessageSK(keys.String(table.AttrSK)) && r.EventName == string(events.DynamoDBOperationTypeInsert) {
		return messageChange(c, r.Change)
	}
	if sk := keys.String(table.AttrSK); table.IsDocumentSK(sk) {
		return documentChange(c, sk, r.Change)
	}
	return longtermChange(c, keys.String(table.AttrSK), r.Change)
}

// documentChange returns what a change of a document means for its vectors. A document without any is of no use to
// anybody.
func documentChange(c conversation.Change, sk string, r events.DynamoDBStreamRecord,
) (conversation.Change, bool, error) {
	c, ok, err := withVersions(c, r)
	c.RecordID = sk
	return c, ok && c.Vectors > 0, err
}

// longtermChange returns the id and the version of the memory or check-in. The content of the images is not used,
// because records of one item may be handled late: the reader asks the table what the item is now. A change without
// another version is of the due index alone and of no use to anybody.
func longtermChange(c conversation.Change, sk string, r events.DynamoDBStreamRecord,
) (conversation.Change, bool, error) {
	for _, kind := range []string{table.MemoryKind, table.CheckInKind} {
		id, live, ok := table.ParseRecordSK(sk, kind)
		if !ok {
			continue
		}
		c.RecordID, c.Past = id, !live
		return withVersions(c, r)
	}
	return c, false, nil
}

// withVersions adds the generation, the version and the number of vectors. ok is false for a change of the due index
// alone.
func withVersions(c conversation.Change, r events.DynamoDBStreamRecord) (_ conversation.Change, ok bool, err error) {
	before, err := fromStream(r.OldImage)
	if err != nil {
		return c, false, err
	}
	after, err := fromStream(r.NewImage)
	if err != nil {
		return c, false, err
	}
	c.Generation = before.Int64(table.AttrGeneration)
	if len(after) > 0 {
		c.Generation, c.Version = after.Int64(table.AttrGeneration), after.Int64(table.AttrVersion)
	}
	c.Vectors = int(max(before.Int64(table.AttrVectorCount), after.Int64(table.AttrVectorCount)))
	return c, c.Version == 0 || c.Version != before.Int64(table.AttrVersion), nil
}

// sessionChange decodes both images. A session that is not migrated counts as none.
func (db *DB) sessionChange(c conversation.Change, r events.DynamoDBStreamRecord) (conversation.Change, bool, error) {
	before, err := db.sessionImage(r.OldImage)
	if err != nil {
		return c, false, err
	}
	after, err := db.sessionImage(r.NewImage)
	if err != nil {
		return c, false, err
	}
	if after == nil {
		c.Gone = before
	}
	if before != nil && !before.IsMigrated() {
		before = nil
	}
	if after != nil && !after.IsMigrated() {
		c.Embedded, after = after.ID, nil
	}
	c.Before, c.After = before, after
	return c, c.Gone != nil || before != nil || after != nil || c.Embedded != "", nil
}

func (db *DB) sessionImage(image map[string]events.DynamoDBAttributeValue) (*conversation.Session, error) {
	it, err := fromStream(image)
	if err != nil {
		return nil, err
	}
	s, ok := db.DecodeSession(it)
	if !ok {
		return nil, nil //nolint:nilnil // no session is an answer here
	}
	return &s, nil
}

func messageChange(c conversation.Change, r events.DynamoDBStreamRecord) (conversation.Change, bool, error) {
	it, err := fromStream(r.NewImage)
	if err != nil {
		return c, false, err
	}
	m, ok := table.DecodeMessage(it)
	if !ok || m.Seq < 1 {
		return c, false, fmt.Errorf("dynamo: decode change: the message at %q has no session or no seq",
			it.String(table.AttrSK))
	}
	c.Message = &m
	return c, true, nil
}

// DecodeImage returns the item that an image of a stream record holds, with every attribute. It returns an error for an
// attribute without a value, of an unknown type, or nested too deep, and never panics.
func DecodeImage(image map[string]events.DynamoDBAttributeValue) (map[string]types.AttributeValue, error) {
	return fromStream(image)
}

// fromStream converts an image of the stream to an item. The accessors of the event type panic for a value of another
// type, so each is called for its own type only.
func fromStream(image map[string]events.DynamoDBAttributeValue) (table.Item, error) {
	out := make(table.Item, len(image))
	for name, v := range image {
		converted, err := fromStreamValue(v, 0)
		if err != nil {
			return nil, fmt.Errorf("dynamo: decode change: attribute %q: %w", name, err)
		}
		out[name] = converted
	}
	return out, nil
}

// maxStreamDepth is DynamoDB's limit of nesting.
const maxStreamDepth = 32

func fromStreamValue(v events.DynamoDBAttributeValue, depth int) (types.AttributeValue, error) {
	if depth > maxStreamDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxStreamDepth)
	}
	if v.IsNull() && v.DataType() != events.DataTypeNull {
		return nil, errors.New("no value") // the accessor would panic
	}
	switch v.DataType() {
	case events.DataTypeString:
		return table.StringAttr(v.String()), nil
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}, nil
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}, nil
	case events.DataTypeBoolean:
		return table.BoolAttr(v.Boolean()), nil
	case events.DataTypeNull:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}, nil
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}, nil
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}, nil
	case events.DataTypeList:
		return fromStreamList(v.List(), depth)
	case events.DataTypeMap:
		return fromStreamMap(v.Map(), depth)
	}
	return nil, fmt.Errorf("unknown type %d", v.DataType())
}

func fromStreamList(list []events.DynamoDBAttributeValue, depth int) (types.AttributeValue, error) {
	out := make([]types.AttributeValue, len(list))
	for i, v := range list {
		var err error
		if out[i], err = fromStreamValue(v, depth+1); err != nil {
			return nil, err
		}
	}
	return &types.AttributeValueMemberL{Value: out}, nil
}

func fromStreamMap(m map[string]events.DynamoDBAttributeValue, depth int) (types.AttributeValue, error) {
	out := make(map[string]types.AttributeValue, len(m))
	for name, v := range m {
		var err error
		if out[name], err = fromStreamValue(v, depth+1); err != nil {
			return nil, err
		}
	}
	return &types.AttributeValueMemberM{Value: out}, nil
}
