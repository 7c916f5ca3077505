package promptbench

import (
	"fmt"
	"strconv"

	"github.com/throughline/throughline/infra/bench/report"
)

func (c Chat) serviceTable() titled {
	t := titled{fmt.Sprintf("Remote calls of a turn of a chat, the most and the means of %d turns", c.Turns), report.Table{Header: []string{
		"service", "until done", "behind it",
	}}}
	for _, service := range []string{toDynamoDB, toOpenAI, toPinecone, toLambda} {
		steps, behind := c.of(service)
		t.Add(service, strconv.Itoa(steps), mean(behind))
	}
	t.Add("all", strconv.Itoa(c.Calls), mean(c.Behind))
	t.Add("all of the session's first turn", strconv.Itoa(c.First))
	t.Add("deep before the first token", strconv.Itoa(c.Depth))
	t.Add("deep in the session's first turn", strconv.Itoa(c.FirstDepth))
	return t
}

func (c Chat) stepTable() titled {
	t := titled{"The calls of a turn, in their order", report.Table{Header: []string{"call", "deep"}}}
	for _, s := range c.Steps {
		t.Add(s.Function+": "+s.Service+" "+s.Call, strconv.Itoa(s.Depth))
	}
	return t
}

func (c Chat) followerTable() titled {
	t := titled{"The calls behind a turn", report.Table{Header: []string{"call", "mean"}}}
	for _, f := range c.Followers {
		t.Add(f.Function+": "+f.Service+" "+f.Call, mean(f.Mean))
	}
	return t
}

func mean(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
