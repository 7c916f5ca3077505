package registry

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// What the decoder says of a field that a file cannot have, and of a value of another kind than the field's.
var (
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
	otherKind    = regexp.MustCompile(`^cannot construct \S+(?: ` + "`.*`" + `)? into (\S+)$`)
)

// kinds are the kinds of values in a file by the types that they are decoded into. All others are texts.
var kinds = []struct{ beginning, kind string }{
	{"[]", "a list, each entry with a dash"},
	{"int", "a whole number"},
	{"bool", "true or false"},
	{"registry.RecordType", "a text"},
	{"registry.", "fields, each with a colon and its value"},
}

// kindOf returns the kind of a value that is decoded into a type.
func kindOf(decoded string) string {
	for _, k := range kinds {
		if strings.HasPrefix(decoded, k.beginning) {
			return k.kind
		}
	}
	return "a text"
}

// readable returns an error of the decoder with a line for each problem.
func readable(err error) error {
	var one *yaml.LoadError
	var all *yaml.LoadErrors
	problems := []*yaml.LoadError{}
	switch {
	case errors.As(err, &all):
		problems = all.Errors
	case errors.As(err, &one):
		problems = append(problems, one)
	default:
		return fmt.Errorf("the file is not YAML: %w", err)
	}
	lines := make([]error, len(problems))
	for i, p := range problems {
		message := unknownField.ReplaceAllString(p.Message, "$1 is no field of this part: remove or rename it")
		if kind := otherKind.FindStringSubmatch(message); kind != nil {
			message = "what stands here must be " + kindOf(kind[1])
		}
		lines[i] = fmt.Errorf("line %d: %s", max(1, p.Mark.Line), message)
	}
	return errors.Join(lines...)
}
