package longterm_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestForgottenCovers compares what was forgotten with memories about the same and about others, said before and after.
func TestForgottenCovers(t *testing.T) {
	t.Parallel()
	wish := time.Date(2026, 11, 18, 18, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		forgotten, about, content, of string
		said                          time.Duration
		want                          bool
	}{
		{"The user takes warfarin.", "", "The user takes warfarin.", "", -time.Hour, true},
		{"The user takes warfarin.", "", "The user takes warfarin.", "", 0, true}, // the wish itself
		{"The user takes warfarin.", "", "The user takes warfarin.", "", time.Minute, false},
		{"The user takes warfarin.", "", "The user's father takes warfarin.", "the user's father", -time.Hour, false},
		{"The user is allergic to peanuts.", "", "The user's son is allergic to peanuts.", "Tim", -time.Hour, false},
		{"Anna Weber is pregnant.", "Anna Weber, a colleague", "Anna Weber is pregnant.", "Anna Weber, the sister", 0, false},
		{"Anna Weber is pregnant.", "Anna Weber", "Anna Weber is pregnant.", "Anna Weber, the user's colleague", 0, true},
		{"Mia has asthma now.", "the user's daughter Mia", "Mia now has asthma.", "Mia", 0, true},
		{"Der Nutzer wohnt in Bergen.", "", "Die Nutzerin wohnt in Bergen.", "der Nutzer", 0, true},
	} {
		f := longterm.NewForgotten(longterm.Memory{Content: tt.forgotten, About: tt.about}, wish)
		m := longterm.Memory{Content: tt.content, About: tt.of, SaidAt: wish.Add(tt.said)}
		check.Equal(t, tt.want, f.Covers(m),
			"%q (%s), said %v after %q (%s) was forgotten: covered", tt.content, tt.of, tt.said, tt.forgotten, tt.about)
	}
}

// TestForgottenCoversWishOrRejection has what the message of the wish says besides, and what is said after a rejection.
func TestForgottenCoversWishOrRejection(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 18, 18, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		forgotten, content string
		isRejected         bool
		want               bool
	}{
		{"The user takes warfarin 3 mg.", "The user takes warfarin 3 mg", false, true},
		{"The user takes warfarin 3 mg.", "The user takes warfarin 5 mg.", false, false},
		{"The user takes warfarin.", "The user takes warfarin 5 mg every evening.", false, false},
		{"The user is allergic to peanuts.", "The user is mildly allergic to peanuts.", false, false},
		{"The user is allergic to peanuts.", "The user is not allergic to peanuts.", false, false},
		{"Der Nutzer verträgt keine Erdnüsse.", "Der Nutzer verträgt Erdnüsse.", false, false},
		{"用户对花生过敏。", "用户对花生严重过敏。", false, false},
		{"用户对花生过敏。", "用户对花生过敏", false, true},
		{"The user goes running every Tuesday.", "Goes running every Tuesday.", true, true},
		{"The user goes running every Tuesday.", "The user goes running every Thursday.", true, false},
		{"The user goes running every Tuesday.", "The user goes running every Tuesday and Thursday.", true, false},
		{"用户喜欢喝红茶。", "用户喜欢喝绿茶。", true, false},
		{"用户喜欢喝红茶。", "用户喜欢喝红茶", true, true},
	} {
		before, said := longterm.Memory{Content: tt.forgotten}, at
		if tt.isRejected {
			before.Status, before.EndedReason, said = longterm.Waiting, longterm.EndedFalse, at.AddDate(0, 1, 0)
		}
		f := longterm.NewForgotten(before, at)
		check.Equal(t, tt.want, f.Covers(longterm.Memory{Content: tt.content, SaidAt: said}),
			"%q after %q, rejected %v: covered", tt.content, tt.forgotten, tt.isRejected)
	}
}

// TestMentions has texts that may be about what was forgotten. Half of its words are enough if a name is one of them.
func TestMentions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		forgotten, about, text string
		want                   bool
	}{
		{"The user's lover is called Quentin.", "", "Call Quentin on Tuesday", true},
		{"The user's lover is called Tom.", "", "Buy Tom's present", true},
		{"Quentin is the user's lover.", "Quentin, the user's lover", "Call Quentin on Tuesday", true},
		{"Quentin is the user's lover.", "Quentin, the user's lover", "Call the user's sister", false},
		{"The user's lover is called Quentin.", "", "Call the doctor on Tuesday", false},
		{"Leo is allergic to peanuts.", "Leo, the user's son", "Pick up Leo on Friday", false},
		{"The user's sister lives in Porto.", "the user's sister", "Book a hotel in Porto", false},
		{"Der Liebhaber der Nutzerin heißt Quentin.", "", "Quentin am Dienstag anrufen", true},
		{"Die Schwester des Nutzers ist Lehrerin in Bonn.", "die Schwester", "Die Lehrerin anrufen", false},
		{"The user's sister called Ana lives in Porto.", "Ana, the sister", "Book a hotel in Porto", false},
		{"La amante del usuario se llama Quintina.", "", "Llamar a Quintina el martes", true},
		{"用户的情人叫昆汀。", "昆汀，用户的情人", "星期二给昆汀打电话", true},
		{"用户的情人叫昆汀。", "昆汀，用户的情人", "星期二给医生打电话", false},
		{"クエンティンはユーザーの恋人です。", "クエンティン、ユーザーの恋人", "火曜日にクエンティンに電話する", true},
		{"حبيب المستخدم اسمه كوينتن", "كوينتن", "اتصل بالطبيب", false},
		{"उपयोगकर्ता के प्रेमी का नाम क्वेंटिन है", "क्वेंटिन", "मंगलवार को डॉक्टर को फोन करना", false},
		{"Lives in Quahog", "", "Settled in quahog", true},
		{"Lives in Quahog", "", "Find where Ann lives", false},
		{"Lives in Quahog", "", "Bought shoes", false},
		{"Plans a surprise party for Anna", "", "Call Anna", false},
		{"Plans a surprise party for Anna", "", "Buy a cake for the surprise of Anna", true},
		{"Likes running", "", "Go running", false},
		{"Likes running", "", "Write why the user likes running", true},
		{"Running", "", "Running", false},
		{"Wohnt in Köln", "", "Termin in Koeln", false},
		{"Wohnt in Köln", "", "Termin in Köln", true},
	} {
		f := longterm.NewForgotten(longterm.Memory{Content: tt.forgotten, About: tt.about}, time.Time{})
		check.Equal(t, tt.want, f.Mentions(tt.text), "%q mentions %q", tt.text, tt.forgotten)
	}
}

// TestMentionsOfNamesakes has texts with the name of somebody where another one of that name is known. Such a name says
// too little.
func TestMentionsOfNamesakes(t *testing.T) {
	t.Parallel()
	others := []longterm.Memory{
		{Content: "Olga has pneumonia.", About: "Olga, the user's daughter"},
		{Content: "Max runs.", About: "Max, a colleague"},
		{Content: "昆汀得了肺炎。", About: "昆汀，用户的儿子"},
		{Content: "The user bakes bread."},
	}
	for _, tt := range []struct {
		forgotten, about, text string
		want                   bool
	}{
		{"Olga is the user's boss.", "Olga, the user's boss", "Fetch Olga from the lung clinic on 2 December", false},
		{"Olga is the user's boss.", "Olga, the user's boss", "Buy a birthday gift for Olga, the daughter", false},
		{"Olga is the user's boss.", "Olga, the user's boss", "Fetch Olga's medicine", false},
		{"The user's boss is called Olga.", "", "Fetch Olga from the lung clinic", false},
		{"The user's boss is Olga.", "Olga, the user's boss", "Fetch Olga from the lung clinic", false},
		{"Olga is the user's boss.", "Olga, the user's boss", "Write to Olga, the boss", true},
		{"Olga is the user's colleague.", "Olga, the user's colleague", "Write to the colleague Olga", true},
		{"Olga moves to Porto.", "Olga, the user's boss", "Help Olga move to Porto", true},
		{"Olga moves to Porto.", "Olga, the user's boss", "Olga moves to Porto in May", true},
		{"Max is the user's lover.", "Max, the user's lover", "Call Max on Tuesday", false},
		{"Quentin is the user's lover.", "Quentin, the user's lover", "Call Quentin on Tuesday", true},
		{"Olga has asthma.", "Olga, the user's daughter", "Fetch what helps Olga against asthma", true},
		{"用户的情人叫昆汀。", "昆汀，用户的情人", "星期二给昆汀打电话", false},
	} {
		f := longterm.NewForgotten(longterm.Memory{Content: tt.forgotten, About: tt.about}, time.Time{}).Among(others)
		check.Equal(t, tt.want, f.Mentions(tt.text), "%q mentions %q", tt.text, tt.forgotten)
	}
}
