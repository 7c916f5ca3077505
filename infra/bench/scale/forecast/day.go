package forecast

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/scale/unitbench"
)

// dayUsers is the number of users that a day is worked out for, so that what a service charges at least is no part of
// one user's day.
const dayUsers = 1_000_000

// dayNote says what the section is about.
const dayNote = `One user who uses the app that day: %g sessions of %d turns, so %g questions and answers. Storage is a
day's share of the month's. The counts are the measured ones of a session, as above; the money follows from them and
from the prices below.

`

// dayPeersNote says what the list prices in the section are for.
const dayPeersNote = `
The list prices are for the same day: an event and a retrieval for each turn, a record for each session, an agent for
each active user, and the tokens that Throughline embeds. They have neither the chat's answers in them nor the functions
around them.
`

// backgroundWork names what the model does besides.
const backgroundWork = "summaries and memories"

// day works out a user's day: the month of users who have that many sessions every day, divided by users and days.
func (in Input) day() (s Size, each float64) {
	in.Workload.SessionsPerUserAndDay = in.Workload.DaySessions
	s = in.Size(dayUsers)
	return s, dayUsers * in.Workload.DaysPerMonth
}

// dayText renders the section about a user's day.
func (in Input) dayText() string {
	s, each := in.day()
	sessions := in.Workload.DaySessions
	var b strings.Builder
	fmt.Fprintf(&b, dayNote, sessions, in.Workload.TurnsPerSession, sessions*float64(in.Workload.TurnsPerSession))

	use := report.Table{Header: []string{
		"a day", "DynamoDB calls", "read units", "write units", "model calls", "input tokens", "embedded tokens",
		"index queries", "vectors",
	}}
	add := func(name string, u unitbench.Use) {
		cells := []string{name}
		for _, v := range []float64{
			u.DynamoDBCalls, u.ReadUnits, u.WriteUnits, u.ModelCalls, u.InputTokens, u.EmbeddingTokens, u.IndexQueries,
			u.Vectors,
		} {
			cells = append(cells, report.Thousands(math.Round(v)))
		}
		use.Add(cells...)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Units.Session)) {
		add(name, in.Units.Session[name].Times(sessions))
	}
	add("**all**", in.total().Times(sessions))
	b.WriteString(use.Markdown() + "\n")

	cost := report.Table{Header: []string{"a user's day", "US cents"}}
	chat := in.chatUSD(s.Sessions)
	for _, c := range s.Money {
		if c.Part == chatAndSummaries {
			cost.Add("OpenAI: the chat's answers", cents(chat/each))
			cost.Add("OpenAI: "+backgroundWork, cents((c.USD-chat)/each))
			continue
		}
		cost.Add(c.Part, cents(c.USD/each))
	}
	cost.Add("**all**", "**"+cents(s.Total()/each)+"**")
	cost.Add("**all but the chat's answers**", "**"+cents((s.Total()-chat)/each)+"**")
	for _, p := range in.Prices.Peers {
		price := "not listed"
		if p.Unit != "" {
			price = cents(p.usd(s) / each)
		}
		cost.Add(p.Name+", list price", price)
	}
	b.WriteString(cost.Markdown() + dayPeersNote)
	return b.String()
}

// chatUSD is what the chat model's answers cost.
func (in Input) chatUSD(sessions float64) float64 {
	input := sessions * in.Units.Session["coach"].InputTokens
	output := sessions * float64(in.Workload.TurnsPerSession) *
		(in.Workload.OutputTokensPerAnswer + in.Workload.ReasoningTokensPerAnswer)
	return in.modelUSD(input, output)
}

// cents writes US dollars as cents.
func cents(usd float64) string { return fmt.Sprintf("%.3f", 100*usd) }
