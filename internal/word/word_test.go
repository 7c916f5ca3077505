package word_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/word"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"stems and drops stop words": {
			"We were swapping the hip thrusts for glute bridges", []string{"swap", "hip", "thrust", "glute", "bridg"},
		},
		"case and punctuation": {"PRs: 3x5 @ 100kg!", []string{"prs", "3x5", "100kg"}},
		"possessive and contraction": {
			"Anna's knee doesn't hurt, 'really'", []string{"anna", "knee", "doesn", "hurt", "realli"},
		},
		"curly apostrophe":       {"Anna’s knee", []string{"anna", "knee"}},
		"German":                 {"Ich mache mit dem Knie keine Kniebeugen", []string{"mach", "knie", "kniebeug"}},
		"Spanish":                {"Me duelen las rodillas", []string{"duel", "rodill"}},
		"French article":         {"J'ai une allergie à l'arachide", []string{"allerg", "arachid"}},
		"Russian":                {"Я живу в Новосибирске", []string{"жив", "новосибирск"}},
		"pairs of Han":           {"我对花生过敏。", []string{"我对", "对花", "花生", "生过", "过敏"}},
		"Han alone":              {"膝が痛い", []string{"膝", "痛"}},
		"Han and Latin":          {"我用Python写", []string{"我用", "python", "写"}},
		"Korean":                 {"책을 부산에서", []string{"책을", "책", "부산", "산에", "에서"}},
		"Thai":                   {"เข่า", []string{"เข", "ข่", "่า"}},
		"no words but data":      {"see " + strings.Repeat("aGVsbG8gd29ybGQ/", 20) + " here", []string{"see"}},
		"cut between characters": {"x" + strings.Repeat("б", 40), []string{"x" + strings.Repeat("б", 31)}},
		"only stop words":        {"what was that about", nil},
		"nothing":                {" \x00 \u200b \u0301", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Same(t, tt.want, word.Terms(tt.text), "Terms(%q)", tt.text)
		})
	}
}

// TestSameWords finds each word by the other one of its pair, in both directions: by all of its terms, and by the
// finder.
func TestSameWords(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]string{
		"composed or not":         {"Café Zoë", "Cafe\u0301 Zoe\u0308"},
		"Vietnamese, composed":    {"Phạm Thị Huế", "Pha\u0323m Thi\u0323 Hue\u0302\u0301"},
		"Korean, composed or not": {"부산", "\u1107\u116e\u1109\u1161\u11ab"},
		"full width":              {"ＣＡＦＥ ２０２６", "cafe 2026"},
		"ligature":                {"ﬁnal ﬂuﬀy", "final fluffy"},
		"half-width kana":         {"ﾋﾟｱﾉ", "ピアノ"},
		"hiragana and katakana":   {"らーめん", "ラーメン"},
		"sharp s":                 {"Straße", "STRASSE"},
		"capital sharp s":         {"STRAẞE", "strasse"},
		"soft hyphen":             {"kilo\u00admetre", "kilometre"},
		"zero-width space":        {"mara\u200bthon", "marathon"},
		"zero-width joiner":       {"mara\u200dthon\ufeff", "marathon"},
		"diacritics":              {"naïve façade", "naive facade"},
		"letters with a stroke":   {"smørrebrød Łódź", "smorrebrod Lodz"},
		"Turkish dots":            {"İstanbul ılık", "istanbul ilik"},
		"Greek accents":           {"Αθήνα", "ΑΘΗΝΑ"},
		"Greek final sigma":       {"ΟΔΟΣ", "οδος"},
		"Arabic vowels":           {"مُحَمَّد", "محمد"},
		"Arabic hamza":            {"أحمد", "احمد"},
		"Arabic tatweel":          {"سـلام", "سلام"},
		"Hebrew points":           {"שָׁלוֹם", "שלום"},
		"Russian yo":              {"ёлка", "елка"},
		"traditional":             {"過敏 蘋果", "过敏 苹果"},
		"circled digits":          {"room ③", "room 3"},
		"squared units":           {"5㎏", "5kg"},
		"Arabic and Hindi digits": {"٢٠٢٦ १२", "2026 12"},
		"apostrophes":             {"Zoe’s", "Zoe's"},
		"Russian cases":           {"Новосибирске", "Новосибирск"},
		"Arabic article":          {"الركبة", "ركبة"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range [][2]string{pair, {pair[1], pair[0]}} {
				check.Same(t, word.Terms(p[0]), word.Terms(p[1]), "%q and %q", p[0], p[1])
				finds(t, p[0], "x "+p[1]+" y")
			}
		})
	}
}

// TestFindsParts finds words that stand in a text in another form or within a run.
func TestFindsParts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ query, text string }{
		"Korean object":     {"마라톤", "나는 마라톤을 준비한다"},
		"Korean place":      {"부산", "부산에서 왔다"},
		"Korean, two":       {"부산에서", "부산은 덥다"},
		"Korean syllable":   {"책을", "책이 좋다"},
		"Lao":               {"ຫົວເຂົ່າ", "ຂ້ອຍເຈັບຫົວເຂົ່າຫຼາຍ"},
		"Khmer":             {"ជង្គង់", "ខ្ញុំឈឺជង្គង់ណាស់"},
		"Burmese":           {"ဒူး", "ကျွန်တော်ဒူးနာတယ်"},
		"Thai":              {"เข่า", "ฉันปวดเข่ามาก"},
		"Chinese":           {"花生过敏", "我從小就對花生過敏，很嚴重"},
		"Japanese":          {"膝の調子", "膝が痛い"},
		"one character":     {"膝", "膝が痛い"},
		"one of several":    {"我的狗怎么样？", "我养了一只狗。"},
		"a question's verb": {"狗吃什么", "我养了一只狗"},
		"one traditional":   {"总结一下关于猫的事", "鄰居送我一隻小貓。"},
		"one simplified":    {"貓呢", "邻居送我一只小猫 (x̃)"}, // a text that is folded first
		"one of Japanese":   {"犬は元気？", "愛犬と暮らしています"},
		"German plural":     {"Wie viele Kniebeugen mache ich?", "Die Kniebeuge war schwer"},
		"German, no accent": {"Uebung Ubungen", "Die Übung war schwer"},
		"Spanish plural":    {"¿Qué rodilla me duele?", "Me duelen las rodillas"},
		"Russian case":      {"Новосибирск", "Я живу в Новосибирске"},
		"a word alone":      {"Kniebeugen", "Die Kniebeuge war schwer"},
		"French article":    {"arachide", "Je suis allergique à l’arachide"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finds(t, tt.query, tt.text)
		})
	}
}

// TestCharacters has the terms of Han with how much each counts, and texts in which a character is not found: stop
// words are not, nor is one within a pair that is found.
func TestCharacters(t *testing.T) {
	t.Parallel()
	got := map[string]float64{}
	for term, share := range word.Weighted("我们的狗怎么样 dog, 膝が") {
		got[term] += share
	}
	want := map[string]float64{
		"我们": .5, "们的": .5, "的狗": 1, "狗怎": 1, "怎么": .5, "么样": .5, "狗": .5, "dog": 1, "膝": 1,
	}
	check.Same(t, want, got, "shares")
	for _, tt := range []struct {
		query, text string
		hits        int
	}{
		{"我们的狗", "你们好", 0},
		{"花生过敏", "我对花生过敏", 3},
		{"花生", "花生的花", 2},
		{"花生", "花生的花 (x̃)", 2},
		{"了", "来了", 0},
	} {
		hits, _ := word.NewFinder(word.NewQuery(tt.query)).Append(nil, tt.text, 0)
		if len(hits) != tt.hits {
			t.Errorf("%q in %q: %v", tt.query, tt.text, hits)
		}
	}
}

// finds checks that a finder of a query has a hit in a text.
func finds(t *testing.T, query, text string) {
	t.Helper()
	hits, n := word.NewFinder(word.NewQuery(query)).Append(nil, text, 0)
	if len(hits) == 0 || n == 0 {
		t.Errorf("%q is not found in %q: terms %q and %q", query, text, word.Terms(query), word.Terms(text))
	}
}

// TestNormal keeps what makes two words of one another.
func TestNormal(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"My dog is Zoë.", "my dog is Zoe\u0308."}, {"Straße", "STRASSE"}, {"ＣＡＦＥ", "cafe"}, {"don’t", "don't"},
	} {
		if word.Normal(same[0]) != word.Normal(same[1]) {
			t.Errorf("%q and %q are not the same", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{"résumé", "resume"}, {"ピアノ", "ぴあの"}, {"過敏", "过敏"}} {
		if word.Normal(other[0]) == word.Normal(other[1]) {
			t.Errorf("%q and %q are the same", other[0], other[1])
		}
		if word.Fold(other[0]) != word.Fold(other[1]) {
			t.Errorf("%q and %q are not searched alike", other[0], other[1])
		}
	}
}

// texts draws texts of several scripts.
func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		one := rapid.OneOf(rapid.StringMatching(`[a-z]{0,4}(y|ed|ing|ies|en|es)`), rapid.SampledFrom([]string{
			"squat", "Squats", "squatting", "the", "dying", "dies", "skis", "knee's", "'", "don't", "2026", "x", "aing",
			"cry", "cried", "my-knees", "Kniebeuge", "naïve", "e\u0301t\u00e9", "l’eau", "Straße", "’", "…", "㎏", "ｄ＇ａ",
			"東京", "東京都", "東", "ピアノが", "ﾋﾟｱﾉ", "か\u3099", "々", "過敏，发", "我用Python写", "책을", "부산에서", "เข่า",
			"Новосибирске", "الركبة", "घुटना", "ich und du", "de la",
		}), rapid.String())
		between := rapid.SampledFrom([]string{" ", "", ", "}).Draw(t, "between")
		return strings.Join(rapid.SliceOf(one).Draw(t, "words"), between)
	})
}

// TestFinder compares a finder with Terms: in its own text, a query has each of its terms, as often.
func TestFinder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		q := word.NewQuery(text)
		want, got := map[string]int{}, map[string]int{}
		for _, term := range word.Terms(text) {
			want[term]++
		}
		hits, n := word.NewFinder(q).Append(nil, text, 0)
		for _, h := range hits {
			if got[q.Terms()[h.Term]]++; int(h.At) < 1 || int(h.At) > n {
				t.Fatalf("%q: hit at %d of %d words", text, h.At, n)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-terms +found)\n%s", text, diff)
		}
	})
}

// TestFoldIsStable folds what is folded already.
func TestFoldIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cherokee, r) { // its capital letters and small ones are folded to each other
				return -1
			}
			return r
		}, texts().Draw(t, "text"))
		if once := word.Fold(text); word.Fold(once) != once {
			t.Fatalf("%q is folded to %q, and that to %q", text, once, word.Fold(once))
		}
		if once := word.Normal(text); word.Normal(once) != once {
			t.Fatalf("%q has the form %q, and that %q", text, once, word.Normal(once))
		}
	})
}

// TestWordsAreThoseOfTheStandard cuts no word that Unicode Standard Annex 29 keeps together, but at what is no letter.
func TestWordsAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	text := "Anna’s knee hurt 3 times; das Knie, la rodilla, колено, الركبة, घुटना, 2026-11-28 e.g. x_y"
	var want []string
	for each := words.FromString(word.Fold(text)); each.Next(); {
		want = append(want, strings.FieldsFunc(each.Value(), func(r rune) bool {
			return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && r != '\''
		})...)
	}
	if diff := cmp.Diff(want, slices.Collect(word.RunsOf(text))); diff != "" {
		t.Errorf("(-standard +words)\n%s", diff)
	}
}
