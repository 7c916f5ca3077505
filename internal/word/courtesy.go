package word

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/throughline/throughline/internal/truncate"
)

// courtesyWords are the words of courtesies of each language. A receipt says only that another message was received,
// and an assent is one that may answer a question. The rest are of greetings, farewells, refusals, and of asking how
// somebody is.
var courtesyWords = []struct{ assents, receipts, rest string }{
	{ // English
		`yes yep yeah sure right have that done will do`,
		`noted ok okay k kk got it understood thing thanks thank you very much great good cool nice
		alright all fine perfect
		i see for now`,
		`hi hello hey hiya howdy bye goodbye morning afternoon evening night no nope there how are`,
	},
	{ // Mandarin
		`是 是的 对 对的`,
		`好 好的 好吧 好啊 嗯 嗯嗯 谢谢 谢谢你 谢谢您 谢谢啦 多谢 感谢 明白 明白了 知道了 收到 了解 行 没问题`,
		`你好 您好 你好呀 你好啊 你们好 大家好 嗨 哈喽 早 早安 早上好 上午好 中午好 下午好 晚上好 晚安 再见 拜拜 不 不用 不用了 你好吗 您好吗
		最近怎么样`,
	},
	{ // Hindi
		`हाँ हां जी`, `धन्यवाद शुक्रिया ठीक है अच्छा समझ गया गई`,
		`बहुत नमस्ते नमस्कार हैलो हाय सुप्रभात शुभ प्रभात रात्रि संध्या कैसे हैं हो आप तुम अलविदा नहीं`,
	},
	{ // Spanish
		`sí`, `anotado entendido vale gracias bien claro perfecto`,
		`muchas hola buenos buenas días tardes noches qué tal cómo estás está muy y tú adiós hasta luego por favor no`,
	},
	{ // French
		`oui`, `bien noté compris merci reçu d accord parfait`,
		`beaucoup bonjour bonsoir salut coucou ça va comment allez vous vas tu et toi au revoir bonne
		nuit journée non s il te plaît
		très`,
	},
	{ // Arabic
		`نعم أجل`, `شكرا تمام حسنا فهمت`,
		`جزيلا لك مرحبا أهلا وسهلا السلام عليكم وعليكم صباح الخير النور مساء كيف حالك الحال مع السلامة لا
		تصبح على خير طيب`,
	},
	{ // Bengali
		`হ্যাঁ জি`, `ধন্যবাদ আচ্ছা ঠিক আছে বুঝেছি`,
		`হ্যালো হাই নমস্কার সালাম আসসালামু আলাইকুম শুভ সকাল সন্ধ্যা রাত্রি কেমন আছেন আছো আছ আপনি তুমি বিদায় না`,
	},
	{ // Portuguese
		`sim`, `anotado entendi obrigado obrigada certo perfeito`,
		`muito olá oi bom boa dia tarde noite tudo bem tchau como vai você está e não até logo por favor`,
	},
	{ // Russian
		`да ага`, `спасибо понял поняла понятно хорошо ладно ок окей ясно`,
		`большое привет здравствуйте здравствуй доброе утро добрый день вечер доброй ночи как дела ты вы
		пока до свидания нет у тебя вас`,
	},
	{ // Urdu
		`ہاں جی`, `شکریہ ٹھیک ہے اچھا سمجھ گیا گئی`,
		`بہت ہیلو ہائے سلام السلام علیکم وعلیکم آداب صبح بخیر شب کیسے کیا ہیں ہو حال آپ تم خدا حافظ نہیں`,
	},
	{ // German
		`ja`, `notiert verstanden alles klar gut danke okay`,
		`schön vielen dank hallo guten morgen tag abend nacht gute grüezi grüzi moin servus tschüss
		tschüs wie geht gehts s es dir
		ihnen bitte nein sehr prima genau`,
	},
	{ // Japanese
		`はい うん ええ`,
		`ありがとう ありがとうございます ありがとうございました どうも 了解 了解です 了解しました 分かりました わかりました わかった オッケー`,
		`こんにちは こんにちわ こんばんは おはよう おはようございます おやすみ おやすみなさい もしもし やあ さようなら じゃあね いいえ お元気ですか
		元気ですか よろしく よろしくお願いします`,
	},
	{ // Indonesian
		`ya iya`, `terima kasih makasih baik oke siap`,
		`halo hai selamat pagi siang sore malam apa kabar tidak sampai jumpa banyak`,
	},
	{ // Italian
		`sì`, `certo grazie capito va bene perfetto`,
		`mille ciao buongiorno buonasera buonanotte buona sera notte salve come stai sta arrivederci prego e tu no`,
	},
	{ // Dutch
		`ja`, `bedankt dank je begrepen goed prima oké`,
		`wel u hoi hé hallo goedemorgen goedemiddag goedenavond goedenacht hoe gaat het er ermee met jou
		doei dag nee alstublieft
		alsjeblieft`,
	},
	{ // Korean
		`네 예 응`, `감사합니다 고마워 고마워요 고맙습니다 알겠습니다 알겠어요 알았어 좋아 좋아요 오케이`,
		`안녕 안녕하세요 안녕하십니까 안녕히 잘 자 잘자 자요 잘자요 지내 지냈어 지내세요 아니요 반가워요`,
	},
}

// maxReceiptWords is how many words a receipt has at most, maxCourtesyBytes how much of a message is read.
const (
	maxReceiptWords  = 6
	maxCourtesyBytes = 200
)

// courtesies are the folded words: assents, receipts with them, and all words of each language.
type courtesies struct {
	assents, receipts map[string]bool
	languages         []map[string]bool
}

var readCourtesies = sync.OnceValue(func() courtesies {
	c := courtesies{assents: map[string]bool{}, receipts: map[string]bool{}}
	for _, of := range courtesyWords {
		language := map[string]bool{}
		addWords(of.assents, c.assents, c.receipts, language)
		addWords(of.receipts, c.receipts, language)
		addWords(of.rest, language)
		c.languages = append(c.languages, language)
	}
	return c
})

func addWords(text string, sets ...map[string]bool) {
	for word := range strings.FieldsSeq(Fold(text)) {
		for _, set := range sets {
			set[word] = true
		}
	}
}

// IsCourtesy reports whether a message has words, and only those of a receipt, or of greetings in one language.
func IsCourtesy(message string) bool {
	if len(message) > maxCourtesyBytes {
		return false
	}
	words := slices.Collect(courtesyOf(message))
	isOf := func(language map[string]bool) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !language[w] })
	}
	return IsReceipt(message) || len(words) > 0 && slices.ContainsFunc(readCourtesies().languages, isOf)
}

// IsReceipt reports whether a message says nothing but that another one was received: "Noted.", "Ok, thanks!".
func IsReceipt(message string) bool {
	n, _ := countReceipt(message)
	return n > 0
}

// countReceipt counts the words of a receipt, and those of them that may answer a question. Another message has none:
// it is read to the first word that tells so, because each message of a prompt is read.
func countReceipt(message string) (n, assenting int) {
	known := readCourtesies()
	for word := range courtesyOf(message) {
		if n++; n > maxReceiptWords || !known.receipts[word] {
			return 0, 0
		}
		if known.assents[word] {
			assenting++
		}
	}
	return n, assenting
}

// courtesyOf returns the folded words of the beginning of a message, in scripts without spaces what is between two
// separators.
func courtesyOf(message string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for run := range strings.FieldsFuncSeq(truncate.Bytes(message, maxCourtesyBytes), isBetweenWords) {
			if !yield(Fold(run)) {
				return
			}
		}
	}
}

func isBetweenWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// HasContent reports whether somebody may look for a message: it has a letter or a digit, and is no receipt, unless it
// may answer a question.
func HasContent(message string) bool {
	words, assenting := countReceipt(message)
	isSaid := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	return words == assenting && strings.ContainsFunc(message, isSaid)
}
