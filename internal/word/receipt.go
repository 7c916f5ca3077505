package word

import (
	"slices"
	"strings"
	"unicode"

	"github.com/throughline/throughline/internal/truncate"
)

// assents are receipts that may answer a question.
var assents = strings.Fields(`yes yep yeah sure right have that done will do`)

// receipts are the words of a message that only says that another one was received.
var receipts = strings.Fields(`noted ok okay k got it understood sure thing thanks thank you very much great good cool
	nice alright all right will do done fine perfect yes yep yeah i see for now have that
	notiert verstanden alles klar gut danke anotado entendido vale gracias bien noté compris merci bien reçu d accord
	anotado entendi obrigado obrigada
	好 好的 嗯 谢谢 謝謝 多谢 明白 了解 はい ありがとう ありがとうございます شكرا تمام حسنا धन्यवाद शुक्रिया ठीक है`)

const (
	// maxReceiptWords is how many words such a message has at most, maxReceiptBytes how much of it is read.
	maxReceiptWords = 6
	maxReceiptBytes = 200
)

// IsReceipt reports whether a message says nothing but that another one was received: "Noted.", "Ok, thanks!".
func IsReceipt(message string) bool {
	words, _ := receiptWords(message)
	return words > 0
}

// receiptWords counts the words of a receipt, and those of them that may answer a question. Another message has none.
func receiptWords(message string) (words, assenting int) {
	isSeparator := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }
	for word := range strings.FieldsFuncSeq(truncate.Bytes(message, maxReceiptBytes), isSeparator) {
		word = strings.ToLower(word)
		if words++; words > maxReceiptWords || !slices.Contains(receipts, word) {
			return 0, 0
		}
		if slices.Contains(assents, word) {
			assenting++
		}
	}
	return words, assenting
}

// HasContent reports whether somebody may look for a message: it has a letter or a digit, and is no receipt, unless it
// may answer a question.
func HasContent(message string) bool {
	words, assenting := receiptWords(message)
	isSaid := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	return words == assenting && strings.ContainsFunc(message, isSaid)
}
