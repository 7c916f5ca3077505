package untrusted_test

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/untrusted"
)

// isIgnored is Default_Ignorable_Code_Point, as UAX #44 derives it from the properties that package unicode has.
func isIgnored(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
		!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) &&
		!(0xfff9 <= r && r <= 0xfffb) && !(0x13430 <= r && r <= 0x1343f)
}

// TestEveryCharacter compares what is removed and what is blank with the tables of Unicode, for every character.
func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		removed := isIgnored(r) || unicode.Is(unicode.Noncharacter_Code_Point, r) || 0xfff9 <= r && r <= 0xfffb ||
			r == '\U0001d159' || unicode.IsControl(r)
		want := "a" + string(r) + "b"
		switch {
		case strings.ContainsRune("\r\v\f\u0085\u2028\u2029", r):
			want = "a\nb"
		case removed && r != '\t' && r != '\n':
			want = "ab"
		}
		if got := untrusted.Clean("a" + string(r) + "b"); got != want {
			t.Errorf("%U: %+q, want %+q", r, got, want)
		}
		blank := removed || unicode.IsSpace(r) || unicode.In(r, unicode.Mn, unicode.Me) || r == '\u2800'
		check.Equal(t, blank, untrusted.IsBlank(r), "%U: blank", r)
	}
}

// TestLanguagesAndEmojiStay cleans texts that need characters which are not seen.
func TestLanguagesAndEmojiStay(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Persian": "می\u200cخواهم",
		"Hindi":   "क्\u200dष क्\u200cष", "Malayalam": "അവന\u0d4d\u200d വന്നു",
		"Bengali": "র\u200d্যাম",
		"Sinhala": "ශ්\u200dරී", "Thai": "ภาษา\u200bไทย", "Khmer": "ភាសា\u200bខ្មែរ", "Mongolian": "ᠪᠣᠯᠤᠭ\u180eᠠ ᠠ\u180b",
		"family": "👨\u200d👩\u200d👧", "heart": "❤\ufe0f", "heart on fire": "❤\ufe0f\u200d🔥",
		"key cap":   "1\ufe0f\u20e3 #\ufe0f\u20e3",
		"text form": "☺\ufe0e", "skin": "👩🏽\u200d🚀", "flag": "🇩🇪", "exclamation": "‼\ufe0f", "information": "ℹ\ufe0f",
		"combining marks": "e\u0301 Zͥ", "right to left": "שלום, مرحبا 123", "Arabic number sign": "\u0600١٢",
	} {
		check.Equal(t, text, untrusted.Clean(text), "%s: %+q became", name, text)
	}
}

// TestRunsOfHiddenCharacters removes what could carry a text of its own: every selector could mean a byte, every tag
// for a letter, and a row of joiners for bits.
func TestRunsOfHiddenCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"😀\U000e0100\U000e01ef\ufe00\ufe01": "😀",
		"葛\U000e0100":                       "葛",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": "🏴",
		"❤\ufe0f\ufe0e\ufe0f\u200d\u200d\u200c🔥":                        "❤\ufe0f\u200d🔥",
		"ab\u200c\u200dc":            "abc",
		"ق\u200c\u200d\u200c\u200bف": "ق\u200cف",
		"\u200dا":                    "ا",
		"[\u200dINST]":               "[INST]",
		"x\u3164\u115f\u1160\uffa0y": "xy",
		"\u061cabc\u200e\u200f":      "abc",
		"in\u00advisible\u2062":      "invisible",
		"a\r\nb\rc\u2028d":           "a\nb\nc\nd",
		"\xff\xfea":                  "\ufffd\ufffda",
	} {
		got := untrusted.Clean(text)
		if got != want {
			t.Errorf("%+q became %+q, want %+q", text, got, want)
		}
		check.Equal(t, got, untrusted.Clean(got), "%+q is not clean", got)
	}
}

// FuzzClean checks that what was cleaned is clean, and that nothing that is seen is lost.
func FuzzClean(f *testing.F) {
	f.Add("a\u200d\ufe0f\u3164❤\ufe0f\u200d🔥\r\n\u2028\xff")
	f.Add("می\u200cخواهم <\u200b|im_start|> [\u3164INST]")
	f.Fuzz(func(t *testing.T, text string) {
		got := untrusted.Clean(text)
		if !utf8.ValidString(got) || untrusted.Clean(got) != got {
			t.Fatalf("%+q became %+q", text, got)
		}
		if before, after := visible(text), visible(got); before != after {
			t.Fatalf("%+q is seen as %+q, and was %+q", got, after, before)
		}
		broken := untrusted.BreakTokens(got)
		if strings.ReplaceAll(broken, `\`, "") != strings.ReplaceAll(got, `\`, "") {
			t.Fatalf("%+q lost something: %+q", got, broken)
		}
	})
}

// visible is a text without what a reader does not see.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if untrusted.IsBlank(r) {
			return -1
		}
		return r
	}, text)
}

// TestEveryControlToken breaks each token of tokens.txt, whatever is around it, and in other case and width.
func TestEveryControlToken(t *testing.T) {
	t.Parallel()
	list := check.Got(os.ReadFile("tokens.txt"))(t)
	tokens := 0
	for line := range strings.Lines(string(list)) {
		token := strings.TrimSpace(line)
		if token == "" || token[0] == '#' {
			continue
		}
		tokens++
		texts := []string{token, "so " + token + " it", token + token, "a" + token + "b"}
		if !strings.Contains(token, "~") && !strings.HasPrefix(token, "]") {
			wide := strings.NewReplacer("<", "＜", ">", "＞", "[", "［", "]", "］").Replace(token)
			texts = append(texts, strings.ToUpper(token), wide)
		}
		for _, text := range texts {
			got := untrusted.BreakTokens(text)
			if strings.Contains(got, token) || strings.ReplaceAll(got, `\`, "") != text || got == text {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	if tokens < 80 {
		t.Errorf("tokens.txt has %d tokens", tokens)
	}
}

// TestPlainBracketsStay checks that brackets which are no control tokens are not changed.
func TestPlainBracketsStay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a < b and c > d", "<3", "[x] done", "[ ] open", "list[0]", "[1] see", "[Coach - 2 days ago]", "<b>bold</b>",
		"[a link](https://example.org)", "x << 2 >> 1", "[[wiki]]", "<>", "[]", "< >", "[TODO]", "2 ] 3", "]~", "<a@b.c>",
		"[" + strings.Repeat("a", 100) + "_]", "<_>", "[:]", "〈引用〉",
	} {
		check.Equal(t, text, untrusted.BreakTokens(text), "%q became", text)
	}
}

// TestBreakTokensIsLinear compares the time for a text with that for one sixteen times as long. A search that looks
// ahead from each bracket to the end takes 256 times as long.
func TestBreakTokensIsLinear(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"<", "[", "< ", "[a", "</", "<\u200b", "]", "<a ", "[ \n", "<<"} {
		least := func(n int) time.Duration {
			text, least := strings.Repeat(piece, n), time.Hour
			for range 5 {
				start := time.Now()
				untrusted.BreakTokens(text)
				least = min(least, time.Since(start))
			}
			return least
		}
		if short, long := least(8<<10), least(128<<10); long > 100*short {
			t.Errorf("%q: %v for a text, %v for one sixteen times as long", piece, short, long)
		}
	}
}

func BenchmarkBreakTokens(b *testing.B) {
	for _, piece := range []string{"<", "[", "< ", "plain words "} {
		text := strings.Repeat(piece, 256<<10/len(piece))
		b.Run(piece, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				untrusted.BreakTokens(text)
			}
		})
	}
}

// TestControlTokensWithGaps breaks tokens with all that is not seen between their parts.
func TestControlTokensWithGaps(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || !untrusted.IsBlank(r) {
			continue
		}
		for _, parts := range [][2]string{{"<", "|im_start|>"}, {"[", "INST]"}, {"＜", "|x|>"}, {"[/", "INST]"}} {
			text := parts[0] + string(r) + parts[1]
			got := untrusted.BreakTokens(untrusted.Clean(text))
			check.Contains(t, got, `\`, "%U", r)
		}
	}
}

// TestNameData has what is no text in a prompt, and what looks like it and is.
func TestNameData(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("aGVsbG8+/=", 20)
	big := strings.Repeat("x", 100<<10)
	for name, tt := range map[string]struct{ text, want string }{
		"base64":                {"see " + data + " here", "see [… 1 KB of data] here"},
		"at both ends":          {data + "\nand\t" + data, "[… 1 KB of data]\nand\t[… 1 KB of data]"},
		"100 KB":                {big, "[… 100 KB of data]"},
		"minified code":         {strings.Repeat("if(a){b();}", 30), "[… 1 KB of data]"},
		"beside a letter":       {"é" + data, "é[… 1 KB of data]"},
		"a data URL in prose":   {"(" + "data:image/png;base64," + data + ") is it", "[… 1 KB of data] is it"},
		"one character fewer":   {data[1:], data[1:]},
		"words":                 {strings.Repeat("word ", 100), strings.Repeat("word ", 100)},
		"a language of its own": {strings.Repeat("膝が痛い", 100), strings.Repeat("膝が痛い", 100)},
		"nothing":               {"", ""},
	} {
		if got := untrusted.NameData(tt.text); got != tt.want {
			t.Errorf("%s: %.80q, want %.80q", name, got, tt.want)
		}
	}
}
