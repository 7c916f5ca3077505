package storebench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
)

// What the records of all contenders have in common (design 3).
const (
	surface       = "coach_conversation"
	sessionPrefix = "conversation#"
	messagePrefix = "msg#"
	keyPrefix     = "idem#"
	coach         = "coach_strength"
)

// rig is what the contenders share.
type rig struct {
	*meter.Meter
	table  string
	prose  *Prose
	random *rand.Rand
}

// user makes a user id of the shape that identity providers give.
func (r *rig) user() conversation.UserID {
	a, b := r.random.Uint64(), r.random.Uint64()
	return conversation.UserID(fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", uint32(a), uint16(a>>32), uint16(a>>48), uint16(b), b>>16))
}

// tap is the meter as a store sees it; it keeps the last transaction for the bare one to repeat.
type tap struct {
	*meter.Meter
	last []types.TransactWriteItem
}

var _ dynamo.API = (*tap)(nil)

// TransactWriteItems keeps what it carries out.
func (t *tap) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	t.last = in.TransactItems
	return t.Meter.TransactWriteItems(ctx, in, o...)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func textIn(it capacity.Item, name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}
