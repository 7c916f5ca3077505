package restore

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/deploymenttest"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/pineconetest"
)

// rehearsal is a stage on the local engine. before is the stack with the old table, which goes on running, as instances
// do that do not know the new one. after is the one with the new table. It runs from when the functions' aliases move.
type rehearsal struct {
	*testing.T
	stack         *deploymenttest.Stack
	tables        *tableService
	program       string
	next          string // the next index
	before, after *launch.Stack
	at            time.Time
}

func newRehearsal(t *testing.T) *rehearsal {
	t.Helper()
	program := check.Got(launch.Build(t.Context(), t.TempDir()))(t)
	x := &rehearsal{T: t, stack: deploymenttest.New(t, nil), program: program}
	x.next = pineconetest.Host(t, 1536) + ",text-embedding-3-small@1536,user"
	x.tables = newTableService(t, x.stack.Allows)
	x.before = x.start(oldTable)
	x.stack.OnStep = x.onStep
	return x
}

// onStep looks at what users see after each step of an update: reads go on, with the functions of before and after.
func (x *rehearsal) onStep(step string) {
	x.Helper()
	if table := x.stack.Live["coach"]["TABLE_NAME"]; table != oldTable && x.after == nil {
		x.after = x.start(table, "PINECONE_INDEX_HOST="+x.info(x.before).PineconeHost, "PINECONE_NEXT_INDEX="+x.next)
	}
	for name, stack := range map[string]*launch.Stack{"before": x.before, "after": x.after} {
		if stack == nil {
			continue
		}
		if err := x.reads(stack); err != nil {
			x.Errorf("update %d of the stack, step %s: reads fail with the functions of %s: %v", x.stack.Updates, step, name,
				err)
		}
	}
}

// start starts a stack on a table of the service.
func (x *rehearsal) start(table string, environment ...string) *launch.Stack {
	x.Helper()
	stack := check.Got(launch.Start(x.Context(), x.program, os.Stderr, append([]string{
		"TABLE_NAME=" + table, "ERASURES_TABLE=" + ledgerTable, "AWS_ENDPOINT_URL_DYNAMODB=" + x.tables.url,
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + dynamodbtest.Endpoint(x), "AWS_ACCESS_KEY_ID=" + functionsKey,
		"TRIGGERS=idle=1s,sweep=1s",
	}, environment...)...))(x)
	x.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			x.Errorf("stop: %v", err)
		}
	})
	return stack
}

// environment is that of a deployed function, with the operator's credentials.
func (x *rehearsal) environment(operator string) map[string]string {
	info := x.info(x.before)
	return map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_DYNAMODB": x.tables.url, "AWS_ACCESS_KEY_ID": operator,
		"AWS_SECRET_ACCESS_KEY": "local", "PINECONE_INDEX_HOST": info.PineconeHost, "PINECONE_API_KEY": "local",
	}
}

type stackInfo struct{ PineconeHost, OpenAIBaseURL string }

func (x *rehearsal) info(stack *launch.Stack) stackInfo {
	x.Helper()
	var info stackInfo
	x.do(client.New(stack.Base), http.MethodGet, "/dev/info", nil, &info)
	return info
}

func (x *rehearsal) settle(stack *launch.Stack) {
	x.Helper()
	var settled struct{ Settled bool }
	x.do(client.New(stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 60000}, &settled)
	if !settled.Settled {
		x.Fatal("the stack has not settled")
	}
}

// settleAnyway gives the background work of a read-only stack time to try.
func (x *rehearsal) settleAnyway(stack *launch.Stack) {
	x.Helper()
	x.do(client.New(stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 3000}, nil)
}
