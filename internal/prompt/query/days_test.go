package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/testing/check"
)

// A reference names a day, a week or a month in the past. What is ahead, or is no date, names none.
func TestNamedDays(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("zone", 9*60*60)
	now := time.Date(2026, 2, 5, 20, 0, 0, 0, time.UTC) // 6 February there
	for message, want := range map[string]string{
		"What did we decide on 21 January?":             "2026-01-21 1",
		"What did we decide on January 21st?":           "2026-01-21 1",
		"What did we decide on the 21st of January?":    "2026-01-21 1",
		"As we said on Jan 21, I rest.":                 "2026-01-21 1",
		"As we said on 21 January 2024, I rest.":        "2024-01-21 1",
		"As we said on 2025-12-27, I rest.":             "2025-12-27 1",
		"As we said on 6 February, I rest.":             "2026-02-06 1",
		"As we said on 27 December, I rest.":            "2025-12-27 1",
		"What did we say in December?":                  "2025-12-01 31",
		"What did we say last month?":                   "2026-01-01 31",
		"What did we say in February?":                  "2026-02-01 28",
		"Was haben wir am 21. Januar besprochen?":       "2026-01-21 1",
		"Was haben wir im Dezember besprochen?":         "2025-12-01 31",
		"Tu m'as dit le 1er janvier de me reposer.":     "2026-01-01 1",
		"Tu m'as dit en décembre de me reposer.":        "2025-12-01 31",
		"Me dijiste el 21 de enero que descansara.":     "2026-01-21 1",
		"Como combinamos em 21 de janeiro.":             "2026-01-21 1",
		"Come abbiamo detto il 21 gennaio.":             "2026-01-21 1",
		"Zoals we op 21 januari besproken hebben.":      "2026-01-21 1",
		"What did you say about my race on 12 May?":     "", // it is ahead
		"What did you say about a race in July?":        "",
		"As we said on 31 February, I rest.":            "",
		"As we said, I may march on.":                   "",
		"What did you tell me, may I do set 3 or out 5": "",
		"What did we decide about 2026-13-40?":          "",
		"As we said yesterday, the race was 21 January": "2026-02-05 1",
		// A day of last week is that, and "last Wednesday" the last one before today.
		"上周三我们聊了什么？":                       "2026-01-28 1",
		"上個星期五我們說了什麼？":                     "2026-01-30 1",
		"周三我们聊了什么？":                        "2026-02-04 1",
		"昨天你说过什么？":                         "2026-02-05 1",
		"三天前我说了什么？":                        "2026-02-03 1",
		"12月27日我跟你说了什么？":                   "2025-12-27 1",
		"先週の水曜日に何を話したっけ？":                  "2026-01-28 1",
		"水曜日に話した件":                         "2026-02-04 1",
		"3日前に言ったこと":                        "2026-02-03 1",
		"先月話した旅行のこと":                       "2026-01-01 31",
		"ماذا قلت لك يوم الثلاثاء الماضي؟": "2026-02-03 1",
		"ماذا قلت لك أول أمس؟":             "2026-02-04 1",
		"الأسبوع الماضي تحدثنا عن السفر":   "2026-01-26 7",
		"पिछले सोमवार को मैंने क्या कहा था?": "2026-02-02 1",
		"परसों आपने क्या कहा था":             "2026-02-04 1",
		"पिछले हफ्ते हमने क्या बात की":       "2026-01-26 7",
		"อังคารที่แล้วเราคุยเรื่องอะไร":      "2026-02-03 1",
		"อาทิตย์ที่แล้วเราคุยอะไรกัน":        "2026-01-26 7",
		"Что я говорил в прошлый вторник?":   "2026-02-03 1",
		"27 декабря мы обсуждали поездку":    "2025-12-27 1",
		"Apa yang saya katakan Selasa lalu?": "2026-02-03 1",
		"지난 화요일에 뭐라고 했지?":                    "2026-02-03 1",
		"پچھلے منگل کو میں نے کیا کہا تھا؟":  "2026-02-03 1",
		"গত মঙ্গলবার আমি কী বলেছিলাম?":       "2026-02-03 1",
		"What did I say letzten Mittwoch?":   "2026-02-04 1",
		// Weeks and months ago are counted by the calendar, and a month without a year is the last one.
		"What did we talk about a week ago?":             "2026-01-26 7",
		"What did we talk about two months ago?":         "2025-12-01 31",
		"What did we talk about in May?":                 "2025-05-01 31",
		"What did we talk about in April?":               "2025-04-01 30",
		"Worüber haben wir vor einem Monat gesprochen?":  "2026-01-01 31",
		"¿De qué hablamos hace una semana?":              "2026-01-26 7",
		"De quoi avons-nous parlé il y a trois semaines": "2026-01-12 7",
		"De quoi a-t-on parlé il y a un an ?":            "2025-02-01 28",
		"3週間前、私たちは何を話した？":                                "2026-01-12 7",
		"3月に何を話しましたか？":                                   "2025-03-01 31",
		"2025年5月4日に私は何と言いましたか？":                          "2025-05-04 1",
		"3周前我们聊了什么？":                                     "2026-01-12 7",
		"2025年3月我们聊了什么？":                                 "2025-03-01 31",
		"ماذا قلنا قبل 3 أسابيع؟":                        "2026-01-12 7",
		"हमने तीन हफ़्ते पहले क्या बात की थी?":           "2026-01-12 7",
		"О чём мы говорили в марте?":                     "2025-03-01 31",
	} {
		r, refers := query.FindReference(message)
		if !refers {
			t.Errorf("%q is no reference", message)
			continue
		}
		got := ""
		if from, to, named := r.Days(now, zone); named {
			got = fmt.Sprint(from.Format(time.DateOnly), " ", int(to.Sub(from).Hours()/24))
		}
		if got != want {
			t.Errorf("%q names %q, want %q", message, got, want)
		}
	}
}

// TestAMonthThatIsPast asks in December for March: the last one, however near the next one is, but for a sentence that
// has a topic, which may be about a plan.
func TestAMonthThatIsPast(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for message, want := range map[string]string{
		"What did we talk about in March?":                 "2026-03-01",
		"What did you say about the marathon on 14 March?": "",
	} {
		got := ""
		r, _ := query.FindReference(message)
		if from, _, named := r.Days(now, time.UTC); named {
			got = from.Format(time.DateOnly)
		}
		check.Equal(t, want, got, "%q names", message)
	}
}
