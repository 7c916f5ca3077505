package unitbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/bench/store/storebench"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/function"
)

// Settings say what is played.
type Settings struct {
	// History are the user's sessions before the measured ones. Each session has Turns turns.
	History  int `json:"history"`
	Sessions int `json:"sessions"`
	Turns    int `json:"turns"`
}

// Units are what one session uses, as a mean over the measured ones.
type Units struct {
	Date     string   `json:"date"`
	Settings Settings `json:"settings"`
	// Session is the use of each function.
	Session map[string]Use `json:"session"`
	// TableBytes and IndexBytes are what a session adds to the table and to its indexes, without what expires.
	TableBytes float64 `json:"tableBytes"`
	IndexBytes float64 `json:"indexBytes"`
	// Records are how many records these are.
	Records float64 `json:"records"`
}

const (
	tableName  = "bench-scale"
	appContext = "coach_conversation"
)

type bench struct {
	*tally
	*rig.Rig
}

// Run plays sessions on the DynamoDB engine at an endpoint.
func Run(ctx context.Context, endpoint string, s Settings) (u Units, err error) {
	services, err := rig.New(ctx, endpoint, tableName)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	b := &bench{&tally{uses: map[string]Use{}}, services}
	running, err := b.Stack(ctx, b.metered)
	if err != nil {
		return u, err
	}
	api, err := client.New(running.URL()).As(ctx, "bench-user")
	if err != nil {
		return u, err
	}
	p := player{running, api, storebench.NewTexts(1), s.Turns}
	if err := p.play(ctx, "before-", s.History); err != nil {
		return u, err
	}
	before, err := b.stored(ctx)
	if err != nil {
		return u, err
	}
	if _, err := b.drain(); err != nil {
		return u, err
	}
	if err := p.play(ctx, "measured-", s.Sessions); err != nil {
		return u, err
	}
	after, err := b.stored(ctx)
	if err != nil {
		return u, err
	}
	uses, err := b.drain()
	if err != nil {
		return u, err
	}
	n := float64(s.Sessions)
	for name, use := range uses {
		uses[name] = use.Times(1 / n)
	}
	return Units{
		Date: time.Now().UTC().Format(time.DateOnly), Settings: s, Session: uses,
		TableBytes: (after.table - before.table) / n, IndexBytes: (after.index - before.index) / n,
		Records: (after.records - before.records) / n,
	}, nil
}

// player plays sessions of a user.
type player struct {
	running *stack.Stack
	api     *client.Client
	texts   *storebench.Texts
	turns   int
}

func (p player) play(ctx context.Context, prefix string, sessions int) error {
	for i := range sessions {
		if err := p.session(ctx, prefix+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

// session opens a session, has the turns in it, completes it, and waits for what follows.
func (p player) session(ctx context.Context, id string) error {
	body := map[string]any{"context": appContext, "coachId": "coach", "sessionId": id}
	if err := p.api.Do(ctx, http.MethodPost, "/v1/sessions", body, nil); err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	for n := range p.turns {
		in := map[string]any{"sessionId": id, "message": p.texts.Turn()[0].Content}
		last := ""
		err := p.api.Chat(ctx, in, func(e client.Event) error {
			last = e.Name
			return nil
		}, client.Key(id+"-"+strconv.Itoa(n)))
		if err == nil && last != "done" {
			err = fmt.Errorf("the answer ends in %q", last)
		}
		if err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		if err := rig.Settle(ctx, p.running); err != nil {
			return err
		}
	}
	patch := map[string]any{"status": "completed"}
	if err := p.api.Do(ctx, http.MethodPatch, "/v1/sessions/"+id, patch, nil); err != nil {
		return fmt.Errorf("complete session: %w", err)
	}
	return rig.Settle(ctx, p.running)
}

// metered returns a constructor of a function whose services are behind meters.
func (b *bench) metered(name string, build stack.Constructor) stack.Constructor {
	return func(ctx context.Context, cfg config.Config, rt function.Runtime) (any, error) {
		rt.Log = slog.New(slog.NewJSONHandler(countingWriter{b.tally, name, false}, nil))
		rt.Metrics = countingWriter{b.tally, name, true}
		engine, err := b.meter(name, cfg.DynamoDBEndpoint)
		if err != nil {
			return nil, err
		}
		cfg.DynamoDBEndpoint = b.Serve(engine)
		for _, address := range []*string{&cfg.OpenAI.BaseURL, &cfg.OpenAI.EmbeddingBaseURL} {
			if *address == "" {
				continue
			}
			handler, err := meteredModel(b.tally, name, *address)
			if err != nil {
				return nil, err
			}
			*address = b.Serve(handler)
		}
		cfg.Pinecone.IndexHost, err = b.ServeIndex(meteredIndex(b.tally, name, rig.Dimensions))
		if err != nil {
			return nil, err
		}
		return build(ctx, cfg, rt)
	}
}

// storedBytes are the sizes of the records that stay.
type storedBytes struct{ table, index, records float64 }

// overhead is what DynamoDB adds to each record and to each entry of an index (Amazon DynamoDB Developer Guide, "Item
// sizes and formats", "Storage considerations for global secondary indexes").
const overhead = 100

// stored adds up the records that do not expire.
func (b *bench) stored(ctx context.Context) (storedBytes, error) {
	var out storedBytes
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
			out.records++
			out.table += float64(capacity.Size(record) + overhead)
			for _, i := range shape.Indexes {
				if entry := i.Entry(record); entry != nil {
					out.index += float64(capacity.Size(entry) + overhead)
				}
			}
		}
	}
	return out, nil
}
