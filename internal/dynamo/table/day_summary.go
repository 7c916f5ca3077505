package table

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
)

// DaysAttr writes what a session's days came to.
func DaysAttr(days []conversation.DaySummary) types.AttributeValue {
	list := make([]types.AttributeValue, len(days))
	for i, d := range days {
		list[i] = &types.AttributeValueMemberM{Value: Item{
			attrDayFrom: TimeAttr(d.From), attrDayTo: TimeAttr(d.To), AttrSummary: StringAttr(d.Text),
			AttrTokens: IntAttr(d.Tokens),
		}}
	}
	return &types.AttributeValueMemberL{Value: list}
}

// decodeDays is the inverse of DaysAttr. It leaves out what is no day.
func decodeDays(it Item) []conversation.DaySummary {
	list, ok := it[AttrSummaryDays].(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}
	var days []conversation.DaySummary
	for _, v := range list.Value {
		m, ok := v.(*types.AttributeValueMemberM)
		if !ok {
			continue
		}
		day := Item(m.Value)
		days = append(days, conversation.DaySummary{
			From: day.Time(attrDayFrom), To: day.Time(attrDayTo), Text: day.String(AttrSummary),
			Tokens: int(day.Int64(AttrTokens)),
		})
	}
	return days
}
