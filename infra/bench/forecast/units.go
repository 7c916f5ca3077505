package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/dynamo/table"
	lambda "github.com/throughline/throughline/internal/function"
)

// use is what one function uses, by what it is: calls, capacity units, tokens, vectors and bytes. Invocations are
// counted for the functions of the stream; the others have one for each request. Bytes of vectors are those without
// their dense values.
type use map[string]float64

func (u use) add(v use) {
	for name, n := range v {
		u[name] += n
	}
}

// Times returns the use n times.
func (u use) Times(n float64) use {
	out := use{}
	for name, v := range u {
		out[name] = v * n
	}
	return out
}

// uses are uses by the name of what they are of.
type uses map[string]use

func (u uses) add(name string, v use) {
	if u[name] == nil {
		u[name] = use{}
	}
	u[name].add(v)
}

// units are what one session uses, as a mean over the measured ones.
type units struct {
	Date     string         `json:"date"`
	Settings map[string]int `json:"settings"`
	// Session is the use of each function. Calls is that of the background's calls of the model, by their form.
	Session uses `json:"session"`
	Calls   uses `json:"calls"`
	// Sweep is what a sweep uses that finds nothing. It is no part of a session.
	Sweep use `json:"sweep"`
	// TableBytes and IndexBytes are what a session adds to the table and to its indexes, in that many records, without
	// what expires.
	TableBytes float64 `json:"tableBytes"`
	IndexBytes float64 `json:"indexBytes"`
	Records    float64 `json:"records"`
}

// How many days the user has before the measured ones, and how many are measured. Texts differ from day to day.
const (
	historyDays  = 4
	measuredDays = 4
)

const (
	userID    = "bench-user"
	coachID   = "coach"
	tableName = "bench-scale"
)

// bench plays whole sessions on the local stack, with the functions of production. Between each function and each of
// its services is a proxy that counts. Nothing here depends on the clock.
type bench struct {
	*rig.Rig
	stack rig.Stack
	texts *rig.Texts

	mu     sync.Mutex // guards what follows
	sweeps []lambda.PayloadHandler
	uses   uses
	calls  uses                    // the background's calls of the model, by their form
	meters map[*meter.Meter]string // DynamoDB as an instance of a function sees it
}

// measure plays days of sessions on the DynamoDB engine at an endpoint. It measures the days after those before.
func measure(ctx context.Context, endpoint string, before, days, sessions, turns int) (u units, err error) {
	services, err := rig.New(ctx, endpoint, tableName)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	b := &bench{
		Rig: services, texts: rig.NewTexts(1), uses: uses{}, calls: uses{}, meters: map[*meter.Meter]string{},
	}
	if b.stack, err = b.Stack(ctx, userID, rest, b.metered); err != nil {
		return u, err
	}
	old, err := b.play(ctx, 0, before, sessions, turns)
	if err != nil {
		return u, err
	}
	if u, err = b.play(ctx, before, before+days, sessions, turns); err != nil {
		return u, err
	}
	sessions *= days
	n := float64(sessions)
	for _, all := range []uses{u.Session, u.Calls} {
		for name, used := range all {
			all[name] = used.Times(1 / n)
		}
	}
	u.Date, u.Settings = time.Now().UTC().Format(time.DateOnly), map[string]int{
		"history": sessions / days * before, "sessions": sessions, "turns": turns,
	}
	u.TableBytes, u.IndexBytes = (u.TableBytes-old.TableBytes)/n, (u.IndexBytes-old.IndexBytes)/n
	u.Records = (u.Records - old.Records) / n
	return u, nil
}

// play plays days. It returns what they have used, without the looks of the sweeps at what is due, and what the table
// has then.
func (b *bench) play(ctx context.Context, from, to, sessions, turns int) (u units, err error) {
	for day := from; day < to; day++ {
		for i := range sessions {
			if err := b.session(ctx, fmt.Sprintf("day-%d-%d", day, i), turns); err != nil {
				return u, err
			}
		}
		if err := b.endDay(ctx); err != nil {
			return u, err
		}
	}
	if u, err = b.stored(ctx); err != nil {
		return u, err
	}
	if u.Session, u.Calls, err = b.taken(); err != nil {
		return u, err
	}
	if _, err := b.sweeps[0](ctx, json.RawMessage(`{"schedule":"sweep"}`)); err != nil { // as it comes each minute
		return u, fmt.Errorf("sweep: %w", err)
	}
	idle, _, err := b.taken()
	u.Sweep = idle["summarize"]
	delete(u.Sweep, "sweeps")
	if from == to {
		return u, err
	}
	u.Session["summarize"].add(u.Sweep.Times(-u.Session["summarize"]["sweeps"]))
	return u, err
}

// taken returns the uses since it was last called.
func (b *bench) taken() (functions, calls uses, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	functions, calls = b.uses, b.calls
	b.uses, b.calls = uses{}, uses{}
	for m, function := range b.meters {
		used, err := m.Take()
		if err != nil {
			return nil, nil, err
		}
		if used.Calls == 0 {
			continue
		}
		functions.add(function, use{
			"dynamodbCalls": float64(used.Calls), "readUnits": used.Units.Read, "writeUnits": used.Units.Write,
		})
	}
	return functions, calls, nil
}

// rest is after what time a session falls due, and after its summary enters a spine. No session here takes so long.
const rest = 10 * time.Second

// session opens a session, has the turns in it, completes it, and waits for what follows: its summary by the stream,
// and its memories by the next sweep.
func (b *bench) session(ctx context.Context, id string, turns int) error {
	if err := b.stack.Open(ctx, id, coachID); err != nil {
		return err
	}
	for n := range turns {
		if err := b.stack.Turn(ctx, id, n, b.texts.Messages(2)[0].Content); err != nil {
			return err
		}
	}
	patch := map[string]any{"status": "completed"}
	if err := b.stack.API.Do(ctx, http.MethodPatch, "/v1/sessions/"+id, patch, nil); err != nil {
		return fmt.Errorf("complete session: %w", err)
	}
	return b.stack.Settle(ctx)
}

// endDay has the spine of the day's sessions written. It falls due when the day's sessions have come to rest, by the
// times of the template, and here at once.
func (b *bench) endDay(ctx context.Context) error {
	if err := delay.Sleep(ctx, rest); err != nil {
		return err
	}
	mark := table.SpineMarkKey(userID, coachID)
	_, err := b.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(tableName), Key: mark.Attributes(),
		UpdateExpression:          aws.String("SET " + table.AttrDueAt + " = :now"),
		ConditionExpression:       aws.String("attribute_exists(" + table.AttrDueAt + ")"),
		ExpressionAttributeValues: table.Item{":now": table.TimeAttr(time.Now())},
	})
	if err != nil {
		return fmt.Errorf("make the spine due: %w", err)
	}
	return b.stack.Settle(ctx)
}

// overhead is what DynamoDB adds to each record and to each entry of an index (Amazon DynamoDB Developer Guide, "Item
// sizes and formats", "Storage considerations for global secondary indexes").
const overhead = 100

// stored adds up the records that do not expire.
func (b *bench) stored(ctx context.Context) (out units, err error) {
	shape := capacity.TableOf(table.CreateTableInput(tableName))
	pages := dynamodb.NewScanPaginator(b.Client, &dynamodb.ScanInput{TableName: aws.String(tableName)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, fmt.Errorf("read table: %w", err)
		}
		for _, record := range page.Items {
			if record[table.TTLAttribute] != nil {
				continue
			}
			out.Records++
			out.TableBytes += float64(capacity.Size(record) + overhead)
			for _, i := range shape.Indexes {
				if entry := i.Entry(record); entry != nil {
					out.IndexBytes += float64(capacity.Size(entry) + overhead)
				}
			}
		}
	}
	return out, nil
}

// metered returns a constructor of a function whose services are behind proxies that count.
func (b *bench) metered(name string, build stack.Constructor) stack.Constructor {
	return func(ctx context.Context, cfg config.Config, rt lambda.Runtime) (any, error) {
		rt.Log = slog.New(slog.NewJSONHandler(writer(func(p []byte) {
			b.count(name, use{"logBytes": float64(len(p))})
		}), nil))
		rt.Metrics = writer(func(p []byte) { // a line of metrics is one invocation
			b.count(name, use{"logBytes": float64(len(p)), "invocations": float64(bytes.Count(p, []byte{'\n'}))})
			if bytes.Contains(p, []byte(`"SweepCompleted"`)) {
				b.count(name, use{"sweeps": 1})
			}
		})
		m := meter.New(dynamodblocal.Client(cfg.DynamoDBEndpoint), table.CreateTableInput(tableName))
		b.mu.Lock()
		b.meters[m] = name
		b.mu.Unlock()
		answers := model{b, name, &http.Transport{DisableCompression: true}}
		var errs [4]error
		cfg.DynamoDBEndpoint, errs[0] = b.Proxy(cfg.DynamoDBEndpoint, m)
		cfg.OpenAI.BaseURL, errs[1] = b.Proxy(cfg.OpenAI.BaseURL, answers)
		cfg.OpenAI.EmbeddingBaseURL, errs[2] = b.Proxy(cfg.OpenAI.EmbeddingBaseURL, answers)
		cfg.Pinecone.IndexHost, errs[3] = b.ServeIndex(b.index(name))
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		handler, err := build(ctx, cfg, rt)
		if sweep, ok := handler.(lambda.PayloadHandler); ok && name == "summarize" {
			b.mu.Lock()
			b.sweeps = append(b.sweeps, sweep)
			b.mu.Unlock()
		}
		return handler, err
	}
}

// count adds to the use of a function.
func (b *bench) count(function string, u use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uses.add(function, u)
}
