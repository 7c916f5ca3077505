package table_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTheTextOfAnOnlyDayIsStoredOnce stores days and reads them back.
func TestTheTextOfAnOnlyDayIsStoredOnce(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	day := func(n int, text string) conversation.DaySummary {
		begins := from.AddDate(0, 0, n)
		return conversation.DaySummary{From: begins, To: begins.Add(time.Hour), Text: text, Tokens: 3}
	}
	const summary = "She ran."
	for name, tt := range map[string]struct {
		days  []conversation.DaySummary
		times int
	}{
		"an only day":               {[]conversation.DaySummary{day(0, summary)}, 1},
		"an only day of other text": {[]conversation.DaySummary{day(0, "other")}, 1},
		"two days":                  {[]conversation.DaySummary{day(0, summary), day(1, "She rested.")}, 2},
	} {
		it := table.Encode(conversation.SessionSummary{
			Text: summary, Tokens: 3, Kind: conversation.ByModel, Days: table.EncodeDays(tt.days, summary),
		})
		got := table.DecodeOwn(it).Summary
		if got == nil {
			t.Fatalf("%s: no summary", name)
		}
		check.Same(t, tt.days, got.Days, "%s", name)
		stored := 0
		for _, d := range table.EncodeDays(tt.days, summary) {
			stored += strings.Count(d.Text, summary)
		}
		if stored++; stored != tt.times {
			t.Errorf("%s: the summary's text is stored %d times", name, stored)
		}
	}
}
