package function_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// TestEveryRecordTwice plays a history on several tables. Each record is delivered twice, to different instances, in
// any order across items. What follows from the records has to be the same as in order, and to be paid for once. Of a
// memory and of a check-in each record may pay for an embedding, because the record is indexed as the table has it
// then.
func TestEveryRecordTwice(t *testing.T) {
	t.Parallel()
	want := inOrder(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, nil)
			random := rand.New(rand.NewPCG(seed, 1))
			p.play(t, func(t *testing.T, records []record) { p.deliverTwice(t, records, random, 1) })
			p.finish(t)
			p.checkEvents(t)
			got := p.outcome(t)
			got.compare(t, want)
			for input, n := range got.paid {
				if n != want.paid[input] && (!isRecord(input) || n > 2*want.paid[input]) {
					t.Errorf("paid %d times, in order %d times: %.200q", n, want.paid[input], input)
				}
			}
		})
	}
}

// TestEveryRecordTwiceAtOnce does the same with several batches at a time, which may be of one session. The end is the
// same. Nothing is paid for more often than that number of batches.
func TestEveryRecordTwiceAtOnce(t *testing.T) {
	t.Parallel()
	const atOnce = 4
	want, p := inOrder(t), newPipeline(t, nil)
	random := rand.New(rand.NewPCG(7, 1))
	p.play(t, func(t *testing.T, records []record) { p.deliverTwice(t, records, random, atOnce) })
	p.finish(t)
	p.checkEvents(t)
	got := p.outcome(t)
	got.compare(t, want)
	for input, n := range got.paid {
		if n > atOnce*max(1, want.paid[input]) {
			t.Errorf("paid %d times, in order %d times: %.200q", n, want.paid[input], input)
		}
	}
}

// record is one record of the stream for one function.
type record struct {
	function string
	raw      json.RawMessage
	event    events.DynamoDBEventRecord
	// again says that it is the second delivery. held are second deliveries of earlier records of the item, which come
	// after this one.
	again bool
	held  []record
}

func (r record) item() string {
	return r.function + " " + r.event.Change.Keys["pk"].String() + " " + r.event.Change.Keys["sk"].String()
}

// deliverInOrder delivers records in the order of the stream, in one batch for each function, to the first instance.
func (p *pipeline) deliverInOrder(t *testing.T, records []record) {
	t.Helper()
	for _, function := range streamFunctions {
		if batch := ofFunction(records, function); len(batch) > 0 {
			p.deliver(t, function, 0, batch)
		}
	}
}

func ofFunction(records []record, function string) []record {
	return slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.function != function })
}

// delivery is a batch with the instance that gets it.
type delivery struct {
	function string
	instance int
	batch    []record
}

// deliverTwice delivers each record twice, the second time to another instance, perhaps only after later writes. The
// records of one item keep their order, those of different items are mixed.
func (p *pipeline) deliverTwice(t *testing.T, records []record, random *rand.Rand, atOnce int) {
	t.Helper()
	for chunk := range slices.Chunk(p.deal(p.mix(records, random), random), atOnce) {
		var work sync.WaitGroup
		for _, d := range chunk {
			work.Go(func() { p.deliver(t, d.function, d.instance, d.batch) })
		}
		work.Wait()
	}
}

// mix returns each record twice, in any order across items. It keeps some second deliveries for the next call.
func (p *pipeline) mix(records []record, random *rand.Rand) []record {
	queues := map[string][]record{}
	var items []string
	push := func(r record) {
		if _, ok := queues[r.item()]; !ok {
			items = append(items, r.item())
		}
		queues[r.item()] = append(queues[r.item()], r)
	}
	for _, r := range p.late {
		push(r)
	}
	p.late = nil
	for i := range records {
		r := records[i]
		push(r)
		second := r
		second.again = true
		next := slices.IndexFunc(records[i+1:], func(other record) bool { return other.item() == r.item() })
		switch random.IntN(6) {
		case 0:
			p.late = append(p.late, second)
		case 1, 2:
			if next >= 0 { // as when a batch of both is delivered again
				records[i+1+next].held = append(records[i+1+next].held, second)
				continue
			}
			push(second)
		default:
			push(second)
		}
		for _, h := range r.held {
			push(h)
		}
	}
	var mixed []record
	for len(items) > 0 {
		i := random.IntN(len(items))
		queue := queues[items[i]]
		mixed = append(mixed, queue[0])
		if queues[items[i]] = queue[1:]; len(queue) == 1 {
			items = slices.Delete(items, i, i+1)
		}
	}
	return mixed
}

// deal cuts records into batches of one to four for an instance each.
func (p *pipeline) deal(records []record, random *rand.Rand) []delivery {
	var out []delivery
	open := map[string]*delivery{}
	flush := func(function string) {
		if d := open[function]; d != nil {
			out, open[function] = append(out, *d), nil
		}
	}
	for _, r := range records {
		place := r.function + r.event.EventID
		if d := open[r.function]; d != nil && (len(d.batch) > random.IntN(5) || r.again && p.first[place] == d.instance) {
			flush(r.function)
		}
		if open[r.function] == nil {
			instance := random.IntN(instances)
			if r.again && instance == p.first[place] {
				instance = (instance + 1) % instances
			}
			open[r.function] = &delivery{function: r.function, instance: instance}
		}
		d := open[r.function]
		if d.batch = append(d.batch, r); !r.again {
			p.first[place] = d.instance
		}
	}
	for _, function := range streamFunctions {
		flush(function)
	}
	return out
}
