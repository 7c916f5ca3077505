package untrusted

import (
	"fmt"
	"strings"
)

// dataBytes is from how many characters of ASCII without white space on a text is encoded data, as in package word.
const dataBytes = 200

// NameData returns a text with its encoded data, such as base64, hashes and minified code, replaced by their size:
// "[… 100 KB of data]".
func NameData(text string) string {
	var b strings.Builder
	copied := 0
	for start := 0; start+dataBytes <= len(text); {
		i := start + dataBytes - 1 // from behind: in most texts a space is near
		for i >= start && isData(text[i]) {
			i--
		}
		if i >= start {
			start = i + 1
			continue
		}
		end := start + dataBytes
		for end < len(text) && isData(text[end]) {
			end++
		}
		fmt.Fprintf(&b, "%s[… %d KB of data]", text[copied:start], (end-start+1023)/1024)
		copied, start = end, end+1
	}
	if copied == 0 {
		return text
	}
	return b.String() + text[copied:]
}

func isData(c byte) bool { return c > ' ' && c < 0x7f }
