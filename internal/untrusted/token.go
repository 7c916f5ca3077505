package untrusted

import (
	"regexp"
	"strings"
	"sync"
)

// controlTokens returns the patterns of the control tokens of chat templates, which tell a model where a turn begins
// and who speaks. A server that finds one in a text would take what follows for a turn of the system. The patterns
// match in any case, with full-width and other look-alikes of the brackets and bars, and with white space or invisible
// characters between the parts. Each has two groups: what opens the token, and the rest. They are compiled when the
// first text needs them, because few texts do.
var controlTokens = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		// <|im_start|>, <|endoftext|>, <|system|>, <|start_header_id|> and all others with bars.
		tokenPattern(openAngle+`GAP`, `[|｜¦∣│ǀ❘︱┃⏐]`),
		// <s>, </s>, <<SYS>>, <start_of_turn> and others without bars.
		tokenPattern(openAngle+`GAP(?:`+openAngle+`GAP)?`, `/?GAP(?:s|bos|eos|pad|unk|sep|cls|mask|sys|eo[tms]|`+
			`(?:start|end|begin)_of_\w+|(?:bos|eos|pad)_token|tool_(?:calls?|responses?)|function_calls?)GAP[>＞﹥›〉⟩]`),
		// [INST], [/INST], [SYSTEM_PROMPT] and others.
		tokenPattern(`[\[［]GAP`, `/?GAP(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)GAP[\]］]`),
	}
})

// openAngle matches what opens a token in angle brackets.
const openAngle = `[<＜﹤‹〈⟨]`

// tokenPattern returns the pattern of a token, with GAP for the blank characters that its parts may have between them.
func tokenPattern(opening, rest string) *regexp.Regexp {
	const gap = `[\s\p{Z}\p{Cc}\p{Cf}\p{Mn}\p{Me}\x{115f}\x{1160}\x{2800}\x{3164}\x{ffa0}]*`
	return regexp.MustCompile(`(?i)` + strings.ReplaceAll("("+opening+")("+rest+")", "GAP", gap))
}

// BreakTokens writes a backslash into each control token, behind what opens it. A reader still sees what was written.
// Nearly all text has no such bracket and is returned as it is.
func BreakTokens(text string) string {
	if strings.IndexByte(text, '<') < 0 && strings.IndexByte(text, '[') < 0 && !hasLookAlike(text) {
		return text
	}
	for _, token := range controlTokens() {
		text = token.ReplaceAllString(text, `${1}\${2}`)
	}
	return text
}

// hasLookAlike reports whether a text has a bracket that looks like one of a control token's.
func hasLookAlike(text string) bool {
	for _, bracket := range []string{"＜", "﹤", "‹", "〈", "⟨", "［"} {
		if strings.Contains(text, bracket) {
			return true
		}
	}
	return false
}
