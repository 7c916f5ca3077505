package rank_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestAsks has messages that plainly ask for something that was said, and such that only have a word of these.
func TestAsks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"When is my brother's wedding?": true, "since when?": true, "We meet when?": true, "When did I say that?": true,
		"What do we eat when I work at night?": false, "What did we eat on the ward?": true,
		"What helps when I work at night?": false, "I worry when my knee hurts": false,
		"Which shoes did Ann buy for the run?": true, "How was her first day?": true, "Why has the shop closed?": true,
		"¿Dónde nos alojamos al final?": true, "Wer von uns war verletzt?": true, "أين سنسكن في إسطنبول؟": true,
		"Какое дерево у меня растёт?": true, "मेरी दुकान का नाम क्या है?": true, "どんな約束をした？": true,
		"Cuando corro me duele la rodilla.": false, "Mach ich wieder zu viel?": false,
		"你的婚礼是when?": true, "who是你教练?": true,
		"Was mache ich im Mai?": true, "3月14日の予定は？": true, "Which plan is on for last week's run?": true,
		"I did it. What is next?": false, "What is next? I was late.": false, "We ran in May.": false,
		"What " + strings.Repeat("a ", 150) + "did": false, // too far away
		"What should I do on Tuesday?":              false, "The run on 14 May went well": false,
	} {
		for _, asked := range []string{text, strings.Repeat("We lift. ", 100) + text} {
			check.Equal(t, want, rank.NewQuery(asked, now).Asks(), "%.20q…%q asks", asked, text)
		}
	}
}

// TestSpans has a query name days: each once, a date without a year in the last years, none to come, none in passing,
// and not all of a pasted log.
func TestSpans(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	var log strings.Builder
	for day := range 40 {
		log.WriteString(now.AddDate(0, 0, -day).Format(time.DateOnly) + ": ok\n")
	}
	for text, want := range map[string][]string{
		"What was on 21 June 2025, or 2025-06-21?": {"2025-06-21 2025-06-22"},
		"What is on 3 May 2027?":                   nil,
		"I slept badly yesterday.":                 nil,
		"How did I sleep yesterday?":               {"2026-03-18 2026-03-20"},
		"What broke in May?": {
			"2025-05-01 2025-06-01", "2024-05-01 2024-06-01", "2023-05-01 2023-06-01",
		},
	} {
		var got []string
		for _, s := range rank.NewQuery(text, now).Spans() {
			got = append(got, s.From.Format(time.DateOnly)+" "+s.To.Format(time.DateOnly))
		}
		check.Same(t, want, got, "%s", text)
	}
	check.Equal(t, 16, len(rank.NewQuery(log.String(), now).Spans()), "spans of a log")
}
