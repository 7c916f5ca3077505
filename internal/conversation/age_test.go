package conversation_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ zone, at, now, want string }{
		{"UTC", "2026-02-05T18:30:00Z", "2026-02-05T18:30:59Z", "just now"},
		{"UTC", "2026-02-05T18:32:00Z", "2026-02-05T18:30:00Z", "just now"},
		{"UTC", "2026-02-05T18:30:00Z", "2026-02-05T18:31:00Z", "1 minute ago"},
		{"UTC", "2026-02-05T18:30:00Z", "2026-02-05T19:29:59Z", "59 minutes ago"},
		{"UTC", "2026-02-05T18:30:00Z", "2026-02-05T19:30:00Z", "1 hour ago"},
		{"UTC", "2026-02-05T00:30:00Z", "2026-02-05T20:30:00Z", "20 hours ago"},
		{"UTC", "2026-02-05T23:50:00Z", "2026-02-06T00:10:00Z", "yesterday"},
		{"UTC", "2026-02-05T00:10:00Z", "2026-02-06T23:50:00Z", "yesterday"},
		{"UTC", "2026-02-05T23:50:00Z", "2026-02-07T00:10:00Z", "2 days ago"},
		{"UTC", "2026-01-06T18:30:00Z", "2026-02-05T18:30:00Z", "30 days ago"},
		{"UTC", "2026-01-05T23:30:00Z", "2026-02-05T00:30:00Z", "1 month ago (5 January 2026)"},
		{"UTC", "2026-01-05T23:30:00Z", "2026-03-04T00:30:00Z", "1 month ago (5 January 2026)"},
		{"UTC", "2025-02-06T18:30:00Z", "2026-02-05T18:30:00Z", "11 months ago (6 February 2025)"},
		{"UTC", "2025-02-05T18:30:00Z", "2026-02-05T18:30:00Z", "1 year ago (5 February 2025)"},
		{"UTC", "2023-01-05T18:30:00Z", "2026-02-05T18:30:00Z", "3 years ago (5 January 2023)"}, // 1127 days
		{"Asia/Kolkata", "2026-01-05T18:40:00Z", "2026-02-15T18:20:00Z", "1 month ago (6 January 2026)"},
		{"Asia/Kolkata", "2026-02-05T18:20:00Z", "2026-02-05T18:40:00Z", "yesterday"},
		{"America/New_York", "2026-03-08T04:50:00Z", "2026-03-08T05:10:00Z", "yesterday"}, // clocks change that night
		{"America/New_York", "2026-03-08T05:10:00Z", "2026-03-09T03:50:00Z", "22 hours ago"},
		{"Pacific/Auckland", "2026-04-04T10:50:00Z", "2026-04-05T11:50:00Z", "yesterday"}, // a day of 25 hours
		{"Pacific/Auckland", "2026-04-04T10:50:00Z", "2026-04-05T12:10:00Z", "2 days ago"},
	} {
		loc := check.Got(time.LoadLocation(tt.zone))(t)
		at := check.Got(time.Parse(time.RFC3339, tt.at))(t)
		now := check.Got(time.Parse(time.RFC3339, tt.now))(t)
		check.Equal(t, tt.want, conversation.Age(at, now, loc), "%s at %s in %s", tt.at, tt.now, tt.zone)
	}
}
