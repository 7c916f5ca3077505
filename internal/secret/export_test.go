package secret

import (
	"fmt"
	"hash/fnv"
)

// RuledOut returns the forms of a text's secrets that hints and digits rule out.
func RuledOut(text string) (forms []string) {
	var t scan
	t.read(text)
	applies := false
	for _, r := range rules {
		if !r.asBefore {
			applies = !t.isPlain() && r.applies(&t)
		}
		if !applies && len(r.find(text, true)) > 0 {
			forms = append(forms, r.form().String())
		}
	}
	return forms
}

// Rules returns the version of the rules, and a hash of their expressions and hints.
func Rules() (of int, hash uint32) {
	h := fnv.New32a()
	for _, r := range rules {
		fmt.Fprintln(h, r.form(), r.hints, r.digits)
	}
	return version, h.Sum32()
}
