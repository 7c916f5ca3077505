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
		if n := addressed["assistant"]; n >= minAddressed && n*minShare >= all*(minShare-1) {
			asked["user"] = true
		}
		if n := addressed["user"]; n >= minAddressed && n*minShare >= all*(minShare-1) {
			asked["assistant"] = true
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

// opensAddress reports whether what stands before a name can stand before an address: nothing, the end of a sentence, a
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

// courtesies are words of greeting, thanks and assent. A query of nothing else asks for nothing.
var courtesies = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(`
hi hello hey hiya yo howdy good morning afternoon evening night day dear there everyone thanks thank thx
cheers please welcome ok okay yes yeah yep yup no nope sure right alright fine great cool nice awesome perfect
wow bye goodbye see you later soon take care coach assistant again all a the so very much lot for and to i'm
im i me my how are is it its it's what's whats up doing going been how's hows today tomorrow here well sounds
got have had lol haha sorry excuse congrats congratulations happy am that this thats that's ready let's lets
start go begin help question moment one minute never mind away makes sense got it think say tell next
again continue done hola gracias buenos buenas dias tardes noches hallo guten morgen tag abend danke bonjour salut
merci bonsoir ciao grazie buongiorno ola obrigado obrigada`) {
		out[w] = true
	}
	return out
}()

// isContent reports whether a word in lower case is more than courtesy.
func isContent(word string) bool { return word != "" && !courtesies[word] }
