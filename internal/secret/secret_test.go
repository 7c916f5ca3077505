package secret_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/throughline/throughline/internal/secret"
	"github.com/throughline/throughline/internal/testing/check"
)

var update = flag.Bool("update", false, "write the figures into docs/security.md")

// line is a line of the corpus.
type line struct {
	isSecret       bool
	language, text string
}

var random = regexp.MustCompile(`\{([aAbhd])(\d+)\}`)

// alphabets are the letters of what a line has in braces.
var alphabets = map[string]string{
	"a": "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
	"b": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", "h": "0123456789abcdef", "d": "0123456789",
}

func corpus(t *testing.T) (lines []line) {
	t.Helper()
	data := check.Got(os.ReadFile("testdata/corpus.txt"))(t)
	letters := rand.New(rand.NewPCG(1, 2))
	_, body, _ := strings.Cut(string(data), "\n\n")
	for raw := range strings.Lines(body) {
		head, text, _ := strings.Cut(strings.TrimSpace(raw), " | ")
		text = random.ReplaceAllStringFunc(text, func(mark string) string {
			m := random.FindStringSubmatch(mark)
			n, _ := strconv.Atoi(m[2])
			var b strings.Builder
			for range n {
				b.WriteByte(alphabets[m[1]][letters.IntN(len(alphabets[m[1]]))])
			}
			return b.String()
		})
		lines = append(lines, line{head[0] == '+', head[2:], text})
	}
	return lines
}

// TestCorpus finds the secrets of the corpus and nothing that only looks like one. docs/security.md has its figures.
func TestCorpus(t *testing.T) {
	t.Parallel()
	var found, missed, wrong int
	languages := map[string]int{}
	for _, l := range corpus(t) {
		languages[l.language]++
		got := secret.Has(l.text)
		switch {
		case got && l.isSecret:
			found++
		case l.isSecret:
			missed++
			t.Logf("missed: %s", l.text)
		case got:
			wrong++
			t.Logf("taken for a secret: %s", l.text)
		}
		if redacted := secret.Redact(l.text); (redacted != l.text) != got || secret.Has(redacted) {
			t.Errorf("%q is redacted to %q", l.text, redacted)
		}
	}
	precision, recall := float64(found)/float64(found+wrong), float64(found)/float64(found+missed)
	if len(languages) < 5 || found+missed < 100 || precision < 0.98 || recall < 0.98 {
		t.Errorf("%d languages, %d secrets: precision %.3f, recall %.3f", len(languages), found+missed, precision, recall)
	}
	figures := fmt.Sprintf("On the corpus (`internal/secret/testdata/corpus.txt`, %d secrets and as many lookalikes in "+
		"%d languages): precision %.0f%%, recall %.0f%%.", found+missed, len(languages), 100*precision, 100*recall)
	checkDocument(t, figures)
}

// checkDocument compares the sentence with the figures in docs/security.md.
func checkDocument(t *testing.T, want string) {
	t.Helper()
	const file = "../../docs/security.md"
	data := check.Got(os.ReadFile(file))(t)
	sentence := regexp.MustCompile("On the corpus \\(`internal/secret/[^%]*%, recall \\d+%\\.")
	if *update {
		data = sentence.ReplaceAll(data, []byte(want))
		check.OK(t, os.WriteFile(file, data, 0o600))
	}
	if got := sentence.Find(data); string(got) != want {
		t.Errorf("%s has %q, want %q", file, got, want)
	}
}

// TestHints expects that no secret of the corpus is ruled out before its form is looked for, however it is capitalised.
func TestHints(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, l := range append(corpus(t),
		line{text: "My pw is hunter22."}, line{text: "Der Schlüssel: SK" + strings.Repeat("0123456789abcdef", 2)},
	) {
		texts := []string{l.text, strings.ToUpper(l.text), strings.ToLower(l.text)}
		for range 20 {
			texts = append(texts, strings.Map(func(r rune) rune {
				return [...]rune{r, unicode.ToUpper(r), unicode.ToLower(r)}[random.IntN(3)]
			}, l.text))
		}
		for _, text := range texts {
			if forms := secret.RuledOut(text); len(forms) > 0 {
				t.Errorf("%q is not searched for %v", text, forms)
			}
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"My password is hunter22, and the card is 4111 1111 1111 1111.": "My password is [secret], and the card is [secret].",
		"Passwort: geheim1":       "Passwort: [secret]",
		"ПАРОЛЬ: geheim1":         "ПАРОЛЬ: [secret]",
		"CÓDIGO DE ACCESO: 48213": "CÓDIGO DE ACCESO: [secret]",
		"nothing":                 "nothing",
		"":                        "",
	} {
		check.Equal(t, want, secret.Redact(text), "%q is redacted to", text)
	}
}

// BenchmarkHas is about a message without a secret, of which a prompt may have two hundred.
func BenchmarkHas(b *testing.B) {
	text := strings.Repeat("Yesterday I ran 12 km along the river with my sister, and my knee was fine. ", 8)
	for b.Loop() {
		secret.Has(text)
	}
}

// TestVersion fails after a change of the rules whose version was not raised: texts that were found clean by the rules
// before would not be read again.
func TestVersion(t *testing.T) {
	t.Parallel()
	version, hash := secret.Rules()
	check.Equal(t, 1, version, "version of the rules: raise it with each change of them, and pin both here")
	check.Equal(t, uint32(0x4e345eb6), hash, "hash of the rules: raise their version, and pin both here")
}

// TestHasStored reads a stored text again unless these rules found it clean.
func TestHasStored(t *testing.T) {
	t.Parallel()
	const clean, given = "The PIN is in the blue folder.", "My password is hunter22!"
	by := secret.CleanBy(clean)
	for _, c := range []struct {
		text    string
		cleanBy int
		want    bool
	}{
		{given, secret.CleanBy(given), true},
		{clean, by, false},
		{given, by - 1, true}, // found clean by other rules
		{given, by, false},    // these rules are not asked again
	} {
		check.Equal(t, c.want, secret.HasStored(c.text, c.cleanBy), "%q, clean by %d", c.text, c.cleanBy)
	}
}
