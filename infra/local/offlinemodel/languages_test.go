package offlinemodel_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/infra/local/embedder"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/testing/check"
)

// languagesPage has the table that TestLanguages writes with -update.
const languagesPage = "../../../docs/languages.md"

// language is a section of testdata/languages.txt.
type language struct {
	name       string
	statements []string
	backs      []string
	questions  []question
}

// question asks for the statement of an index.
type question struct {
	text string
	of   int
}

// safetyStatements is how many of a section's statements are of safety. They are the first ones.
const safetyStatements = 4

func readLanguages(t *testing.T) (all []language) {
	t.Helper()
	data := check.Got(os.ReadFile("testdata/languages.txt"))(t)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		number, asked, isQuestion := strings.Cut(line, "? ")
		of, err := strconv.Atoi(number)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			all = append(all, language{name: strings.Trim(line, "[]")})
		case strings.HasPrefix(line, "back: "):
			all[len(all)-1].backs = append(all[len(all)-1].backs, strings.TrimPrefix(line, "back: "))
		case isQuestion && err == nil:
			all[len(all)-1].questions = append(all[len(all)-1].questions, question{asked, of - 1})
		default:
			all[len(all)-1].statements = append(all[len(all)-1].statements, line)
		}
	}
	return all
}

// TestLanguages measures what works in which language, and compares it with the table of the page.
func TestLanguages(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	offline := embedder.New()
	var table strings.Builder
	table.WriteString("| language | safety, read at once | safety, remembered | home and plan, remembered | summary | " +
		"refers back | found again |\n|---|---|---|---|---|---|---|\n")
	for _, l := range readLanguages(t) {
		if len(l.statements) != 6 || len(l.backs) != 2 || len(l.questions) != 3 {
			t.Fatalf("%s has %d statements, %d references, %d questions", l.name, len(l.statements), len(l.backs),
				len(l.questions))
		}
		safety, other := l.statements[:safetyStatements], l.statements[safetyStatements:]
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s | %s |\n", l.name,
			share(safety, conversation.IsUrgent),
			share(safety, func(s string) bool { return isRemembered(t, client, s) }),
			share(other, func(s string) bool { return isRemembered(t, client, s) }),
			summaryOf(t, client, other),
			share(l.backs, func(s string) bool { _, ok := query.FindReference(s); return ok }),
			share(l.questions, func(q question) bool { return found(offline, l.statements, q.text) == q.of }))
	}
	updatePage(t, table.String())
}

// share says of how many of the texts something is true.
func share[T any](of []T, isTrue func(T) bool) string {
	n := 0
	for _, v := range of {
		if isTrue(v) {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(of))
}

func isRemembered(t *testing.T, client *openai.Client, says string) bool {
	t.Helper()
	return len(extract(t, client, "Messages:\n[m1] user: "+says).Facts) > 0
}

// summaryOf says whether statements are retold or quoted in a summary, or missing.
func summaryOf(t *testing.T, client *openai.Client, statements []string) string {
	t.Helper()
	got := summarize(t, client, "", "user: "+strings.Join(statements, "\nuser: "))
	quoted := 0
	for _, s := range statements {
		if strings.Contains(got, strings.TrimRight(s, ".。।۔")) {
			quoted++
		}
	}
	switch {
	case strings.Contains(got, "small talk"):
		return "missing"
	case quoted == len(statements):
		return "quoted"
	case strings.Contains(got, "“"):
		return "partly quoted"
	}
	return "retold"
}

// found returns which of the texts is nearest to a question, by the offline embedding.
func found(e *embedder.Embedder, texts []string, asked string) (best int) {
	const dimensions = 1536
	wanted, most := e.Embed(asked, dimensions), float32(0)
	best = -1
	for i, text := range texts {
		sum := float32(0)
		for at, v := range e.Embed(text, dimensions) {
			sum += v * wanted[at]
		}
		if sum > most {
			best, most = i, sum
		}
	}
	return best
}

// updatePage compares the table with that of the page, or writes it.
func updatePage(t *testing.T, table string) {
	t.Helper()
	const begin, end = "<!-- measured -->\n", "<!-- end of measured -->"
	page := check.Got(os.ReadFile(languagesPage))(t)
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no place for the table", languagesPage)
	}
	want := before + begin + "\n" + table + "\n" + end + after
	switch {
	case want == string(page):
	case !*update:
		t.Errorf("%s is not what is measured; run go test ./infra/local/offlinemodel -run TestLanguages -update\n%s",
			languagesPage, table)
	default:
		if err := os.WriteFile(languagesPage, []byte(want), 0o644); err != nil { //nolint:gosec // a page of the repository
			t.Fatal(err)
		}
	}
}
