package longterm_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/throughline/throughline/internal/longterm"
)

// TestNamed finds the memories that a request to forget names.
func TestNamed(t *testing.T) {
	t.Parallel()
	known := []string{
		"The user is allergic to peanuts.",
		"The user has pain in the left knee.",
		"The user had surgery on the left knee in 2019.",
		"The user's sister Ana lives in Porto.",
		"Der Nutzer verträgt keine Laktose.",
		"用户对花生过敏。",
	}
	tests := map[string][]int{
		"my peanut allergy":                      {0},
		"I am allergic to peanuts":               {0},
		"that I'm allergic to peanuts, please":   {0},
		"the knee":                               {1, 2},
		"the surgery on my left knee":            {2},
		"that Ana lives in Porto":                {3},
		"meine Laktoseintoleranz":                {},
		"das mit der Laktose":                    {4},
		"花生过敏":                                   {5},
		"my cat":                                 {},
		"it":                                     {},
		"":                                       {},
		"everything about my brother's new boat": {},
	}
	for request, want := range tests {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			var memories []longterm.Memory
			for _, content := range known {
				memories = append(memories, longterm.Memory{Content: content})
			}
			var got []int
			named, _ := longterm.Named(request, memories)
			for _, m := range named {
				got = append(got, slices.Index(known, m.Content))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestNamedPeople has facts that are about different people, and requests to forget that are about one of them.
func TestNamedPeople(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		known []longterm.Memory
		want  map[string]string // the numbers of the memories by the request, with "?" where it has to be asked
	}{
		"English": {
			[]longterm.Memory{
				{Content: "The user is allergic to peanuts."},
				{Content: "The user's son Leo is allergic to peanuts.", About: "Leo, the user's son"},
				{Content: "Mia is allergic to peanuts.", About: "Mia, the user's daughter"},
				{Content: "The user owes Karim 500 euros."},
				{Content: "Karim is the user's boss.", About: "Karim, the user's boss"},
				{Content: "Tom had a stroke.", About: "Tom, the user's brother"},
			},
			map[string]string{
				"I'm allergic to peanuts": "0", "my peanut allergy": "0", "the user is allergic to peanuts": "0",
				"that I'm allergic to peanuts, not my son": "01?", "peanut allergy (mine, not Leo's)": "01?",
				"everything you know about Leo": "1", "my egg allergy": "", "Leo's nut allergy": "",
				"my peanut allergy from birth": "0?", "that I told you about Leo's stroke": "",
				"Leo's peanut allergy": "1", "that Leo is allergic to peanuts": "1", "my son's peanut allergy": "1",
				"my daughter is allergic to peanuts": "2", "Mia’s allergy": "2", "Leo's and Mia's peanut allergy": "12?",
				"Jonas's peanut allergy": "", "my wife's peanut allergy": "", "everything about Karim": "34", "Karim": "34",
				"Leo": "1", "everything about Leo": "1", "the stroke": "5?", "Tom's stroke": "5", "my brother's stroke": "5",
			},
		},
		"two sons": {
			[]longterm.Memory{
				{Content: "The user's son Leo is allergic to peanuts.", About: "Leo, the user's son"},
				{Content: "The user's son Tim is allergic to peanuts.", About: "Tim, the user's son"},
				{Content: "Leo has asthma.", About: "Leo"},
			},
			map[string]string{
				"my son's peanut allergy": "01?", "the peanut allergy of my son Tim": "1", "my son Leo's asthma": "2",
				"my son Leo": "02",
			},
		},
		"German": {
			[]longterm.Memory{
				{Content: "Der Nutzer verträgt keine Erdnüsse."},
				{Content: "Leo verträgt keine Erdnüsse.", About: "Leo, der Sohn des Nutzers"},
			},
			map[string]string{
				"dass ich keine Erdnüsse vertrage": "0", "dass Leo keine Erdnüsse verträgt": "1",
				"dass mein Sohn keine Erdnüsse verträgt": "1", "Leos Erdnüsse": "1",
				"dass meine Frau keine Erdnüsse verträgt": "",
			},
		},
		"Spanish": {
			[]longterm.Memory{
				{Content: "El usuario es alérgico al cacahuete."},
				{Content: "Ana es alérgica al cacahuete.", About: "Ana, la hija del usuario"},
			},
			map[string]string{
				"que soy alérgico al cacahuete": "0", "que mi hija es alérgica al cacahuete": "1",
				"la alergia de Ana al cacahuete": "1",
			},
		},
		"Chinese": {
			[]longterm.Memory{
				{Content: "用户对花生过敏。", About: "用户"},
				{Content: "小明对花生过敏。", About: "小明，用户的儿子"},
				{Content: "用户对芒果过敏。"},
			},
			map[string]string{
				"我对花生过敏": "0", "用户对花生过敏": "0", "小明对花生过敏": "1", "小明的过敏": "1",
				"我儿子的花生过敏": "1", "我女儿的花生过敏": "",
			},
		},
		"Japanese": {
			[]longterm.Memory{
				{Content: "ユーザーはピーナッツアレルギーがある。"},
				{Content: "レオはピーナッツアレルギーがある。", About: "ユーザーの息子のレオ"},
				{Content: "ユーザーは卵アレルギーがある。"},
			},
			map[string]string{
				"私のピーナッツアレルギー": "0", "ユーザーのピーナッツアレルギー": "0", "レオのピーナッツアレルギー": "1",
				"息子のピーナッツアレルギー": "1", "卵アレルギーがあること": "2",
				"エビアレルギーがあること": "",
			},
		},
		"Arabic": {
			[]longterm.Memory{
				{Content: "المستخدم لديه حساسية من البنسلين."},
				{Content: "ليو لديه حساسية من البنسلين.", About: "ليو، ابن المستخدم"},
			},
			map[string]string{"لدي حساسية من البنسلين": "0", "حساسية ليو من البنسلين": "1", "حساسية ابني من البنسلين": "1"},
		},
		"Hindi": {
			[]longterm.Memory{
				{Content: "उपयोगकर्ता को मूंगफली से एलर्जी है।"},
				{Content: "लियो को मूंगफली से एलर्जी है।", About: "लियो, उपयोगकर्ता का बेटा"},
			},
			map[string]string{
				"मुझे मूंगफली से एलर्जी है": "0", "उपयोगकर्ता की मूंगफली एलर्जी": "0", "लियो की मूंगफली एलर्जी": "1",
				"मेरा बेटा मूंगफली एलर्जी":    "1",
				"मेरे बेटे की मूंगफली एलर्जी": "",
				"मुझे दूध से एलर्जी है":       "",
			},
		},
	} {
		for request, want := range tt.want {
			named, isClear := longterm.Named(request, tt.known)
			got := ""
			for _, m := range named {
				got += strconv.Itoa(slices.IndexFunc(tt.known, func(k longterm.Memory) bool { return k.Content == m.Content }))
			}
			if !isClear {
				got += "?"
			}
			if got != want {
				t.Errorf("%s: %q names %q, want %q", name, request, got, want)
			}
		}
	}
}
