package quote

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/word"
)

// minContent is how many words with content a person repeats who says the same again, if the text has as many.
const minContent = 2

// shortContent is the length up to which a word of Latin letters says too little.
const shortContent = 2

// everyday are words with which people ask and tell anything, beside the stop words.
var everyday = sync.OnceValue(func() map[string]bool { return setOf(strings.Fields(word.Fold(everydayWords))) })

const everydayWords = `
	think know want wanted need like feel feeling get getting got go going make making tell say said help can could would
	should really please thanks today maybe sure still even idea thing things something anything much many lot bit let
	weiß weißt wissen machen mache macht tun soll sollte sollen denke denkst denken meinst meine glaube finde findest kann
	könnte muss möchte gehen gehe geht sagen sagst bitte heute vielleicht eigentlich mal schon gerade etwas viel idee
	sé sabes saber hacer hago haces piensas pienso crees creo puedo puedes podría quiero quieres debo debería decir hoy
	ahora algo cosa cosas bien tan opinas parece
	sais savoir pense penses crois peux pourrais veux dois devrais faire fais fait dire dis aujourd hui quoi bien chose
	choses vraiment comment trop
	sei sabe saber acho acha fazer faço posso pode poderia quero devo deveria dizer hoje agora coisa bem
	so che cosa fare faccio pensi penso credo posso voglio devo dovrei dire oggi
	знаю знаешь думаешь думаю делать могу хочу должен должна надо нужно сказать сегодня просто очень
	اعرف تعرف اعتقد تعتقد رايك اريد يجب افعل ماذا كيف يمكنني اليوم شيء هل انا
	मैं मुझे मेरा मेरी मेरे आप आपको क्या कैसे पता नहीं चाहिए करूं करूँ सोचते सोचता लगता बारे हूं हूँ रहा रही आज बहुत
	saya kamu tahu harus bagaimana menurutmu tentang apa bisa mau ingin hari`

// everydayDense takes such words out of texts in scripts without spaces.
var everydayDense = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(strings.Fields(strings.Join(strings.Fields(word.Fold(denseWords)), " | ") + " |")...)
})

const denseWords = `
	我 你 他 她 您 不知道 知道 觉得 认为 应该 怎么办 怎么做 怎么样 怎么 什么 该 要 想 可以 能 会 不 了 的 吗 呢 吧 对 关于 有 没有 是 在 和 这个 那个 这 那
	就 才好 比较 现在 今天 很 请 帮 告诉 说 做 事情 一下 如果 私 僕 俺 思 言 教え 何 今日 今 方法 意見`

// hasContent reports whether a folded word says what a text is about.
func hasContent(w string, isSmall func(string) bool) bool {
	first, _ := utf8.DecodeRuneInString(w)
	isShort := unicode.Is(unicode.Latin, first) && utf8.RuneCountInString(w) <= shortContent
	isPlain := func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Digit) || r == 'ー' }
	return !isShort && !everyday()[w] && !isSmall(w) && strings.ContainsFunc(w, func(r rune) bool { return !isPlain(r) })
}

// contentOf returns the words of a text with content, or pairs of characters in scripts without spaces.
func contentOf(text string, isSmall func(string) bool) map[string]bool {
	content := map[string]bool{}
	for _, w := range word.Split(everydayDense().Replace(word.Fold(text))) {
		if hasContent(w, isSmall) {
			content[w] = true
		}
	}
	return content
}
