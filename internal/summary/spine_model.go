package summary

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// spinePromptVersion names the prompt of spine_rules.txt. It is stored with each spine.
const spinePromptVersion = "spine/6"

//go:embed spine_rules.txt
var spineRules string

var spineSchema = llm.Schema{Name: "spine", JSON: json.RawMessage(
	`{"type":"object","properties":{"spine":{"type":"string"},` +
		`"patterns":{"type":"array","items":{"type":"string"}},"wins":{"type":"array","items":{"type":"string"}},` +
		`"struggles":{"type":"array","items":{"type":"string"}}},` +
		`"required":["spine","patterns","wins","struggles"],"additionalProperties":false}`,
)}

const (
	// maxSpineChars limits a spine (prompt-assembly-map, MAX_SUMMARY_SPINE_CHARS), maxRemarkChars one remark.
	maxSpineChars  = 1200
	maxRemarkChars = 200
	// spineLineBytes limits what the model reads of one session, spineTokens its answer.
	spineLineBytes = 1200
	spineTokens    = 2000
)

// complete asks the model once for the spine that replaces the one so far and adds the sessions since.
func (s *Spines) complete(ctx context.Context, user conversation.UserID, due DueSpine, base longterm.Spine,
	rested []conversation.Session,
) (longterm.Spine, error) {
	var parsed struct {
		Spine                     string
		Patterns, Wins, Struggles []string
	}
	asked := metered.Question{
		User: user, Generation: due.Generation, Rules: strings.TrimSpace(spineRules),
		Material: renderSpine(base, rested, due.Preferences.Location()), Schema: &spineSchema, MaxTokens: spineTokens,
		Patient: true,
	}
	ctx, cancel := asked.Within(ctx, answerTimeout)
	defer cancel()
	model, err := metered.Model{Completer: s.Model, Quota: s.Quota, Report: s.Report}.Ask(ctx, asked, &parsed)
	if err != nil {
		return longterm.Spine{}, err
	}
	text := truncate.Prose(untrusted.OneLine(parsed.Spine), maxSpineChars)
	if text == "" && base.Text != "" { // after small talk alone there may be nothing to say
		return longterm.Spine{}, errors.New("the model's spine is empty, and the one so far is not")
	}
	return longterm.Spine{
		Text: text, Patterns: cleanRemarks(parsed.Patterns), Wins: cleanRemarks(parsed.Wins),
		Struggles: cleanRemarks(parsed.Struggles), Model: model, PromptVersion: spinePromptVersion,
	}, nil
}

// cleanRemarks returns the first remarks of a list, each once and in one line.
func cleanRemarks(list []string) []string {
	var remarks []string
	for _, text := range list {
		text = truncate.Prose(untrusted.OneLine(text), maxRemarkChars)
		isSame := func(r string) bool { return longterm.Normalize(r) == longterm.Normalize(text) }
		if text != "" && len(remarks) < longterm.MaxRemarks && !slices.ContainsFunc(remarks, isSame) {
			remarks = append(remarks, text)
		}
	}
	return remarks
}

// renderSpine writes the input for the model: what there is so far, and one line for each session.
func renderSpine(base longterm.Spine, rested []conversation.Session, zone *time.Location) string {
	var b strings.Builder
	if base.Text != "" {
		fmt.Fprintf(&b, "Spine so far:\n%s\n\n", spineLine(base.Text))
	}
	for _, list := range []struct {
		name  string
		items []string
	}{{"Patterns", base.Patterns}, {"Wins", base.Wins}, {"Struggles", base.Struggles}} {
		if len(list.items) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:\n", list.name)
		for _, item := range list.items {
			fmt.Fprintf(&b, "- %s\n", spineLine(item))
		}
		b.WriteString("\n")
	}
	for _, x := range slices.SortedStableFunc(slices.Values(rested), byOccurrence) {
		record, _ := Of(x)
		day := spineDays(x, record.OccurredAt, zone)
		text := truncate.Bytes(untrusted.OneLine(record.Text+" "+record.Details(zone)), spineLineBytes)
		fmt.Fprintf(&b, "Session summary:\n%s, %s: %s\n\n", day, conversation.LabelOf(x.Context, "Another screen"),
			untrusted.BreakTokens(text))
	}
	return b.String()
}

// byOccurrence compares sessions by when they happened, in whatever order they were summarized.
func byOccurrence(a, b conversation.Session) int {
	first, _ := Of(a)
	second, _ := Of(b)
	return first.OccurredAt.Compare(second.OccurredAt)
}

// spineDays writes the day on which a session last happened, and that on which it began if that is another one.
func spineDays(x conversation.Session, at time.Time, zone *time.Location) string {
	day := at.In(zone).Format("2006-01-02 Monday")
	if x.StartedAt.IsZero() || x.StartedAt.After(at) {
		return day
	}
	if began := x.StartedAt.In(zone).Format(time.DateOnly); began != day[:len(began)] {
		return day + " (since " + began + ")"
	}
	return day
}

func spineLine(text string) string { return untrusted.BreakTokens(untrusted.OneLine(text)) }
