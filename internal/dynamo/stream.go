package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// DecodeChange decodes one record of the table's stream. ok is false unless the record is of a session, a new message,
// a memory, a check-in or a document. A record of one of these that can't be decoded is an error. DecodeChange does
// not panic, whatever the record holds.
func DecodeChange(r events.DynamoDBEventRecord) (c conversation.Change, ok bool, err error) {
	keys, err := fromStream(r.Change.Keys)
	if err != nil {
		return c, false, err
	}
	user, isUser := parsePartition(keys.string(attrPK))
	if !isUser {
		return c, false, nil
	}
	c = conversation.Change{User: user, Sequence: r.Change.SequenceNumber}
	if _, _, isSession := parseSessionSK(keys.string(attrSK)); isSession {
		return sessionChange(c, r.Change)
	}
	if isMessageSK(keys.string(attrSK)) && r.EventName == string(events.DynamoDBOperationTypeInsert) {
		return messageChange(c, r.Change)
	}
	if sk := keys.string(attrSK); isDocumentSK(sk) {
		return documentChange(c, sk, r.Change)
	}
	return longtermChange(c, keys.string(attrSK), r.Change)
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
	for _, kind := range []string{memoryKind, checkInKind} {
		id, live, ok := parseRecordSK(sk, kind)
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
	c.Generation = before.int64(attrGeneration)
	if len(after) > 0 {
		c.Generation, c.Version = after.int64(attrGeneration), after.int64(attrVersion)
	}
	c.Vectors = int(max(before.int64(attrVectorCount), after.int64(attrVectorCount)))
	return c, c.Version == 0 || c.Version != before.int64(attrVersion), nil
}

// sessionChange decodes both images. A session whose messages are in an array counts as none.
func sessionChange(c conversation.Change, r events.DynamoDBStreamRecord) (conversation.Change, bool, error) {
	before, err := sessionImage(r.OldImage)
	if err != nil {
		return c, false, err
	}
	after, err := sessionImage(r.NewImage)
	if err != nil {
		return c, false, err
	}
	if before != nil && before.Placement == conversation.Embedded {
		before = nil
	}
	if after != nil && after.Placement == conversation.Embedded {
		c.Embedded, after = after.ID, nil
	}
	c.Before, c.After = before, after
	return c, before != nil || after != nil || c.Embedded != "", nil
}

func sessionImage(image map[string]events.DynamoDBAttributeValue) (*conversation.Session, error) {
	it, err := fromStream(image)
	if err != nil {
		return nil, err
	}
	s, ok := decodeSession(it)
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
	m, ok := decodeMessage(it)
	if !ok || m.Seq < 1 {
		return c, false, fmt.Errorf("dynamo: decode change: the message at %q has no session or no seq", it.string(attrSK))
	}
	c.Message = &m
	return c, true, nil
}

// Consumer handles changes in order, and returns how many of them need not be delivered again.
type Consumer interface {
	Consume(ctx context.Context, changes []conversation.Change) (done int, err error)
}

// ArrivalMover moves the sessions that an app still writes into its own records when the user's stage is shared. From
// then on lists and prompts have them.
type ArrivalMover struct {
	db   *DB
	next Consumer
}

// NewArrivalMover returns a consumer that moves sessions when the next consumer has handled a batch.
func NewArrivalMover(db *DB, next Consumer) ArrivalMover { return ArrivalMover{db, next} }

// Consume passes the changes on and moves the embedded sessions among them.
func (m ArrivalMover) Consume(ctx context.Context, changes []conversation.Change) (int, error) {
	done, err := m.next.Consume(ctx, changes)
	for i, c := range changes[:min(done, len(changes))] {
		if c.Embedded == "" {
			continue
		}
		state, stageErr := m.db.migrationState(ctx)
		if stageErr != nil {
			return i, stageErr
		}
		if state.Of(c.User) != migration.Shared {
			continue
		}
		moveErr := m.db.move(ctx, c.User, c.Embedded, conversation.Shared, false)
		if moveErr != nil && !fault.Is(moveErr, fault.NotFound) {
			return i, moveErr
		}
	}
	return done, err
}

// DecodeImage returns the item that an image of a stream record holds, with every attribute. It returns an error for an
// attribute without a value, of an unknown type, or nested too deep, and never panics.
func DecodeImage(image map[string]events.DynamoDBAttributeValue) (map[string]types.AttributeValue, error) {
	return fromStream(image)
}

// fromStream converts an image of the stream to an item. The accessors of the event type panic for a value of another
// type, so each is called for its own type only.
func fromStream(image map[string]events.DynamoDBAttributeValue) (item, error) {
	out := make(item, len(image))
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
		return stringAttr(v.String()), nil
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}, nil
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}, nil
	case events.DataTypeBoolean:
		return boolAttr(v.Boolean()), nil
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
