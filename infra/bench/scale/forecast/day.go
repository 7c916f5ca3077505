package forecast

// dayUsers is the number of users that a day is worked out for, so that what a service charges at least is no part of
// one user's day.
const dayUsers = 1_000_000

// Day is what one user's day with the app costs.
type Day struct {
	// Costs are by part, USD all of them, and WithoutChat all but the chat model's answers.
	Costs            []Cost
	USD, WithoutChat float64
	// Peers are the list prices of other services. One that lists nothing to add up costs 0.
	Peers []Cost
}

// Day works out a user's day: the month of users who have that many sessions every day, divided by users and days.
func (in Input) Day() Day {
	in.Workload.SessionsPerUserAndDay = in.Workload.DaySessions
	month, each := in.Size(dayUsers), dayUsers*in.Workload.DaysPerMonth
	var d Day
	chat := in.chatUSD(month.Sessions)
	for _, c := range month.Money {
		if c.Part == chatAndSummaries {
			d.Costs = append(d.Costs, Cost{"OpenAI: the chat's answers", chat / each})
			c = Cost{"OpenAI: summaries and memories", c.USD - chat}
		}
		d.Costs = append(d.Costs, Cost{c.Part, c.USD / each})
	}
	d.USD, d.WithoutChat = month.Total()/each, (month.Total()-chat)/each
	for _, p := range in.Prices.Peers {
		d.Peers = append(d.Peers, Cost{p.Name, p.USD(month) / each})
	}
	return d
}

func (in Input) chatUSD(sessions float64) float64 {
	input := sessions * in.Units.Session["coach"].InputTokens
	output := sessions * float64(in.Workload.TurnsPerSession) *
		(in.Workload.OutputTokensPerAnswer + in.Workload.ReasoningTokensPerAnswer)
	return in.modelUSD(input, output)
}
