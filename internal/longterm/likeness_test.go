package longterm_test

import (
	"testing"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestLikeness compares a forgotten fact with what comes later. same are other words for it, other are facts that are
// near and must still be stored.
func TestLikeness(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		forgotten   string
		same, other []string
	}{
		{
			"The user is allergic to peanuts.",
			[]string{"The user has a peanut allergy.", "User allergic to peanuts, carries a pen."},
			[]string{"The user is allergic to walnuts.", "The user likes peanut butter.", "The user's daughter has asthma."},
		},
		{
			"The user is in a relationship with Marta, a colleague.",
			[]string{"The user's relationship with his colleague Marta ended in May."},
			[]string{"The user works with Marta.", "The user has a new colleague.", "The user is single."},
		},
		{
			"The user was treated for depression in 2019.",
			[]string{"The user had depression and was treated in 2019.", "Treated for depression (2019)."},
			[]string{"The user graduated in 2019.", "The user's knee was treated.", "The user has back pain."},
		},
		{
			"Der Nutzer verträgt keine Erdnüsse.",
			[]string{"Erdnüsse verträgt der Nutzer nicht.", "Der Nutzer sagt, dass er Erdnüsse seit Jahren nicht verträgt."},
			[]string{"Der Nutzer verträgt keine Milch.", "Die Nutzerin wohnt in Bergen."},
		},
		{
			"ユーザーはピーナッツアレルギーがある。",
			[]string{"ユーザーにはピーナッツアレルギーがあります。"},
			[]string{"ユーザーは京都に住んでいる。"},
		},
		{
			"用户对花生过敏。",
			[]string{"用户花生过敏。"},
			[]string{"用户住在北京。", "用户有一个女儿。"},
		},
		{
			"The user takes warfarin 3 mg every evening.",
			[]string{"The user is taking warfarin 3 mg every evening.", "Takes warfarin every evening, 3 mg."},
			[]string{"The user takes warfarin 5 mg every evening.", "The user takes apixaban 3 mg every evening."},
		},
		{
			"The user is severely allergic to peanuts and carries an EpiPen.", nil,
			[]string{"The user is mildly allergic to peanuts and carries an EpiPen."},
		},
		{"The user goes running every Tuesday.", nil, []string{"The user goes running every Thursday."}},
		{
			"Der Nutzer nimmt jeden Abend 3 mg Marcumar.",
			[]string{"Der Nutzer nahm jeden Abend 3 mg Marcumar."},
			[]string{"Der Nutzer nimmt jeden Abend 5 mg Marcumar.", "Der Nutzer nimmt jeden Morgen 3 mg Marcumar."},
		},
		{
			"El usuario toma warfarina 3 mg cada noche.",
			[]string{"Cada noche el usuario toma 3 mg de warfarina."},
			[]string{"El usuario toma warfarina 5 mg cada noche."},
		},
		{
			"用户对花生严重过敏。",
			[]string{"用户有花生严重过敏。"},
			[]string{"用户对芒果严重过敏。", "用户对花粉严重过敏。", "用户对花生轻微过敏。"},
		},
		{"用户每天晚上喝红茶。", nil, []string{"用户每天晚上喝绿茶。", "用户每天早上喝红茶。"}},
		{
			"ユーザーは卵アレルギーがある。",
			[]string{"ユーザーには卵アレルギーがあります。"},
			[]string{"ユーザーはエビアレルギーがある。", "ユーザーには蕎麦アレルギーがある。"},
		},
		{
			"المستخدم لديه حساسية من البنسلين.",
			[]string{"لديه المستخدم حساسية من البنسلين"},
			[]string{"المستخدم لديه حساسية من الفول السوداني."},
		},
		{
			"उपयोगकर्ता को मूंगफली से एलर्जी है।",
			[]string{"उपयोगकर्ता को मूंगफली से एलर्जी थी।"},
			[]string{"उपयोगकर्ता को दूध से एलर्जी है।"},
		},
		{"Пользователь развёлся в марте.", []string{"Пользователь развелся с женой в марте, развёлся тихо."}, []string{
			"Пользователь женился в мае.",
		}},
	} {
		forgotten := longterm.NewLikeness(tt.forgotten)
		check.Same(t, forgotten, longterm.LikenessOf(forgotten.Bytes()), "stored and read")
		for _, same := range append(tt.same, tt.forgotten) {
			if !forgotten.Resembles(same) {
				t.Errorf("%q is not known again in %q", tt.forgotten, same)
			}
		}
		for _, other := range tt.other {
			if forgotten.Resembles(other) {
				t.Errorf("%q is taken for the forgotten %q", other, tt.forgotten)
			}
		}
	}
	if none := longterm.NewLikeness("?!"); none.Resembles("?!") || none.Resembles("The user is tall.") {
		t.Error("a text without words resembles another")
	}
}

// TestDifferInAWord compares facts of which one is another danger, or the same as a plan that has come true.
func TestDifferInAWord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b  string
		other bool
	}{
		{"The user is allergic to kiwis.", "The user is allergic to figs.", true},
		{"The user takes ramipril 5 mg a day.", "The user takes ramipril 10 mg a day.", true},
		{"The user takes ramipril 10 mg from 3 May.", "The user takes ramipril 10 mg since 3 May.", false},
		{"De gebruiker neemt vanaf 3 mei 10 mg.", "De gebruiker neemt sinds 3 mei 10 mg.", false},
		{"L'utente prende 10 mg dal 3 maggio.", "L'utente prende 10 mg da 3 maggio.", false},
		{"Der Nutzer nimmt ab dem 3. Mai 10 mg.", "Der Nutzer nimmt seit dem 3. Mai 10 mg.", false},
		{"使用者的媽媽每天吃脈優5毫克。", "使用者的妈妈每天吃脉优10毫克。", true},
		{"使用者的媽媽每天吃脈優5毫克。", "使用者的妈妈每天吃脉优5毫克。", false},
		{"用户对花生过敏。", "用户对虾过敏。", true},
		{"用户的妈妈从3月9日起吃10毫克。", "用户的妈妈3月9日开始吃10毫克。", false},
		{"ユーザーは卵アレルギーがある。", "ユーザーは牛乳アレルギーがある。", true},
		{"ユーザーは卵アレルギーがある。", "ユーザーには卵のあれるぎーがある。", false},
		{"ผู้ใช้แพ้กุ้ง", "ผู้ใช้แพ้ปู", true},
		{"والد المستخدم يأخذ لانتوس ١٠ وحدات.", "والد المستخدم يأخذ لانتوس ١٤ وحدات.", true},
		{"والد المستخدم يأخذ لانتوس ١٠ وحدات.", "والد المستخدم يأخذ لانتوس 10 وحدات.", false},
	} {
		check.Equal(t, tt.other, longterm.DifferInAWord(tt.a, tt.b), "%q and %q are of two dangers", tt.a, tt.b)
	}
	moved := [2]longterm.Moment{{Day: "2026-11-09"}, {Day: "2026-11-16"}}
	for a, b := range map[string]string{
		"The user takes 75 micrograms from 9 November.": "The user takes 75 micrograms from 16 November.",
		"ユーザーは11月9日から75を飲む":                             "ユーザーは11月16日から75を飲む",
	} {
		check.Equal(t, true, longterm.DifferInAWord(a, b), "%q and %q differ", a, b)
		check.Equal(t, false, longterm.DifferInAWord(a, b, moved), "%q and %q differ in their days alone", a, b)
	}
	a, b := "The user takes 75 micrograms from today.", "The user takes 95 micrograms from today."
	check.Equal(t, true, longterm.DifferInAWord(a, b, moved), "%q and %q are of two doses", a, b)
}

// TestOtherCharacters has what the user asked to forget come back in other characters, and a person named in them.
func TestOtherCharacters(t *testing.T) {
	t.Parallel()
	for forgotten, again := range map[string]string{
		"使用者的前夫叫陳志明，去年離婚。": "使用者的前夫叫陈志明，去年离婚。", "ユーザーの弟ハルトは離婚した。": "ユーザーの弟はるとは離婚した。",
		"La hija de la usuaria, Begoña, vive en Múnich.": "La hija de la usuaria, Begona, vive en Munich.",
		"والد المستخدم عمره ٧٥ سنة في الرياض.":           "والد المستخدم عمره 75 سنة في الرياض.",
	} {
		if !longterm.NewLikeness(forgotten).Resembles(again) {
			t.Errorf("%q does not resemble %q", again, forgotten)
		}
	}
	check.Equal(t, true, longterm.IsSameSubject("陳志明，使用者的前夫", "陈志明"), "the same name in other characters")
	check.Equal(t, true, longterm.IsSameSubject("ハルト、ユーザーの息子", "はると"), "the same name in other kana")
}
