package prompt

import "strings"

// markdown is the format of headed sections in one system text: a line that begins with # opens a section, one that
// begins with [ an item.
var markdown = &Format{
	Guard:     guardMarkdown,
	Group:     func(g *group) (open, end string) { return "## " + g.label + "\n", "" },
	Separator: "\n\n",
	Assemble: func(sections []section, messages []Message) rendering {
		return rendering{system: joinSections(sections), messages: messages}
	},
}

// joinSections puts a blank line between sections and none behind the last.
func joinSections(sections []section) string {
	texts := make([]string, len(sections))
	for i, s := range sections {
		texts[i] = trimEnd(s.text)
	}
	return strings.Join(texts, "\n\n")
}
