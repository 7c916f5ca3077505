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
	if len(text) < dataBytes {
		return text
	}
	var b strings.Builder
	copied, start := 0, 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] > ' ' && text[i] < 0x7f {
			continue
		}
		if n := i - start; n >= dataBytes {
			fmt.Fprintf(&b, "%s[… %d KB of data]", text[copied:start], (n+1023)/1024)
			copied = i
		}
		start = i + 1
	}
	if copied == 0 {
		return text
	}
	return b.String() + text[copied:]
}
