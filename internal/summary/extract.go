package summary

import (
	"slices"
	"strings"
	"unicode"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/truncate"
)

// Extract makes a fallback summary without a model: the summary so far, followed by the most informative sentences of
// the new messages in their order, at most limit bytes in all. It is deterministic.
func Extract(previous string, lines []Line, limit int) string {
	// The new messages get at least half of the room. The rest is for the summary so far.
	fresh := pick(sentencesOf(lines), limit-min(len(previous), limit/2)-1)
	old := fitSentences(previous, limit-len(fresh)-1)
	return strings.TrimSpace(old + " " + fresh)
}

// sentence is one sentence of a message, with its place in the conversation and how informative it is.
type sentence struct {
	text  string
	place int
	score float64
}

func sentencesOf(lines []Line) []sentence {
	var out []sentence
	seen := map[string]bool{}
	for _, l := range lines {
		for _, text := range splitSentences(l.Text) {
			if seen[text] {
				continue
			}
			seen[text] = true
			out = append(out, sentence{text: speaker(l.Role) + text, place: len(out), score: score(text, l.Role)})
		}
	}
	return out
}

func speaker(r conversation.Role) string {
	if r == conversation.User {
		return "User: "
	}
	return "Assistant: "
}

// splitSentences splits a line after punctuation that ends a sentence. Punctuation of ASCII has to be followed by a
// space.
func splitSentences(line string) []string {
	var out []string
	start := 0
	for i, r := range line {
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		end := i + len(string(r))
		if r < unicode.MaxASCII && end < len(line) && line[end] != ' ' {
			continue
		}
		out = append(out, strings.TrimSpace(line[start:end]))
		start = end
	}
	if rest := strings.TrimSpace(line[start:]); rest != "" {
		out = append(out, rest)
	}
	return out
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
	if role == conversation.User {
		score *= 1.5
	}
	if strings.HasSuffix(text, "?") {
		score /= 2
	}
	return score
}

// pick takes the sentences with the highest scores that fit into room bytes, and returns them in their order.
func pick(sentences []sentence, room int) string {
	slices.SortStableFunc(sentences, func(a, b sentence) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.place - b.place
	})
	var taken []sentence
	for i, s := range sentences {
		if i == 0 && len(s.text) > room {
			return truncate.Bytes(s.text, room)
		}
		if len(s.text)+1 > room {
			continue
		}
		room -= len(s.text) + 1
		taken = append(taken, s)
	}
	slices.SortFunc(taken, func(a, b sentence) int { return a.place - b.place })
	texts := make([]string, len(taken))
	for i, s := range taken {
		texts[i] = s.text
	}
	return strings.Join(texts, " ")
}

// fitSentences keeps as many whole sentences from the beginning of a text as fit into room bytes. If not even the first
// one fits, it is cut.
func fitSentences(text string, room int) string {
	if len(text) <= room {
		return text
	}
	kept := ""
	for _, s := range splitSentences(text) {
		if len(kept)+len(s)+1 > room {
			break
		}
		kept = strings.TrimSpace(kept + " " + s)
	}
	if kept == "" {
		return truncate.Bytes(text, room)
	}
	return kept
}
