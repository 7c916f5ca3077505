package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
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

// units are what one session uses, as a mean over the measured ones.
type units struct {
	Date     string         `json:"date"`
	Settings map[string]int `json:"settings"`
	// Session is the use of each function.
	Session map[string]use `json:"session"`
	// TableBytes and IndexBytes are what a session adds to the table and to its indexes, in that many records, without
	// what expires.
	TableBytes float64 `json:"tableBytes"`
	IndexBytes float64 `json:"indexBytes"`
	Records    float64 `json:"records"`
}

// How many sessions the user has before the measured ones, and how many are measured.
const (
	history  = 12
	sessions = 4

	tableName = "bench-scale"
)

// bench plays whole sessions on the local stack, with the functions of production. Between each function and each of
// its services is a proxy that counts. Nothing here depends on the clock.
type bench struct {
	*rig.Rig
	running *stack.Stack
	api     *client.Client
	texts   *rig.Texts

	mu     sync.Mutex // guards what follows
	uses   map[string]use
	meters map[*meter.Meter]string // DynamoDB as an instance of a function sees it
}

// measure plays sessions on the DynamoDB engine at an endpoint.
func measure(ctx context.Context, endpoint string, before, sessions, turns int) (u units, err error) {
	services, err := rig.New(ctx, endpoint, tableName)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	b := &bench{Rig: services, texts: rig.NewTexts(1), uses: map[string]use{}, meters: map[*meter.Meter]string{}}
	if b.running, err = b.Stack(ctx, b.metered); err != nil {
		return u, err
	}
	if b.api, err = client.New(b.running.URL()).As(ctx, "bench-user"); err != nil {
		return u, err
	}
	old, err := b.play(ctx, "before-", before, turns)
	if err != nil {
		return u, err
	}
	if u, err = b.play(ctx, "measured-", sessions, turns); err != nil {
		return u, err
	}
	n := float64(sessions)
	for name, used := range u.Session {
		u.Session[name] = used.Times(1 / n)
	}
	u.Date, u.Settings = time.Now().UTC().Format(time.DateOnly), map[string]int{
		"history": before, "sessions": sessions, "turns": turns,
	}
	u.TableBytes, u.IndexBytes = (u.TableBytes-old.TableBytes)/n, (u.IndexBytes-old.IndexBytes)/n
	u.Records = (u.Records - old.Records) / n
	return u, nil
}

// play plays sessions. It returns what they have used, and what the table has then.
func (b *bench) play(ctx context.Context, prefix string, sessions, turns int) (u units, err error) {
	for i := range sessions {
		if err := b.session(ctx, prefix+strconv.Itoa(i), turns); err != nil {
			return u, err
		}
	}
	if u, err = b.stored(ctx); err != nil {
		return u, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u.Session, b.uses = b.uses, map[string]use{}
	for m, function := range b.meters {
		used, err := m.Take()
		if err != nil {
			return u, err
		}
		if used.Calls > 0 {
			u.Session[function].add(use{
				"dynamodbCalls": float64(used.Calls), "readUnits": used.Units.Read, "writeUnits": used.Units.Write,
			})
		}
	}
	return u, nil
}

// session opens a session, has the turns in it, completes it, and waits for what follows.
func (b *bench) session(ctx context.Context, id string, turns int) error {
	body := map[string]any{"context": "coach_conversation", "coachId": "coach", "sessionId": id}
	if err := b.api.Do(ctx, http.MethodPost, "/v1/sessions", body, nil); err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	for n := range turns {
		in := map[string]any{"sessionId": id, "message": b.texts.Messages(2)[0].Content}
		last := ""
		err := b.api.Chat(ctx, in, func(e client.Event) error {
			last = e.Name
			return nil
		}, client.Key(id+"-"+strconv.Itoa(n)))
		if err == nil && last != "done" {
			err = fmt.Errorf("the answer ends in %q", last)
		}
		if err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		if err := rig.Settle(ctx, b.running); err != nil {
			return err
		}
	}
	patch := map[string]any{"status": "completed"}
	if err := b.api.Do(ctx, http.MethodPatch, "/v1/sessions/"+id, patch, nil); err != nil {
		return fmt.Errorf("complete session: %w", err)
	}
	return rig.Settle(ctx, b.running)
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
		})
		m := meter.New(rig.Client(cfg.DynamoDBEndpoint), table.CreateTableInput(tableName))
		b.mu.Lock()
		b.meters[m] = name
		b.mu.Unlock()
		engine, err := m.Proxy()
		if err != nil {
			return nil, err
		}
		cfg.DynamoDBEndpoint = b.Serve(engine)
		for _, address := range []*string{&cfg.OpenAI.BaseURL, &cfg.OpenAI.EmbeddingBaseURL} {
			if *address == "" {
				continue
			}
			target, err := url.Parse(*address)
			if err != nil {
				return nil, err
			}
			*address = b.Serve(b.model(name, target))
		}
		if cfg.Pinecone.IndexHost, err = b.ServeIndex(b.index(name)); err != nil {
			return nil, err
		}
		return build(ctx, cfg, rt)
	}
}

// count adds to the use of a function.
func (b *bench) count(function string, u use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.uses[function] == nil {
		b.uses[function] = use{}
	}
	b.uses[function].add(u)
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// The usage in an answer of the models. The two interfaces and the embeddings have names of their own for it. Of a
// stream the last one counts.
var (
	inputTokens  = regexp.MustCompile(`"(?:prompt_tokens|input_tokens)":\s*(\d+)`)
	outputTokens = regexp.MustCompile(`"(?:completion_tokens|output_tokens)":\s*(\d+)`)
)

func lastNumber(pattern *regexp.Regexp, text []byte) (n float64) {
	for _, found := range pattern.FindAllSubmatch(text, -1) {
		n, _ = strconv.ParseFloat(string(found[1]), 64) // the pattern has digits only
	}
	return n
}

// model is a model service as a function sees it.
func (b *bench) model(function string, target *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		Transport: &http.Transport{DisableCompression: true},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, answer := float64(max(r.ContentLength, 0)), &copyWriter{ResponseWriter: w}
		// The proxy panics where the function closes a stream before its end, as it may once it has the usage.
		defer func() {
			in, out := lastNumber(inputTokens, answer.body.Bytes()), lastNumber(outputTokens, answer.body.Bytes())
			u := use{"sentBytes": sent, "modelCalls": 1, "inputTokens": in, "outputTokens": out}
			if path.Base(r.URL.Path) == "embeddings" {
				u = use{"sentBytes": sent, "embeddingCalls": 1, "embeddingTokens": in}
			}
			b.count(function, u)
		}()
		proxy.ServeHTTP(answer, r)
	})
}

// copyWriter keeps a copy of an answer's body.
type copyWriter struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (c *copyWriter) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// Unwrap lets the proxy flush the pieces of a stream.
func (c *copyWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// index counts the calls of the index that a function makes.
func (b *bench) index(function string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		message, _ := request.(proto.Message)
		u := use{"sentBytes": float64(proto.Size(message))}
		switch path.Base(info.FullMethod) {
		case "Query":
			u["indexQueries"] = 1
		case "Upsert":
			const floatBytes = 4 // of a dense value
			m := message.ProtoReflect()
			n := float64(m.Get(m.Descriptor().Fields().ByName("vectors")).List().Len())
			u["indexWrites"], u["vectors"], u["vectorBytes"] = 1, n, u["sentBytes"]-n*rig.Dimensions*floatBytes
		}
		b.count(function, u)
		return next(ctx, request)
	}
}
