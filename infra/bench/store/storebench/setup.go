package storebench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// What the records of all contenders have in common.
const (
	appContext    = "coach_conversation"
	sessionPrefix = "conversation#"
	messagePrefix = "msg#"
	keyPrefix     = "idem#"
	coach         = "coach_strength"
)

// setup is what the contenders share.
type setup struct {
	*meter.Meter
	table  string
	texts  *Texts
	random *rand.Rand
}

// newUser returns a user id in the form that identity providers use.
func (s *setup) newUser() conversation.UserID {
	a, b := s.random.Uint64(), s.random.Uint64()
	return conversation.UserID(fmt.Sprintf("%08x-%04x-%04x-%04x-%012x",
		uint32(a), uint16(a>>32), uint16(a>>48), uint16(b), b>>16))
}

// once measures an operation that returns a number of messages.
func (s *setup) once(
	ctx context.Context, operation func(context.Context) (int, error),
) (used []meter.Usage, messages int, err error) {
	one, err := s.Measure(ctx, func(ctx context.Context) (err error) {
		messages, err = operation(ctx)
		return err
	})
	return []meter.Usage{one}, messages, err
}

// recordingAPI is the meter as a store uses it. It keeps the last transaction, which the bare transaction repeats.
type recordingAPI struct {
	*meter.Meter
	last []types.TransactWriteItem
}

var _ table.API = (*recordingAPI)(nil)

// TransactWriteItems keeps the items and writes them.
func (a *recordingAPI) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	a.last = in.TransactItems
	return a.Meter.TransactWriteItems(ctx, in, o...)
}

func stringAttr(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// The length of a message in characters.
const (
	shortestMessage = 200
	longestMessage  = 600
)

const charactersPerToken = 4

var words = strings.Fields(`
	about after again back barbell because bench better between body carries coach could day deload different does
	easier eight enough evening every feel felt few five form four friday from give goal good grip hard have heavier
	hinge hip hold hour how into keep kilos knee last leave left less light like little long lower make maybe mobility
	monday more morning much need next only order over pace pain pause plan press program pull push quite rather ready
	repeat reps rest right row run safe same session set shoulder should six sleep slow some squat start still strong
	swap technique than that then thigh this three thrust today tomorrow training try twice under until usual warm
	week weight well what when which while with without work workout would yesterday your`)

// Texts makes messages as long as those of people and models, the same ones for the same seed.
type Texts struct{ random *rand.Rand }

// NewTexts returns the texts of a seed.
func NewTexts(seed uint64) *Texts { return &Texts{rand.New(rand.NewPCG(seed, 0))} }

// Turn returns a user's message and the assistant's answer.
func (t *Texts) Turn() []conversation.NewMessage {
	return []conversation.NewMessage{t.message(conversation.RoleUser), t.message(conversation.RoleAssistant)}
}

// Messages returns n messages, by turns.
func (t *Texts) Messages(n int) []conversation.NewMessage {
	var out []conversation.NewMessage
	for len(out) < n {
		out = append(out, t.Turn()...)
	}
	return out[:n]
}

func (t *Texts) message(role conversation.Role) conversation.NewMessage {
	text := t.text(shortestMessage + t.random.IntN(longestMessage-shortestMessage+1))
	return conversation.NewMessage{Role: role, Content: text, Tokens: len(text) / charactersPerToken}
}

// text returns sentences of exactly that many characters.
func (t *Texts) text(length int) string {
	var b strings.Builder
	for b.Len() < length {
		for range 6 + t.random.IntN(10) {
			b.WriteString(words[t.random.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.WriteString("so. ")
	}
	return b.String()[:length-1] + "."
}
