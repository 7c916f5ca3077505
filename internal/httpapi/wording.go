package httpapi

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// wordValidation words the framework's findings as everything else here is worded: as what follows a field's name in a
// sentence, in the terms of JSON. The texts are the library's own variables; %.0s takes an argument and says nothing.
func wordValidation() {
	validation.MsgUnexpectedProperty = "is not a field of this call"
	validation.MsgExpectedBoolean = "must be true or false"
	validation.MsgExpectedNumber = "must be a number"
	validation.MsgExpectedInteger = "must be a whole number"
	validation.MsgExpectedString = "must be a string"
	validation.MsgExpectedArray = "must be a list"
	validation.MsgExpectedObject = "must be an object"
	validation.MsgExpectedOneOf = "must be one of \"%s\""
	validation.MsgExpectedMinimumNumber = "must be at least %.10g"
	validation.MsgExpectedMaximumNumber = "must be at most %.10g"
	validation.MsgExpectedMinLength = "must have %d or more characters"
	validation.MsgExpectedMaxLength = "must have %d or fewer characters"
	validation.MsgExpectedMinItems = "must have %d or more items"
	validation.MsgExpectedMaxItems = "must have %d or fewer items"
	validation.MsgExpectedBePattern = "must be %s"
	validation.MsgExpectedRFC5322Email = "must be an e-mail address%.0s"
}

// worded are the texts of the framework that are no variables, as it reads parameters.
var worded = map[string]string{
	"invalid integer": "must be a whole number", "invalid boolean": "must be true or false", "invalid float": "must be a number",
}

// fieldOf names a field as the client wrote it: "messages[3].role", not "body.messages[3]" with a sentence about role.
func fieldOf(d *huma.ErrorDetail) fieldProblem {
	field, message := d.Location, strings.TrimPrefix(d.Message, "invalid value: ")
	for _, source := range []string{"body", "query", "path", "header"} {
		if rest, ok := strings.CutPrefix(field, source+"."); ok {
			field = rest
			break
		}
	}
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	if rest, ok := strings.CutPrefix(message, before); ok && strings.HasSuffix(rest, after) {
		field, message = join(field, strings.TrimSuffix(rest, after)), "is required"
	}
	if text, ok := worded[message]; ok {
		message = text
	}
	if name, ok := strings.CutPrefix(message, misfit); ok {
		field, message = name, "is not written as its type is: whole numbers have neither a fraction nor an exponent"
	}
	return fieldProblem{Field: clip(field), Message: clip(message)}
}

// join appends a name to a path; the whole body has no name of its own.
func join(path, name string) string {
	if path == "" || path == "body" {
		return name
	}
	return path + "." + name
}
