package prompt

import "strings"

// markdown is the format of headed sections in one system text: a line that begins with # opens a section, one that
// begins with [ an item.
var markdown = &Format{
	Guard:     guardMarkdown,
	Group:     func(g *group) (open, end string) { return "## " + g.label + "\n", "" },
	Separator: "\n\n",
	Assemble: func(sections []section, messages []Message) rendering {
		return rendering{system: joinSections(sections, ""), messages: messages}
	},
}

// joinSections puts a blank line between sections and the end, which may be empty, behind the last.
func joinSections(sections []section, end string) string {
	size := len(end)
	for _, s := range sections {
		size += len(s.text) + len("\n\n")
	}
	var b strings.Builder
	b.Grow(size)
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(trimEnd(s.text))
	}
	b.WriteString(end)
	return b.String()
}
