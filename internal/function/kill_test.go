package function_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

var kills = flag.Int("kills", 1, "how many histories are played whose workers are killed")

// mostDeaths is how often the instances of one event are killed. Then one lives, so that an event of many calls takes
// no more time than one of few.
const mostDeaths = 3

// TestKilledAnywhere plays histories in which the instance that gets an event is killed at one of its remote calls,
// before or after the call is carried out, and so are those that get the event again, up to mostDeaths. What they leave
// behind is the sweep's when its claims have lapsed. What follows is the same as without kills. Nothing is paid for
// more often than it was tried.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	want := inOrder(t)
	played := make([]*pipeline, *kills)
	t.Run("history", func(t *testing.T) {
		for seed := range played {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				p := newPipeline(t, rand.New(rand.NewPCG(uint64(seed), 2)))
				played[seed] = p
				p.play(t, p.deliverInOrder)
				p.finish(t)
				p.checkEvents(t)
				p.outcome(t).compareKilled(t, want, p.workers.killed())
			})
		}
	})
	calls, deaths, n := map[string]int{}, map[death]int{}, 0
	for _, p := range played {
		for operation, made := range p.workers.calls {
			calls[operation] += made
		}
		for d, times := range p.workers.kills {
			deaths[d], n = deaths[d]+times, n+times
		}
	}
	t.Logf("%d histories, %d kills %v in the calls %v", *kills, n, deaths, calls)
	if n < 5**kills {
		t.Errorf("%d kills in %d histories", n, *kills)
	}
}

// confidence finds how sure a model was of a summary. The offline model is the surer the more of the user's messages it
// is asked about at once. After a death it is asked in other steps.
var confidence = regexp.MustCompile(`"confidence":[\d.]+`)

// compareKilled compares the outcome after a number of kills with that of no kill.
func (o outcome) compareKilled(t *testing.T, want outcome, kills int) {
	t.Helper()
	withoutConfidence := func(records map[string]string) map[string]string {
		out := maps.Clone(records)
		for name, text := range out {
			if strings.Contains(name, "summary#") || strings.Contains(text, `"summaryFields"`) {
				out[name] = confidence.ReplaceAllString(text, "")
			}
		}
		return out
	}
	outcome{withoutConfidence(o.items), withoutConfidence(o.vectors), nil}.
		compare(t, outcome{withoutConfidence(want.items), withoutConfidence(want.vectors), nil})
	for input, paid := range o.paid {
		if paid > max(1, want.paid[input])+kills {
			t.Errorf("paid %d times, undisturbed %d times, with %d kills: %.200q", paid, want.paid[input], kills, input)
		}
	}
}

// invoke invokes an instance. Where the pipeline has a source of randomness, it is killed at one of its calls. Then
// another instance gets the event, at once or when the claims of the killed one have lapsed.
func (p *pipeline) invoke(t *testing.T, function string, instance int, payload json.RawMessage) (any, error) {
	t.Helper()
	for deaths := 0; ; deaths++ {
		f := p.functions[function][instance]
		if p.random == nil || deaths == mostDeaths {
			return f.handle(t.Context(), payload)
		}
		within := 4 << p.random.IntN(5) // An event makes 5 to 100 calls. Short ones are killed, too, and long ones late.
		doomed := doom{1 + p.random.IntN(within), p.random.IntN(2) == 0, p.random.IntN(2) == 0}
		if out, err, lives := p.invokeDoomed(t, f, payload, doomed); lives {
			return out, err
		}
		p.functions[function][instance] = p.newInstance(t, function)
		instance = (instance + 1) % instances
		if p.random.IntN(8) > 0 {
			p.pass(t, time.Hour)
		}
	}
}

// invokeDoomed invokes an instance that is killed, unless it makes fewer calls. It reports whether it lives.
func (p *pipeline) invokeDoomed(
	t *testing.T, f instance, payload json.RawMessage, d doom,
) (out any, err error, lives bool) {
	t.Helper()
	type result struct {
		out any
		err error
	}
	ctx, die := context.WithCancel(t.Context())
	defer die()
	dead, done := p.workers.doom(f.worker, d), make(chan result, 1)
	go func() {
		out, err := f.handle(ctx, payload)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err, p.workers.spare(f.worker)
	case <-dead:
		return nil, nil, false
	}
}

// finish lets time pass and runs the sweep until nothing is due.
func (p *pipeline) finish(t *testing.T) {
	t.Helper()
	p.bus.works.Store(true)
	p.functions["summarize"][1] = p.newInstance(t, "summarize") // the other may still spare the bus after a failure
	for range 20 {
		if !p.pass(t, 24*time.Hour) {
			return
		}
		p.sweep(t)
		for records := p.take(t); len(records) > 0; records = p.take(t) {
			p.deliverInOrder(t, records)
		}
	}
	t.Error("something is due for ever")
}

// times are until when something waits, those of summaries, which have to be old before a spine is written from them,
// and through which of them a spine is written.
var times = []string{"dueAt", "indexingUntil", "leaseUntil", "summaryUpdatedAt", "summaryIndexedAt", "coveredTo"}

// pass puts all times back, and reports whether something is due. It leaves a record alone that is being written by a
// call that was under way when its caller was killed.
func (p *pipeline) pass(t *testing.T, by time.Duration) (due bool) {
	t.Helper()
	out := check.Got(p.client.Scan(t.Context(), &dynamodb.ScanInput{
		TableName:      &p.table,
		ConsistentRead: aws.Bool(true),
	}))(t)
	for _, it := range out.Items {
		var sets, isAsRead []string
		values := map[string]types.AttributeValue{}
		for _, name := range times {
			until, ok := it[name].(*types.AttributeValueMemberS)
			if !ok {
				continue
			}
			at := check.Got(time.Parse(conversation.TimeFormat, until.Value))(t)
			due = due || name == "dueAt"
			sets, isAsRead = append(sets, name+" = :"+name), append(isAsRead, name+" = :"+name+"AsRead")
			values[":"+name] = &types.AttributeValueMemberS{Value: conversation.FormatTime(at.Add(-by))}
			values[":"+name+"AsRead"] = until
		}
		if len(sets) == 0 {
			continue
		}
		_, err := p.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &p.table, Key: map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]},
			UpdateExpression:          aws.String("SET " + strings.Join(sets, ", ")),
			ConditionExpression:       aws.String(strings.Join(isAsRead, " AND ")),
			ExpressionAttributeValues: values,
		})
		if _, written := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !written {
			t.Fatal(err)
		}
	}
	return due
}
