package offlinemodel

import "strings"

// language is one of the languages that the rules tell apart.
type language uint8

const (
	inEnglish language = iota
	inGerman
	inSpanish
	languages
)

// grammar holds the words that a language has most often. Words that two of them have tell nothing and are left out.
var grammar = [languages]map[string]bool{
	inEnglish: wordSet(`i the is are and of to my your you it that have with for on at was not this they we be had will
		don't i'm i've i'll can what how would about from but there`),
	inGerman: wordSet(`ich und der das die nicht ist bin mein meine meinen meiner habe mit für auf ein eine einen wir zu im
		auch aber wie was dein deine du mich mir kann kein keine seit nach von den dem jetzt heiße wohne möchte gegen`),
	inSpanish: wordSet(`yo el los las que de y en mi soy estoy tengo para con una un pero muy es se lo por mis al del
		cuando como qué está esta ahora vivo llamo puedo quiero hola más también ya desde`),
}

// languageOf returns the language of a text. A text without a word of grammar is taken for English.
func languageOf(lex *lexicon, text string) language {
	l, _ := languageSure(lex, text)
	return l
}

// languageSure returns the language of a text, and whether any word of it tells.
func languageSure(lex *lexicon, text string) (l language, sure bool) {
	var hits [languages]int
	for _, t := range tokenize(strings.ToLower(text)) {
		for l := range languages {
			isEnglish := lex.stop[t.word] && !grammar[inSpanish][t.word] && !grammar[inGerman][t.word]
			if grammar[l][t.word] || grammar[l][t.word+t.ending] || l == inEnglish && isEnglish {
				hits[l]++
			}
		}
		if strings.ContainsAny(t.word, "äöüß") {
			hits[inGerman]++
		}
		if strings.ContainsAny(t.word, "áéíóúñ") {
			hits[inSpanish]++
		}
	}
	best := inEnglish
	for l := range languages {
		if hits[l] > hits[best] {
			best = l
		}
	}
	return best, hits[best] > 0
}
