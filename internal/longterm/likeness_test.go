package longterm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/longterm"
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
		{"Пользователь развёлся в марте.", []string{"Пользователь развелся с женой в марте, развёлся тихо."}, []string{
			"Пользователь женился в мае.",
		}},
	} {
		forgotten := longterm.NewLikeness(tt.forgotten)
		if diff := cmp.Diff(forgotten, longterm.LikenessOf(forgotten.Bytes())); diff != "" {
			t.Errorf("stored and read (-want +got):\n%s", diff)
		}
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
