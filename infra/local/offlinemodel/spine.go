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

// spineInput is the prompt of a spine: what there is so far, and the sessions since.
type spineInput struct {
	spine    string
	remarks  map[string][]string // by heading: Patterns, Wins, Struggles
	sessions []string
}

// chapter is what a spine says of one session.
type chapter struct {
	lead      string // "On 5 February 2026 in Program Designer: "; empty for what another model wrote
	sentences []string
}

var (
	spineHeading = regexp.MustCompile(`^(Spine so far|Patterns|Wins|Struggles|Session summary):$`)
	sessionLine  = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[^,]*, ([^:]{1,60}): (.*)$`)
	chapterLead  = regexp.MustCompile(`On \d{1,2} [A-Z][a-z]+ \d{4} in [^:.]{1,60}: `)
)

func readSpineInput(text string) spineInput {
	in := spineInput{remarks: map[string][]string{}}
	heading := ""
	for raw := range strings.Lines(text) {
		raw = strings.TrimSpace(raw)
		if m := spineHeading.FindStringSubmatch(raw); m != nil {
			heading = m[1]
			continue
		}
		switch {
		case raw == "":
		case heading == "Spine so far":
			in.spine = strings.TrimSpace(in.spine + " " + raw)
		case heading == "Session summary":
			in.sessions = append(in.sessions, raw)
		default:
			in.remarks[heading] = append(in.remarks[heading], strings.TrimPrefix(raw, "- "))
		}
	}
	return in
}

// The statements that are patterns, wins and struggles of the user.
var remarkForms = map[string]*regexp.Regexp{
	"Patterns": regexp.MustCompile(`(?i)\b(?:usually|always|often|never|every (?:day|morning|evening|night|week|` +
		`\w+day)|` +
		`(?:times|days) (?:a|per) week|(?:mon|tues|wednes|thurs|fri|satur|sun)days|tends? to|prefers?|keeps? \w+ing)\b`),
	"Wins": regexp.MustCompile(`(?i)\b(?:finished|completed|managed|improved|personal best|record|reached|proud|` +
		`did \d+|ran \d+|benched|squatted|deadlifted|rowed|lost \d+|down \d+|won|signed up|stuck to|quit)\b`),
	"Struggles": regexp.MustCompile(`(?i)\b(?:hurts?|pain\w*|aches?|can't|cannot|struggl\w*|stuck|tired|terribly|` +
		`nervous|hard|tough|` +
		`worr\w+|anxious|injur\w+|tore|skipped|missed|plateau\w*|sick|stress\w*|too high|fails?|failed)\b`),
}

// spine answers the format spine: the spine so far with what the new sessions add, the oldest shortened first, and the
// user's patterns, wins and struggles, the newest last.
func (s *summarizer) spine(in spineInput) map[string]any {
	chapters := readChapters(in.spine)
	for _, line := range in.sessions {
		next, remarks := s.chapter(line)
		for i := range chapters { // a session that goes on is told again
			chapters[i].drop(next.sentences)
		}
		if len(next.sentences) > 0 {
			chapters = append(chapters, next)
		}
		for heading, form := range remarkForms {
			for _, r := range remarks {
				if form.MatchString(r) && len(r) <= remarkBytes {
					in.remarks[heading] = s.addRemark(in.remarks[heading], r)
				}
			}
		}
	}
	wish := map[string]any{"spine": fitChapters(chapters)}
	for heading, name := range map[string]string{"Patterns": "patterns", "Wins": "wins", "Struggles": "struggles"} {
		list := []any{}
		for _, r := range in.remarks[heading] {
			list = append(list, r)
		}
		wish[name] = list
	}
	return wish
}

// chapter reads the summary of one session: what the spine says of it, and each of its statements about the user.
func (s *summarizer) chapter(line string) (c chapter, remarks []string) {
	text := line
	if m := sessionLine.FindStringSubmatch(line); m != nil {
		text = m[3]
		if day, err := time.Parse(time.DateOnly, m[1]); err == nil {
			c.lead = "On " + day.Format("2 January 2006") + " in " + m[2] + ": "
		}
	}
	units, _ := s.previousUnits(text)
	choice := selection{lex: s.lex, covered: map[string]bool{}, taken: make([]bool, len(units))}
	choice.pick(units, 0, len(units), chapterRoom)
	c.sentences = splitSentences(render(choice.of(units)))
	for _, u := range units {
		if u.actor != theCoach && u.quote == "" {
			remarks = append(remarks, splitSentences(render([]unit{u}))...)
		}
	}
	return c, remarks
}

// addRemark adds a remark to a list, unless it is there, and keeps the newest. A remark about the same matter takes the
// place of the older one.
func (s *summarizer) addRemark(list []string, remark string) []string {
	stems := s.lex.stemSet(remark)
	list = slices.DeleteFunc(slices.Clone(list), func(old string) bool {
		return overlap(s.lex.stemSet(old), stems) >= repeats
	})
	list = append(list, remark)
	return list[max(0, len(list)-maxRemarks):]
}

// readChapters splits a spine into what it says of each session.
func readChapters(spine string) []chapter {
	var chapters []chapter
	at := chapterLead.FindAllStringIndex(spine, -1)
	first := len(spine)
	if len(at) > 0 {
		first = at[0][0]
	}
	if before := strings.TrimSpace(spine[:first]); before != "" {
		chapters = append(chapters, chapter{sentences: splitSentences(before)})
	}
	for i, place := range at {
		end := len(spine)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		chapters = append(chapters, chapter{spine[place[0]:place[1]], splitSentences(spine[place[1]:end])})
	}
	return chapters
}

// drop removes sentences that are told elsewhere.
func (c *chapter) drop(told []string) {
	c.sentences = slices.DeleteFunc(c.sentences, func(s string) bool { return slices.Contains(told, s) })
}

func (c *chapter) text() string {
	if len(c.sentences) == 0 {
		return ""
	}
	return c.lead + strings.Join(c.sentences, " ")
}

// fitChapters joins the chapters. While they do not fit, the oldest loses its last sentence; sentences about dangers go
// last.
func fitChapters(chapters []chapter) string {
	for pass := range 2 {
		for i := range chapters {
			for len(joinChapters(chapters)) > spineRoom && chapters[i].shorten(pass == 0) {
				continue
			}
		}
	}
	return joinChapters(chapters)
}

// shorten removes the last sentence of a chapter that may go. It reports whether there was one.
func (c *chapter) shorten(keepDangers bool) bool {
	for i, sentence := range slices.Backward(c.sentences) {
		if !keepDangers || !safety.MatchString(sentence) {
			c.sentences = slices.Delete(c.sentences, i, i+1)
			return true
		}
	}
	return false
}

func joinChapters(chapters []chapter) string {
	var texts []string
	for _, c := range chapters {
		if text := c.text(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " ")
}
