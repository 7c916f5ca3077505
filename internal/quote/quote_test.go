package quote_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/quote"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestQuotes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		of, text string
		want     bool
	}{
		{"My locker code is 4711.", "Got it: 4711 is your code.", true},
		{"My daughter has a severe peanut allergy.", "So your daughter has a severe PEANUT allergy!", true},
		{"My daughter has a severe peanut allergy.", "The allergy of your daughter (peanut, severe)!", true},
		{"I was fired yesterday and I have not told my wife.", "You said: \"I was fired yesterday and\u2026\"", true},
		{"Ich habe gestern meinen Job verloren.", "Dass du gestern deinen JOB verlorst, tut mir leid.", false},
		{"Ich habe gestern meinen Job verloren.", "Du sagtest: ich habe gestern meinen Job verloren", true},
		{"娘は重いピーナッツアレルギーがあります。", "娘さんは重いピーナッツアレルギーがありますね", true},
		{"娘は重いピーナッツアレルギーがあります。", "今日はいい天気ですね。散歩しましょう", false},
		{"Señora Muñoz vive détrás del café azul.", "Sen\u0303ora MUN\u0303OZ vive detra\u0301s del cafe azul", true},
		{"Meine Straße heißt Gänseblümchenallee heute.", "MEINE STRASSE HEISST GÄNSEBLÜMCHENALLEE HEUTE", true},
		{"我對花生和牛奶過敏很嚴重", "你说过：我对花生和牛奶过敏很严重", true},
		{"My kilo\u00admetre is a long\u200b way home.", "my kilometre is a long way", true},
		{"My knee hurts when I squat.", "Let us plan tomorrow's run.", false},
		{"I moved here in 2019.", "That was in 2019, too.", false},
		{"Thanks!", "Thanks!", false},
		{"", "", false},
	} {
		check.Equal(t, tc.want, quote.New(tc.of).Quotes(tc.text), "%q quotes %q", tc.text, tc.of)
	}
}

// FuzzQuotes checks that a text with enough words quotes itself within any other text.
func FuzzQuotes(f *testing.F) {
	f.Add("My daughter has a severe peanut allergy.", "before", "after")
	f.Add("娘は重いピーナッツアレルギーがあります。", "前", "後")
	f.Add("a\u0301 b c d e", "", "\xff")
	f.Fuzz(func(t *testing.T, text, before, after string) {
		m := quote.New(text)
		m.Quotes(before + after)
		isOther := func(r rune) bool { return r != ' ' && (r < 'a' || r > 'z') }
		if len(strings.Fields(text)) < 5 || strings.ContainsFunc(text, isOther) {
			return
		}
		if !m.Quotes(before + " " + strings.ToUpper(text) + ". " + after) {
			t.Errorf("%q does not quote itself", text)
		}
	})
}
