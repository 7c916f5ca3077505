package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
)

// daysAttr writes what a session's days came to.
func daysAttr(days []conversation.DaySummary) types.AttributeValue {
	list := make([]types.AttributeValue, len(days))
	for i, d := range days {
		list[i] = &types.AttributeValueMemberM{Value: item{
			attrDayFrom: timeAttr(d.From), attrDayTo: timeAttr(d.To), attrSummary: stringAttr(d.Text),
			attrTokens: intAttr(d.Tokens),
		}}
	}
	return &types.AttributeValueMemberL{Value: list}
}

// decodeDays is the inverse of daysAttr. It leaves out what is no day.
func decodeDays(it item) []conversation.DaySummary {
	list, ok := it[attrSummaryDays].(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}
	var days []conversation.DaySummary
	for _, v := range list.Value {
		m, ok := v.(*types.AttributeValueMemberM)
		if !ok {
			continue
		}
		day := item(m.Value)
		days = append(days, conversation.DaySummary{
			From: day.time(attrDayFrom), To: day.time(attrDayTo), Text: day.string(attrSummary),
			Tokens: int(day.int64(attrTokens)),
		})
	}
	return days
}
