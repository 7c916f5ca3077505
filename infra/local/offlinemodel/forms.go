package offlinemodel

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed forms.txt
var formsFile string

// form is a line of forms.txt: words that a statement has, and what is made of them.
type form struct {
	kind       string // of a fact: PROFILE, PEOPLE, PROJECT
	confidence float64
	safety     string // health, for what hurts the user when it is forgotten
	match      *regexp.Regexp
	content    string // with the groups of the match; empty for the retold statement
}

// forms are the forms of each group, in the order of the file.
type forms map[string][]form

// loadForms reads the file, whose first lines describe it. The file is part of the program, so a mistake in it panics.
func loadForms() forms {
	all, sets := forms{}, []string{}
	for line := range strings.Lines(formsFile) {
		columns := strings.Split(strings.TrimRight(line, "\n"), " | ")
		head := strings.Fields(columns[0])
		if len(head) == 0 || head[0] == "#" {
			continue
		}
		pattern := strings.NewReplacer(sets...).Replace(strings.TrimSpace(columns[1]))
		if head[0] == "set" {
			sets = append(sets, "{"+head[1]+"}", pattern)
			continue
		}
		f := form{match: regexp.MustCompile("(?i)" + pattern)}
		if f.match.MatchString("") {
			panic("a form of " + head[0] + " matches every text")
		}
		if len(head) > 2 {
			f.kind = head[1]
			f.confidence, _ = strconv.ParseFloat(head[2], 64) // 0 is below what the product stores
		}
		if len(head) > 3 {
			f.safety = "health" // the forms know no other
		}
		if len(columns) > 2 {
			f.content = strings.TrimSpace(columns[2])
		}
		all[head[0]] = append(all[head[0]], f)
	}
	return all
}

// has reports whether a text has one of the forms of a group.
func (f forms) has(group, text string) bool {
	return slices.ContainsFunc(f[group], func(form form) bool { return form.match.MatchString(text) })
}

// apply returns what the first form of a group that a text has makes of it.
func (f forms) apply(group, text string) (content string, ok bool) {
	for _, form := range f[group] {
		if at := form.match.FindStringSubmatchIndex(text); at != nil {
			return string(form.match.ExpandString(nil, form.content, text, at)), true
		}
	}
	return "", false
}

// retell puts a statement of the user into the third person. A statement without a form for that is quoted.
func (f forms) retell(statement string) string {
	statement = strings.TrimRight(statement, ends)
	if rewritten, ok := f.apply("tell", statement); ok {
		return capitalize(f.swap("swap", rewritten))
	}
	return "The user said: “" + statement + "”"
}

// swap replaces words by the forms of a group.
func (f forms) swap(group, text string) string {
	for _, form := range f[group] {
		text = form.match.ReplaceAllString(text, form.content)
	}
	return text
}
