package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/internal/conversation"
)

// contenders are those of each kind of work, each after its floor.
var contenders = map[string][]string{
	turn:   {bareTurn, warm, cold, bareKeyed, warmKeyed},
	newest: {bareQuery, warm, cold},
	last:   {bareQuery, warm, cold},
}

// tolerance is the highest ratio of a cost to what it is compared with.
const tolerance = 1.10

func (b *bench) result(repeats int) report.Result {
	r := report.Result{
		Note: fmt.Sprintf("DynamoDB Local; %d repeats of everything. An embedded array ends at %d messages, of the same "+
			"texts: its item would have more than %s bytes", repeats, arrayEnd(), report.Thousands(capacity.MaxItemBytes)),
	}
	b.addBars(&r)
	for _, kind := range []string{turn, newest, last} {
		title := "Capacity units and calls, and the time over the floor's, median: " + kind
		t := r.AddTable(title, "messages in the session")
		for _, length := range b.lengths {
			t.Header = append(t.Header, report.Thousands(float64(length)))
		}
		floor := ""
		for _, contender := range contenders[kind] {
			if strings.HasPrefix(contender, "bare") {
				floor = contender
			}
			cells := []any{contender}
			for _, length := range b.lengths {
				cells = append(cells, cell(b.rows[id{kind, contender, length}], b.rows[id{kind, floor, length}]))
			}
			t.Add(cells...)
		}
		if kind == turn {
			cells := []any{"embedded array"}
			for _, length := range b.lengths {
				cells = append(cells, arrayCell(length))
			}
			t.Add(cells...)
		}
	}
	return r
}

// cell is what a table says of a row beside that of its floor.
func cell(r, floor *row) string {
	if r == nil {
		return ""
	}
	time := float64(report.Median(r.times)) / float64(report.Median(floor.times))
	return fmt.Sprintf("%.2f, %d, %.2f", r.mean(), r.most, time)
}

// addBars compares costs with limits. What was not measured is not held.
func (b *bench) addBars(r *report.Result) {
	for _, c := range [][2]string{{warm, bareTurn}, {warmKeyed, bareKeyed}} {
		highest := 0.0
		for _, length := range b.lengths {
			highest = max(highest, b.ratio(id{turn, c[0], length}, id{turn, c[1], length}))
		}
		r.AddBar(c[0]+": capacity of a turn over the bare transaction's", highest, tolerance)
		r.AddBar(c[0]+": most calls of a turn", b.most(turn, c[0]), 1)
	}
	r.AddBar(cold+": most calls of a turn", b.most(turn, cold), 2)
	short, longest := b.lengths[1], b.lengths[len(b.lengths)-1]
	for _, kind := range []string{turn, newest, last} {
		for _, contender := range []string{warm, cold} {
			name := fmt.Sprintf("%s: capacity of a %s at %d messages over that at %d", contender, kind, longest, short)
			r.AddBar(name, b.ratio(id{kind, contender, longest}, id{kind, contender, short}), tolerance)
		}
	}
	pages := max(b.most(newest, warm), b.most(newest, cold), b.most(last, warm), b.most(last, cold))
	r.AddBar("most calls of a page", pages, 2)
	r.AddBar("messages missed, repeated or misplaced in paging through every session", float64(b.wrong), 0)
}

// ratio is the ratio of the capacity of two rows, infinite without one of them.
func (b *bench) ratio(of, over id) float64 {
	if b.rows[of] == nil || b.rows[over] == nil {
		return math.Inf(1)
	}
	return b.rows[of].mean() / b.rows[over].mean()
}

func (b *bench) most(kind, contender string) (calls float64) {
	for of, r := range b.rows {
		if of.kind == kind && of.contender == contender {
			calls = max(calls, float64(r.most))
		}
	}
	return calls
}

// arrayBytes is the size of an item that has n messages in an array, each with its role, content and time.
func arrayBytes(n int) int {
	list := &types.AttributeValueMemberL{}
	at := stringAttr(conversation.FormatTime(startTime))
	for _, m := range rig.NewTexts(1).Messages(n) {
		list.Value = append(list.Value, &types.AttributeValueMemberM{Value: capacity.Item{
			"role": stringAttr(string(m.Role)), "content": stringAttr(m.Content), "ts": at,
		}})
	}
	return capacity.Size(capacity.Item{
		"pk": stringAttr("user#" + strings.Repeat("u", 36)), "sk": stringAttr(sessionPrefix + strings.Repeat("c", 30)),
		"coachId": stringAttr(coach), "title": stringAttr("Training"), "createdAt": at, "updatedAt": at, "messages": list,
	})
}

// arrayCell is what an append to an array takes: a write unit for each KB of the item.
func arrayCell(length int) string {
	bytes := arrayBytes(length + turnMessages)
	if bytes > capacity.MaxItemBytes {
		return "breaks"
	}
	return fmt.Sprintf("%d, 1", (bytes+1023)/1024)
}

// arrayEnd is how many messages fit into an array.
func arrayEnd() (n int) {
	for arrayBytes(n+turnMessages) <= capacity.MaxItemBytes {
		n += turnMessages
	}
	return n
}
