package offlinemodel

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// firstPerson are the turns of phrase that need more than a verb's ending changed; the order matters.
var firstPerson = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?i)\bi(?:'m| am)\b`), "the user is"},
	{regexp.MustCompile(`(?i)\bi(?:'ve| have)\b`), "the user has"},
	{regexp.MustCompile(`(?i)\bi was\b`), "the user was"},
	{regexp.MustCompile(`(?i)\bi(?:'ll| will)\b`), "the user will"},
	{regexp.MustCompile(`(?i)\bi(?:'d| would)\b`), "the user would"},
	{regexp.MustCompile(`(?i)\bi don't\b`), "the user doesn't"},
	{regexp.MustCompile(`(?i)\bi do\b`), "the user does"},
	{regexp.MustCompile(`(?i)\bmyself\b`), "themselves"},
	{regexp.MustCompile(`(?i)\bmine\b`), "theirs"},
	{regexp.MustCompile(`(?i)\bme\b`), "them"},
	{regexp.MustCompile(`(?i)\bmy\b`), "the user's"},
}

var (
	firstPersonVerb = regexp.MustCompile(`(?i)\bi ((?:only|also|really|always|usually|never|currently|just|still|often|now) )?([a-z]+)\b`)
	loneFirstPerson = regexp.MustCompile(`\bI\b`)
	modalVerb       = regexp.MustCompile(`^(?:can|could|will|would|should|might|must|may|had|did|was|cannot|\w+ed)$`)
)

// thirdPerson turns what a user says of themselves into a sentence about the user, as far as rules go.
func thirdPerson(lex *lexicon, sentence string) string {
	for _, phrase := range firstPerson {
		sentence = phrase.from.ReplaceAllString(sentence, phrase.to)
	}
	sentence = firstPersonVerb.ReplaceAllStringFunc(sentence, func(found string) string {
		m := firstPersonVerb.FindStringSubmatch(found)
		return "the user " + m[1] + presentTense(lex, m[2])
	})
	return capitalize(loneFirstPerson.ReplaceAllString(sentence, "the user"))
}

// presentTense gives a verb its ending in the third person; past forms and modal verbs have none.
func presentTense(lex *lexicon, verb string) string {
	_, irregularPast := lex.forms[verb]
	switch {
	case irregularPast || modalVerb.MatchString(verb):
		return verb
	case verb == "have":
		return "has"
	case strings.HasSuffix(verb, "y") && len(verb) > 1 && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
		return verb[:len(verb)-1] + "ies"
	case strings.HasSuffix(verb, "o"), strings.HasSuffix(verb, "s"), strings.HasSuffix(verb, "sh"),
		strings.HasSuffix(verb, "ch"), strings.HasSuffix(verb, "x"):
		return verb + "es"
	default:
		return verb + "s"
	}
}

func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
