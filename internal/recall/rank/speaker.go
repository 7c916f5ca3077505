package rank

import "strings"

// speakers returns the roles and the names at the head of texts whose words the query asks for: those that it names,
// or that it means by "did I" and "did you".
func speakers(q *Query, records []record) map[string]bool {
	asked := map[string]bool{}
	if q.asksUser != q.asksAssistant {
		asked["user"], asked["assistant"] = q.asksUser, q.asksAssistant
	}
	for _, name := range q.names {
		asked[name] = true
		addressed := map[string]int{}
		all := 0
		for i := range records {
			for _, p := range records[i].parts {
				if p.head == "" && addresses(p.Text, name) {
					addressed[p.Role]++
					all++
				}
			}
		}
		// A user and an assistant call each other by name, and nobody calls himself.
		for role, other := range map[string]string{"assistant": "user", "user": "assistant"} {
			if n := addressed[role]; n >= minAddressed && n*minShare >= all*(minShare-1) {
				asked[other] = true
			}
		}
	}
	return asked
}

const (
	// minAddressed is how often a role must call somebody by name.
	minAddressed = 2
	// minShare says that all but one in so many such calls must be of that role.
	minShare = 5
)

// addresses reports whether a text calls somebody by name: "Hey Ann!", "Thanks, Ann.", "Ann, how are you?" The name is
// in lower case. A short form counts too.
func addresses(s, name string) bool {
	for from := 0; ; {
		at := indexFold(s[from:], name[:min(3, len(name))])
		if at < 0 {
			return false
		}
		at += from
		end := at
		for end < len(s) && !isSeparator(rune(s[end])) && s[end] != '\'' {
			end++
		}
		word := strings.ToLower(s[at:end])
		if strings.HasPrefix(name, word) && opensAddress(s[:at]) && closesAddress(s[end:]) {
			return true
		}
		from = at + 1
	}
}

// indexFold finds a word that begins with a capital letter and goes on as the prefix, which is in lower case.
func indexFold(s, prefix string) int {
	if prefix == "" || prefix[0] < 'a' || prefix[0] > 'z' {
		return -1
	}
	capital := prefix[0] - 'a' + 'A'
	for from := 0; ; {
		at := strings.IndexByte(s[from:], capital)
		if at < 0 {
			return -1
		}
		at += from
		if strings.HasPrefix(s[at+1:], prefix[1:]) && (at == 0 || isSeparator(rune(s[at-1]))) {
			return at
		}
		from = at + 1
	}
}

// opensAddress reports whether what comes before a name can come before an address: nothing, the end of a sentence, a
// comma, or a word of courtesy.
func opensAddress(before string) bool {
	before = strings.TrimRight(before, " ")
	if before == "" || strings.ContainsRune(".!?,\n", rune(before[len(before)-1])) {
		return true
	}
	word := before[strings.LastIndexByte(before, ' ')+1:]
	return !isContent(strings.ToLower(strings.Trim(word, ",.!?")))
}

// closesAddress reports whether what follows a name can follow an address.
func closesAddress(after string) bool {
	return after == "" || strings.ContainsRune(",.!?;:\n", rune(after[0]))
}
