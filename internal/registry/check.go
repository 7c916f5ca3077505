package registry

import "strings"

func (c checker) checkLines(lines []string, most int) {
	c.checkCount(len(lines), most)
	for i, line := range lines {
		c.checkLine(line, true, maxMeansRunes, i)
	}
}

func (c checker) checkExamples(examples []Example) {
	c.checkCount(len(examples), maxExamples)
	for i, e := range examples {
		c.checkLine(e.User, true, maxMeansRunes, i, "user")
		c.at(i, "notes").checkLines(e.Notes, maxNotes)
	}
}

func (c checker) checkPhrases(phrases []string) {
	c.checkCount(len(phrases), maxPhrases)
	for i, phrase := range phrases {
		if strings.Trim(phrase, "~ ") == "" || phrase != strings.ToLower(phrase) || !isLine(phrase) {
			c.wrong("must be a phrase in lower case", i)
		}
	}
}
