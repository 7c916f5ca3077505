package longterm

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/word"
)

// relationWords are words for people in the user's life, in the languages of docs/languages.md, and calledWords those
// by which a statement says what somebody is called.
const (
	relationWords = `
	son daughter child children kid kids baby wife husband partner girlfriend boyfriend lover ex
	mother mom mum father dad parents brother
	sister grandmother grandma grandfather grandpa aunt uncle cousin nephew niece friend relationship colleague boss
	sohn tochter frau ehemann freundin freund liebhaber geliebte mutter mama vater papa bruder schwester oma opa
	hijo hija esposa esposo marido novia novio amante madre padre hermano hermana abuela abuelo amigo amiga
	fils fille femme mari amant mère père frère sœur amie ami filho filha mãe pai irmão irmã avó avô namorada namorado
	anak istri suami ibu ayah kakak adik
	сын сына сыну дочь дочери дочка жена жены муж мужа мать матери мама мамы отец отца папа брат брата сестра сестры друг
	любовник любовница
	ابن ابني ابنه ابنة ابنتي ابنته زوجة زوجتي زوجته زوجي والدتي امي والدي ابي اخي اختي صديقي
	बेटा बेटे बेटी पत्नी पति माँ मां पिता भाई बहन दोस्त ছেলে মেয়ে স্ত্রী স্বামী মা বাবা ভাই বোন بیٹا بیٹے بیٹی بیوی شوہر
	儿子 女儿 妻子 老婆 情人 恋人 丈夫 老公 妈妈 母亲 爸爸 父亲 哥哥 弟弟 姐姐 妹妹 朋友 同事 孩子
	息子 娘 妻 母 父 兄 弟 姉 妹 子供 友達 아들 딸 아내 남편 엄마 아빠 동생`
	calledWords = `
	called named name heißt heissen genannt namens llama llamado nombre appelle nom chama chamado nome зовут имя नाम
	اسمه اسمها يدعى নাম نام bernama 叫 名叫 名前 呼`
)

// relations are the folded words. A request that has one is not about the user.
var relations = sync.OnceValue(func() []string { return strings.Fields(word.Fold(relationWords)) })

// calledHashes, relationHashes and userHashes are those of a likeness, the last ones of particles and of the user in
// scripts without capital letters.
var (
	calledHashes, relationHashes = hashesOf(calledWords), hashesOf(relationWords)
	userHashes                   = hashesOf(`
		用户 用戶 使用者 ユーザー 사용자 उपयोगकर्ता المستخدم ব্যবহারকারী صارف pengguna
		は が を に の で と も あ り る す い だ さ ん 的 是 有 है का के की को`)
)

func hashesOf(list string) func() Likeness {
	return sync.OnceValue(func() (out Likeness) {
		for text := range strings.FieldsSeq(list) {
			for _, s := range stems(text) {
				out = append(out, hashOf(s))
			}
		}
		return out
	})
}

// isOf returns a function that reports whether a word is in one of the lists.
func isOf(lists ...func() Likeness) func(uint16) bool {
	return func(n uint16) bool {
		return slices.ContainsFunc(lists, func(l func() Likeness) bool { return slices.Contains(l(), n) })
	}
}

// isWho reports whether a word says who somebody is, or what somebody is called, and is no name.
var isWho = isOf(calledHashes, relationHashes, userHashes)

// person returns the likeness of the name of somebody of whom the forgotten memory said only who it is: "The user's
// lover is called Quentin". It is empty where the memory said more, which may have nothing to do with the name.
func (f Forgotten) person() (name Likeness) {
	known := f.About
	if slices.ContainsFunc(f.Content, isOf(calledHashes)) {
		known = slices.Concat(f.About, f.Names)
	}
	for _, n := range f.Content {
		if !isWho(n) && !slices.Contains(known, n) {
			return nil
		}
	}
	if !slices.ContainsFunc(f.Content, isOf(calledHashes, relationHashes)) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(known), isWho)
}

// isIn reports whether a text has one of the words of a name, or two of its characters in a script without spaces.
func (l Likeness) isIn(text string) bool {
	characters := 0
	for _, s := range SubjectWords(text) {
		s, _, _ = strings.Cut(s, "'")
		first, _ := utf8.DecodeRuneInString(s)
		switch {
		case !slices.Contains(l, hashOf(s)):
		case !unicode.In(first, unicode.Han, unicode.Hiragana):
			return true
		default:
			characters++
		}
	}
	return characters >= min(2, len(l)) && characters > 0
}
