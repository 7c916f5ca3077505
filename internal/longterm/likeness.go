package longterm

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/throughline/throughline/internal/word"
)

// Likeness is what stays of a forgotten text: enough to know the same fact again in other words, and too little to read
// the text. Each number is the hash of the beginning of one of its words in twelve bits. More than a hundred words of a
// language have the same number.
type Likeness []uint16

const (
	// likenessBits is the length of a word's hash.
	likenessBits = 12
	// stemRunes is how much of a word counts, so that "allergic" and "allergy" are one. Words of other scripts than those
	// with capital letters are compared whole: they are short.
	stemRunes = 6
	// shortWord is the length up to which a word of an alphabet says too little.
	shortWord = 3
	// likeShare is the share, in percent, of a forgotten text's words that another text has if it says the same.
	likeShare = 70
	// maxLikeWords bounds a likeness.
	maxLikeWords = 64
)

const userWords = `
	user users user's nutzer nutzerin benutzer usuario usuaria utilisateur utilisatrice
	utente gebruiker användaren bruger brugeren brukeren użytkownik użytkowniczka пользователь користувач kullanıcı`

// users are the words by which a memory names the user, subjects these and others that most memories have. They
// distinguish nothing.
var users = stemsOf(userWords)

var subjects = stemsOf(userWords + `
	that with from they their this have does dass sich sein seine ihre eine einen einem einer kein keine keinen hat
	haben nicht auch gegen para como tiene esta avec dans pour elle sont della sono dalla`)

// articles are words that say nothing of whom a memory is about, and those that name the user and are in likenesses.
var articles = stemsOf(`
	उपयोगकर्ता المستخدم المستخدمة ব্যবহারকারী صارف usuário usuária pengguna
	the of my der die das des den dem mein meine el la los las le les il lo de del di du mi mis mon ma mes`)

// denseUsers takes out what names the user in scripts without spaces.
var denseUsers = strings.NewReplacer(
	"用户", " ", "用戶", " ", "使用者", " ", "ユーザー", " ", "ゆーざー", " ", "사용자", " ", "ผู้ใช้", " ")

const lightWords = `
	take takes taking took taken use uses using used have has had having been being was were now also still lives living
	from since vanaf sinds dal da
	nimmt nehmen nahm hatte wird wurde wohnt lebt seit toma tomar tiene vive está desde prend prendre était depuis tem
	для есть принимает है हैं था थी को से का की के में في من على لديه لديها
	は が を に の で と も へ あ り る ま す し た て い っ だ な う 对 對 有 了 在 的 是 会 會 着 就 也 都 和 与 从 自 起 现 已 将 开 始`

// light are words by which a statement is put in other words and stays the same. A likeness has the hashes of some.
var light = stemsOf(lightWords)

var lightHashes = hashesOf(lightWords)

// stemsOf returns the beginnings of a list's words. They are made when they are first asked for, so that a function
// that needs none starts without.
func stemsOf(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for each := range strings.FieldsSeq(list) {
			out[stem(word.Fold(each))] = true
		}
		return out
	})
}

// NewLikeness returns the likeness of a text.
func NewLikeness(content string) Likeness {
	var out Likeness
	for _, s := range stems(content) {
		out = out.with(s)
	}
	return out
}

// with returns the likeness with one word more. It is sorted.
func (l Likeness) with(word string) Likeness {
	n := hashOf(word)
	at, has := slices.BinarySearch(l, n)
	if has || len(l) == maxLikeWords {
		return l
	}
	return slices.Insert(l, at, n)
}

func hashOf(word string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(word))
	return uint16(h.Sum32() >> (32 - likenessBits))
}

// Resembles reports whether a text says what the forgotten text said: it has seven tenths of its words, and none with
// content takes the place of another. "Allergic to peanuts" is not "allergic to walnuts", however long both texts are.
// One word alone is enough only where the other text has hardly more.
func (l Likeness) Resembles(content string) bool {
	of := NewLikeness(content)
	same := 0
	for _, n := range l {
		if slices.Contains(of, n) {
			same++
		}
	}
	if len(l) < 2 {
		return same > 0 && len(of) <= 2
	}
	lacks, adds := l.difference(content)
	return same >= 2 && same*100 >= len(l)*likeShare && !(lacks && adds)
}

// difference reports whether a text lacks words of the forgotten one, and whether it adds words to it. Light words, and
// small words that are added, do not count.
func (l Likeness) difference(content string) (lacks, adds bool) {
	of, isSmall := append(NewLikeness(content), lightHashes()...), word.IsSmall(content)
	lacks = slices.ContainsFunc(l, func(n uint16) bool { return !slices.Contains(of, n) })
	adds = slices.ContainsFunc(distinctive(content), func(w string) bool {
		return !slices.Contains(l, hashOf(stem(w))) && !light()[stem(w)] && !isSmall(w)
	})
	return lacks, adds
}

// newSubject returns the likeness of the words that say whom a memory is about, the short ones among them. It is empty
// for the user.
func newSubject(about string) Likeness {
	var out Likeness
	for _, s := range SubjectWords(about) {
		out = out.with(s)
	}
	return out
}

// SubjectWords returns the beginnings of the words of a text that may name whom it is about, the short ones among them:
// none that names the user, and no articles.
func SubjectWords(text string) (out []string) {
	for each := words.FromString(denseUsers.Replace(word.Fold(text))); each.Next(); {
		if s := stem(each.Value()); isWord(s) && !subjects()[s] && !articles()[s] {
			out = append(out, s)
		}
	}
	return out
}

// saidIn returns the beginnings of all words of a text, sorted, but for articles and those that name the user.
func saidIn(text string) (out []string) {
	for each := words.FromString(word.Fold(text)); each.Next(); {
		if s := stem(each.Value()); isWord(s) && !users()[s] && !articles()[s] {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// DifferInAWord reports whether two texts are the same but for one word each, in another form: who is allergic to figs
// is not known to be when an allergy to kiwis is, and one dose is not the other.
//
// A text of three words says too little. Words that begin with the same four letters are forms of one. So are the
// numbers of two days, where one was put in the place of the other.
func DifferInAWord(a, b string, days ...[2]Moment) bool {
	const fewWords, formRunes = 3, 4
	ofA, ofB := saidIn(a), saidIn(b)
	onlyA, onlyB := without(ofA, ofB), without(ofB, ofA)
	if len(ofA) <= fewWords || !isOneWord(onlyA, a) || !isOneWord(onlyB, b) {
		return false
	}
	isMoved := func(d [2]Moment) bool { return d[0].isNumber(onlyA[0]) && d[1].isNumber(onlyB[0]) }
	if slices.ContainsFunc(days, isMoved) {
		return false
	}
	runes := []rune(onlyA[0])
	return unicode.IsDigit(runes[0]) || !strings.HasPrefix(onlyB[0], string(runes[:min(len(runes), formRunes)]))
}

// isOneWord reports whether words of a text are one: a single one, or characters beside each other in a script without
// spaces, where a character is a word (Unicode Standard Annex 29).
func isOneWord(of []string, text string) bool {
	const maxCharacters = 6
	if len(of) <= 1 || len(of) > maxCharacters {
		return len(of) == 1
	}
	folded, from, to, size := word.Fold(text), math.MaxInt, 0, 0
	for _, w := range of {
		if first, _ := utf8.DecodeRuneInString(w); !unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Thai) {
			return false
		}
		at := strings.Index(folded, w)
		from, to, size = min(from, at), max(to, at+len(w)), size+len(w)
	}
	return to-from == size
}

// without returns the words of a list that are not in another one, and not light.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(w string) bool { return light()[w] || slices.Contains(other, w) })
}

// namesIn returns the likeness of the names in a text: words with a capital letter that begin no sentence, and numbers.
func namesIn(text string) (out Likeness) {
	begins := true
	for each := words.FromString(text); each.Next(); {
		w := each.Value()
		first, _ := utf8.DecodeRuneInString(w)
		switch {
		case !isWord(w):
			begins = begins || strings.ContainsAny(w, ".!?\n")
			continue
		case !begins && unicode.IsUpper(first), unicode.IsDigit(first):
			out = out.with(stem(word.Fold(w)))
		}
		begins = false
	}
	return out
}

// IsSameSubject reports whether two texts may name the same person: "Mia" and "Mia, the user's daughter". No text is
// the user.
func IsSameSubject(a, b string) bool { return newSubject(a).isSameSubject(newSubject(b)) }

func (l Likeness) isSameSubject(other Likeness) bool {
	if len(l) > len(other) {
		l, other = other, l
	}
	isMissing := func(n uint16) bool { return !slices.Contains(other, n) }
	return len(l) > 0 && !slices.ContainsFunc(l, isMissing) || len(other) == 0
}

// Bytes returns the likeness as it is stored, LikenessOf reads it.
func (l Likeness) Bytes() []byte {
	var out []byte
	for _, n := range l {
		out = binary.BigEndian.AppendUint16(out, n)
	}
	return out
}

// LikenessOf is the inverse of Bytes.
func LikenessOf(b []byte) Likeness {
	var out Likeness
	for ; len(b) >= 2; b = b[2:] {
		out = append(out, binary.BigEndian.Uint16(b))
	}
	return out
}

// stems returns the beginnings of the words of a text that distinguish it.
func stems(content string) []string {
	out := distinctive(content)
	for i, w := range out {
		out[i] = stem(w)
	}
	return out
}

// distinctive returns the words of a text that distinguish it (Unicode Standard Annex 29).
func distinctive(content string) (out []string) {
	for each := words.FromString(word.Fold(content)); each.Next(); {
		w := each.Value()
		if !isWord(w) {
			continue
		}
		first, _ := utf8.DecodeRuneInString(w)
		isShort := hasCase(first) && utf8.RuneCountInString(w) <= shortWord
		if !isShort && !subjects()[stem(w)] {
			out = append(out, w)
		}
	}
	return out
}

// isWord reports whether a part of a text is a word, and no space or mark.
func isWord(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(first) || unicode.IsDigit(first)
}

// stem returns the beginning of a word.
func stem(word string) string {
	runes := []rune(word)
	if len(runes) > 0 && hasCase(runes[0]) && len(runes) > stemRunes {
		return string(runes[:stemRunes])
	}
	return word
}

// hasCase reports whether a letter is of a script with capital letters.
func hasCase(r rune) bool { return unicode.ToUpper(r) != r || unicode.ToLower(r) != r }
