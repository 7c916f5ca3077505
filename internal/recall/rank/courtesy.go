package rank

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/throughline/throughline/internal/word"
)

// courtesies are words of greeting, thanks, assent and of talking as such, most of them in English. A query of nothing
// else asks for nothing, and neither does one of which word.IsCourtesy is true.
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

// courtesyTerms are the terms of courtesies and of what small talk has besides. Questions have them, too, but a query
// of nothing else asks for nothing.
var courtesyTerms = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	words := strings.Join(slices.Sorted(maps.Keys(courtesies)), " ") + `
back get give let talk chat speak ask answer wait hold hang second ping test hear listen meet understand agree mean know
explain clear try need bit thing stuff guess idea point sure course true wrong bad worry best interesting exactly quick
fair enough whatever rock hmm hm uh um oh ah aha yay ugh oops hehe brb ttyl omg joke funny fun amazing excellent
brilliant wonderful lovely super appreciate catch repeat hope wish nothing anything something really actually maybe new
year weekend bitte dank vielen schön tschüss genau prima adios vale por favor`
	for _, term := range word.Terms(words) {
		out[term] = true
	}
	return out
})
