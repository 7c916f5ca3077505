package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// The limits of a spine in bytes: of all of it, and of what one session adds.
const (
	spineRoom   = 1200
	chapterRoom = 420
	maxRemarks  = 5
	remarkBytes = 200
)

var (
	spineHeading = regexp.MustCompile(`^(Spine so far|Patterns|Wins|Struggles|Session summary):$`)
	sessionLine  = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[^,]*, ([^:]{1,60}): (.*)$`)
	chapterLead  = regexp.MustCompile(`On \d{1,2} [A-Z][a-z]+ \d{4} in [^:.]{1,60}: `)
)

// readSpineInput reads the prompt of a spine: the lines below each heading.
func readSpineInput(text string) map[string][]string {
	in, heading := map[string][]string{}, ""
	for raw := range strings.Lines(text) {
		if raw = strings.TrimSpace(raw); spineHeading.MatchString(raw) {
			heading = strings.ToLower(strings.TrimSuffix(raw, ":"))
		} else if raw != "" {
			in[heading] = append(in[heading], strings.TrimPrefix(raw, "- "))
		}
	}
	return in
}

// spine answers the format spine: the spine so far with what the new sessions add, the oldest shortened first, and the
// user's patterns, wins and struggles, the newest last.
func (m writer) spine(in map[string][]string) map[string]any {
	sentences := splitChapters(strings.Join(in["spine so far"], " "))
	for _, line := range in["session summary"] {
		lead, added := m.chapter(line)
		for _, sentence := range added {
			sentences = slices.DeleteFunc(sentences, func(old string) bool { // a session that goes on is summarized again
				return strings.TrimSpace(chapterLead.ReplaceAllString(old, "")) == sentence
			})
			for _, list := range []string{"patterns", "wins", "struggles"} {
				if m.forms.has(list, sentence) && len(sentence) <= remarkBytes && !strings.HasPrefix(sentence, "The coach") {
					in[list] = m.addRemark(in[list], sentence)
				}
			}
		}
		if len(added) > 0 {
			added[0] = lead + added[0]
		}
		sentences = append(sentences, added...)
	}
	values := map[string]any{"spine": m.fit(sentences)}
	for _, list := range []string{"patterns", "wins", "struggles"} {
		values[list] = in[list]
	}
	return values
}

// chapter returns what a spine says of one session, and what introduces it.
func (m writer) chapter(line string) (lead string, sentences []string) {
	if found := sessionLine.FindStringSubmatch(line); found != nil {
		line = found[3]
		if day, err := time.Parse(time.DateOnly, found[1]); err == nil {
			lead = "On " + day.Format("2 January 2006") + " in " + found[2] + ": "
		}
	}
	line, _, _ = strings.Cut(m.meant(line), openLead)
	var units []unit
	for _, sentence := range splitSentences(line) {
		units = append(units, m.unit(sentence, 1, -1))
	}
	pick(units, nil, 0, chapterRoom)
	return lead, splitSentences(render(units))
}

// addRemark adds a remark to a list in the place of one about the same matter, and keeps the newest.
func (m writer) addRemark(list []string, remark string) []string {
	stems := m.topics(remark)
	list = slices.DeleteFunc(slices.Clone(list), func(old string) bool { return overlap(m.topics(old), stems) >= repeats })
	list = append(list, remark)
	return list[max(0, len(list)-maxRemarks):]
}

// splitChapters splits a spine into its sentences. The first of each session keeps what introduces it.
func splitChapters(spine string) (sentences []string) {
	start := 0
	for _, at := range append(chapterLead.FindAllStringIndex(spine, -1), []int{len(spine)}) {
		sentences = append(sentences, splitSentences(spine[start:at[0]])...)
		start = at[0]
	}
	return sentences
}

// fit joins the sentences. While they are too long, the oldest goes; sentences about dangers go last.
func (m writer) fit(sentences []string) string {
	for len(strings.Join(sentences, " ")) > spineRoom {
		i := slices.IndexFunc(sentences, func(s string) bool { return !m.forms.has("safety", s) })
		sentences = slices.Delete(sentences, max(0, i), max(0, i)+1)
	}
	return strings.Join(sentences, " ")
}
