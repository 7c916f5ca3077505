package longterm

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/throughline/throughline/internal/word"
)

// namedShare is the share, in percent, of the words of a request to forget that a memory has if it is meant.
const namedShare = 60

// Named returns the memories that a request to forget names, such as "my peanut allergy": those about whom it names
// that have all of its other words, or else three fifths of them. What it misses, because it is said in other words, is
// left to extraction, which reads the message with a model. isClear is false where one has to ask which is meant: they
// have not all words, they are about different people, or about others and the request names nobody, or it names
// somebody and says "I" or "not", and the user's own have its words.
func Named(text string, memories []Memory) (named []Memory, isClear bool) {
	r := newRequest(text, memories)
	asked := r.topic()
	meant := slices.DeleteFunc(slices.Clone(memories), func(m Memory) bool { return !r.isAbout(m) })
	named, isClear = matching(asked, meant)
	others := slices.DeleteFunc(slices.Clone(memories), func(m Memory) bool {
		return r.isAbout(m) || len(r.people) > 0 && len(newSubject(m.About)) > 0
	})
	isOfTwo := len(r.people) > 0 && slices.ContainsFunc(strings.Fields(word.Normal(text)), isContrast)
	if isOfTwo || len(named) == 0 && len(r.people) == 0 {
		if found, _ := matching(asked, others); len(found) > 0 {
			return append(found, named...), false
		}
	}
	about := slices.DeleteFunc(slices.Clone(named), func(m Memory) bool { return m.About == "" })
	isOther := func(m Memory) bool { return !IsSameSubject(m.About, about[0].About) }
	return named, isClear && !slices.ContainsFunc(about, isOther)
}

// matching returns the memories that have all of the words, or else those that have three fifths of them.
func matching(asked []string, memories []Memory) (found []Memory, hasAll bool) {
	var all, some []Memory
	for _, m := range memories {
		of, same := topicOf(m.Content+" "+m.About, func(string) bool { return false }), 0
		for _, word := range asked {
			if slices.ContainsFunc(of, func(w string) bool { return alike(word, w) }) {
				same++
			}
		}
		switch {
		case same == len(asked):
			all = append(all, m)
		case same > 0 && same*100 >= len(asked)*namedShare:
			some = append(some, m)
		}
	}
	if len(all) > 0 || len(some) == 0 {
		return all, true
	}
	return some, false
}

// request is a wish to forget, read for whom it names.
type request struct {
	text  string // as it was said
	words []string
	// same reports whether two words are the same name.
	same func(a, b string) bool
	// people are the words of the request that name somebody. closest are the memories about whom most of them name.
	people  []string
	closest []Memory
}

// newRequest reads a text. A name in it stands for the memories about whoever has most of these words: "my son Leo" are
// not those about another son. Only where none is the same is a name with another ending one: "Leos Allergie".
func newRequest(text string, memories []Memory) *request {
	r := newSaid(text)
	if r.find(memories); len(r.closest) == 0 {
		r.same = isInflected
		r.find(memories)
	}
	isSmall := word.IsSmall(text)
	for each := words.FromString(word.Normal(text)); each.Next(); {
		owner, isPossessive := strings.CutSuffix(each.Value(), "'s")
		if isPossessive && !users()[stem(owner)] && !isSmall(owner) {
			r.people = append(r.people, word.Fold(owner))
		}
	}
	r.people = append(r.people, newSaid(text).namesOf(relations())...)
	return r
}

// newSaid reads a text in which names have to be the same.
func newSaid(text string) *request {
	return &request{text: text, words: namingWords(text), same: func(a, b string) bool { return a == b }}
}

// find finds the people of memories whom the request names.
func (r *request) find(memories []Memory) {
	most := 0
	for _, m := range memories {
		if m.About == "" {
			continue
		}
		named := r.namesOf(personWords(m))
		r.people = append(r.people, named...)
		if len(named) > most {
			most, r.closest = len(named), nil
		}
		if len(named) > 0 && len(named) == most {
			r.closest = append(r.closest, m)
		}
	}
}

// isAbout reports whether a memory may be meant: it is about one whom the request names, or the user's own and either
// the request names nobody or the memory mentions whom it names.
func (r *request) isAbout(m Memory) bool {
	if len(newSubject(m.About)) > 0 {
		isSame := func(c Memory) bool { return IsSameSubject(c.About, m.About) }
		return len(r.namesOf(personWords(m))) > 0 && slices.ContainsFunc(r.closest, isSame)
	}
	of := newSaid(m.Content)
	of.same = isInflected
	return len(r.people) == 0 || len(of.namesOf(r.people)) > 0
}

// namesOf returns which of the words of a person the request has.
func (r *request) namesOf(of []string) (out []string) {
	folded := word.Fold(r.text)
	for _, name := range of {
		first, _ := utf8.DecodeRuneInString(name)
		if !unicode.In(first, dense...) {
			at := slices.IndexFunc(r.words, func(w string) bool { return r.same(w, name) })
			if at >= 0 && !slices.Contains(out, r.words[at]) {
				out = append(out, r.words[at])
			}
			continue
		}
		parts := []string{name}
		if unicode.Is(unicode.Han, first) && utf8.RuneCountInString(name) > 2 {
			parts = word.Terms(name) // a part of a full name is enough
		}
		at := slices.IndexFunc(parts, func(part string) bool { return strings.Contains(folded, part) })
		if at >= 0 && !slices.Contains(out, parts[at]) {
			out = append(out, parts[at])
		}
	}
	return out
}

// topic returns what the request says besides whom it names. What names nobody and says nothing has a word that no
// memory has.
func (r *request) topic() []string {
	asked := topicOf(r.text, func(w string) bool { return len(newSaid(w).namesOf(r.people)) > 0 })
	if len(asked) == 0 && len(r.people) == 0 {
		return []string{""}
	}
	slices.Sort(asked)
	return slices.Compact(asked)
}

// topicOf returns the beginnings of the words of a text that say something, and the pairs of Chinese characters,
// without those that name somebody.
func topicOf(text string, names func(string) bool) (out []string) {
	isSmall, han := word.IsSmall(text), ""
	for each := words.FromString(word.Normal(text) + " "); each.Next(); {
		w := each.Value()
		first, _ := utf8.DecodeRuneInString(w)
		if unicode.Is(unicode.Han, first) && !light()[w] && !fillers()[w] {
			han += w
			continue
		}
		if names(han) {
			han = ""
		}
		out, han = append(out, word.Terms(han)...), ""
		isShort := hasCase(first) && utf8.RuneCountInString(w) == 1
		isEmpty := isSmall(w) || fillers()[stem(w)] || light()[w] && !hasCase(first) || subjects()[stem(w)]
		if isWord(w) && !isShort && !isEmpty && !names(w) {
			out = append(out, stem(word.Fold(strings.TrimSuffix(w, "'s"))))
		}
	}
	return out
}

// personWords returns the words by which a request may name whom a memory is about.
func personWords(m Memory) []string {
	about, isSmall := namingWords(m.About), word.IsSmall(m.About)
	about = slices.DeleteFunc(about, func(w string) bool {
		return isSmall(w) || articles()[stem(w)] || subjects()[stem(w)]
	})
	for _, w := range newSaid(m.Content).namesOf(relations()) {
		if !slices.Contains(about, w) {
			about = append(about, w)
		}
	}
	return about
}

// namingWords returns the folded words of a text, without the user's and without endings behind an apostrophe. In
// scripts without spaces it is cut where the script changes, and at the particles of names.
func namingWords(text string) (out []string) {
	start, last := -1, script(0)
	folded := denseUsers.Replace(word.Fold(text)) + " "
	for i, r := range folded {
		of := scriptOf(r)
		if unicode.Is(unicode.M, r) {
			of = last
		}
		if of == last && of != separator {
			continue
		}
		if last != separator && (utf8.RuneCountInString(folded[start:i]) > 1 || last == inHan) {
			out = append(out, folded[start:i])
		}
		start, last = i, of
	}
	return out
}

// script is how a character is written.
type script int

const (
	separator script = iota
	spaced
	inHan
	inOther
)

func scriptOf(r rune) script {
	switch {
	case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != 'ー', r == 'の', r == '的':
		return separator
	case unicode.Is(unicode.Han, r):
		return inHan
	case unicode.In(r, dense...):
		return inOther
	}
	return spaced
}

// dense are the scripts in which a word ends where another begins, or with a particle.
var dense = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer,
	unicode.Myanmar,
}

// fillers are words of a request that say nothing of what is meant.
var fillers = stemsOf(`
	everything anything all please know noted remember remembered said told mentioned bitte alles weißt gesagt todo sabes
	dije tudo sabe tout sais tutto sai всё все знаешь كل सब
	我 私 你 こ لدي عندي أن मुझे मेरा मेरी मेरे मैं`)

// isContrast reports whether a word of a request is the user as who does or has something, or denies something.
func isContrast(w string) bool {
	return slices.Contains(strings.Fields(`i i'm i've i'd ich yo soy je j'ai eu sou я मैं मुझे أنا لدي saya
		not nicht no pas não не नहीं ليس bukan`), strings.Trim(w, "(),.;:"))
}

// isInflected reports whether two folded words may be forms of one name: "leo" and "leos".
func isInflected(a, b string) bool {
	short, long := []rune(a), []rune(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(short) >= shortWord && len(long)-len(short) < shortWord && slices.Equal(short, long[:len(short)]) {
		return true
	}
	isForeign := len(short) > 0 && !unicode.Is(unicode.Latin, short[0])
	return a == b || isForeign && slices.Equal(word.Terms(a), word.Terms(b))
}

// alike reports whether two beginnings of words are of one word: "peanut" and "peanuts", "knie" and "knies".
func alike(a, b string) bool {
	if a == b {
		return true
	}
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) > shortWord && len(long)-len(short) == 1 && long[:len(short)] == short
}
