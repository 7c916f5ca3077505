package summary

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/truncate"
)

// Extract makes a fallback summary without a model: the summary so far, followed by the most informative sentences of
// the new messages in their order, as quotations of who said them, at most limit characters in all. It is
// deterministic. It changes no sentence, because it knows no language.
func Extract(previous string, lines []Line, limit int) string {
	// The new messages get at least half of the room. The rest is for the summary so far.
	fresh := pick(sentencesOf(lines), limit-min(chars(previous), limit/2)-1)
	old := fitSentences(previous, limit-chars(fresh)-1)
	return strings.TrimSpace(old + " " + fresh)
}

func chars(text string) int { return utf8.RuneCountInString(text) }

// sentence is one sentence of a message, with its speaker, its place in the conversation and how informative it is.
type sentence struct {
	role  conversation.Role
	text  string
	place int
	score float64
}

// The marks of a quotation.
const (
	opening = "“"
	closing = "”"
)

// plainMarks replaces the marks of a quotation within a sentence, so that none ends early.
var plainMarks = strings.NewReplacer(opening, "'", closing, "'")

func sentencesOf(lines []Line) []sentence {
	var out []sentence
	seen := map[string]bool{}
	for _, l := range lines {
		for _, text := range truncate.Sentences(l.Text) {
			if seen[text] {
				continue
			}
			seen[text] = true
			out = append(out, sentence{l.Role, plainMarks.Replace(text), len(out), score(text, l.Role)})
		}
	}
	return out
}

// quote writes sentences in their order. Those of one speaker in a row are one quotation.
func quote(sentences []sentence) string {
	slices.SortFunc(sentences, func(a, b sentence) int { return a.place - b.place })
	var b strings.Builder
	for i, s := range sentences {
		switch {
		case i > 0 && sentences[i-1].role == s.role:
			b.WriteString(" ")
		case i > 0:
			b.WriteString(closing + " " + lead(s.role))
		default:
			b.WriteString(lead(s.role))
		}
		b.WriteString(s.text)
	}
	if len(sentences) > 0 {
		b.WriteString(closing)
	}
	return b.String()
}

func lead(r conversation.Role) string {
	if r == conversation.RoleUser {
		return "The user said: " + opening
	}
	return "The coach said: " + opening
}

// score estimates how informative a sentence is. Long words, numbers and names raise the score. The user's sentences
// count more than the assistant's, and questions less than statements.
func score(text string, role conversation.Role) float64 {
	score := 0.0
	for i, word := range strings.Fields(text) {
		letters := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		first := []rune(letters + " ")[0]
		switch {
		case unicode.IsDigit(first):
			score += 1.5
		case i > 0 && unicode.IsUpper(first) && len(letters) > 1:
			score += 1.5
		case len(letters) > 4:
			score++
		}
	}
	if role == conversation.RoleUser {
		score *= 1.5
	}
	if strings.HasSuffix(text, "?") {
		score /= 2
	}
	return score
}

// pick takes the sentences with the highest scores that fit into room characters, and quotes them.
func pick(sentences []sentence, room int) string {
	slices.SortStableFunc(sentences, func(a, b sentence) int {
		return cmp.Or(cmp.Compare(b.score, a.score), a.place-b.place)
	})
	var taken []sentence
	text := ""
	for i, s := range sentences {
		if i > 0 && s.score == 0 {
			break // "Hi!"
		}
		if i > 0 && chars(text)+chars(s.text) >= room {
			continue
		}
		more := quote(append(slices.Clone(taken), s))
		if over := chars(more) - room; i == 0 && over > 0 {
			left := chars(s.text) - over
			if left < 2 {
				return ""
			}
			s.text = truncate.Ellipsis(s.text, left)
			return quote([]sentence{s})
		} else if over > 0 {
			continue
		}
		taken, text = append(taken, s), more
	}
	return text
}

// fitSentences keeps as many whole sentences from the beginning of a text as fit into room characters. If not even the
// first one fits, it is cut. A quotation that is cut is closed.
func fitSentences(text string, room int) string {
	if chars(text) <= room {
		return text
	}
	room -= chars(closing)
	kept := ""
	for _, s := range truncate.Sentences(text) {
		if chars(kept)+chars(s)+1 > room {
			break
		}
		kept = strings.TrimSpace(kept + " " + s)
	}
	if kept == "" {
		kept = truncate.Ellipsis(text, room)
	}
	if strings.LastIndex(kept, opening) > strings.LastIndex(kept, closing) {
		kept += closing
	}
	return kept
}
