package summarizefn

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/invoke/caller"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// handled is what an event was passed on as.
type handled struct {
	Keys  []string
	Tasks []sweep.Task
}

// handle passes an event to the handler.
func handle(t *testing.T, event []byte) (handled, any, error) {
	t.Helper()
	var h handled
	handler := batchOrSweep(
		func(_ context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
			for _, r := range e.Records {
				h.Keys = append(h.Keys, r.Change.Keys["pk"].String()+" "+r.Change.Keys["sk"].String())
			}
			return events.DynamoDBEventResponse{}, nil
		},
		func(_ context.Context, task sweep.Task) (sweep.Swept, error) {
			h.Tasks = append(h.Tasks, task)
			return sweep.Swept{}, nil
		})
	answer, err := handler(t.Context(), event)
	return h, answer, err
}

// scheduled returns the event of the template's schedule.
func scheduled(t *testing.T) []byte {
	t.Helper()
	tpl := check.Got(template.Parse(throughline.Template, nil))(t)
	f, ok := tpl.Function("summarize")
	if !ok || len(f.Schedules) != 1 {
		t.Fatalf("summarize has the schedules %+v", f.Schedules)
	}
	return []byte(f.Schedules[0].Input)
}

// startedWith returns the event with which a worker is started.
func startedWith(t *testing.T, task sweep.Task) []byte {
	t.Helper()
	client := &client{}
	check.OK(t, startNext(caller.NewStarter(client, "summarize"))(t.Context(), task))
	return client.payload
}

// client is Lambda, which takes an event.
type client struct{ payload []byte }

func (c *client) Invoke(_ context.Context, in *awslambda.InvokeInput, _ ...func(*awslambda.Options),
) (*awslambda.InvokeOutput, error) {
	c.payload = in.Payload
	return &awslambda.InvokeOutput{}, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	streamed := check.Got(os.ReadFile("../../../infra/events/summarize.json"))(t)
	task := sweep.Task{Shards: []sweep.Shard{3, 17}, Round: 7}
	for name, c := range map[string]struct {
		event []byte
		want  handled
	}{
		"stream":            {streamed, handled{Keys: []string{"user#user-1 conversation#session-1"}}},
		"schedule":          {scheduled(t), handled{Tasks: []sweep.Task{{}}}},
		"worker":            {startedWith(t, task), handled{Tasks: []sweep.Task{task}}},
		"worker at the end": {startedWith(t, sweep.Task{Round: 1}), handled{Tasks: []sweep.Task{{Round: 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, answer, err := handle(t, c.event)
			check.OK(t, err)
			check.Same(t, c.want, got, "%s", c.event)
			if _, isBatch := answer.(events.DynamoDBEventResponse); isBatch != (len(c.want.Keys) > 0) {
				t.Errorf("answers %#v", answer)
			}
		})
	}
}

func TestOtherEvents(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]error{
		`{}`: errUnknownEvent, `{"schedule":"other"}`: errUnknownEvent, `{"Records":[]}`: errUnknownEvent,
		`{"shards":[1],"round":2}`:         errUnknownEvent,
		`{"schedule":"sweep","shards":{}}`: nil, `[]`: nil, `{"Records":"x"}`: nil,
	} {
		got, _, err := handle(t, []byte(event))
		if err == nil || want != nil && !errors.Is(err, want) || len(got.Keys)+len(got.Tasks) > 0 {
			t.Errorf("%s: passed on as %+v, %v", event, got, err)
		}
	}
}
