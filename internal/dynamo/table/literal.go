package table

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// The builder of expressions takes brackets in a name for those of an index. A name that has some is written with other
// characters after a mark, and literalNames puts the brackets back.
const bracketMark = "\x00\x01"

var (
	hideBrackets = strings.NewReplacer("[", "\x02", "]", "\x03")
	showBrackets = strings.NewReplacer("\x02", "[", "\x03", "]")
)

// literal is the path of an attribute whose name the app chose.
func literal(name string) expression.NameBuilder {
	if strings.ContainsAny(name, "[]") {
		name = bracketMark + hideBrackets.Replace(name)
	}
	return expression.NameNoDotSplit(name)
}

func literalNames(names map[string]string) map[string]string {
	for placeholder, name := range names {
		if hidden, ok := strings.CutPrefix(name, bracketMark); ok {
			names[placeholder] = showBrackets.Replace(hidden)
		}
	}
	return names
}
