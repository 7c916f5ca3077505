// Command store measures the message store on DynamoDB Local, side by side with the embedded array that users come from
// and with the bare calls that no store can do without: DynamoDB calls, capacity units and time, per turn and per page,
// over the length of the session. It prints tables, writes JSON and a document's section with a plot where it is told
// to, and fails when a bar is not held (design 6).
//
//	go run ./infra/bench/store [-lengths 0,10,100,1000,10000,50000] [-repeats 45] [-json file] [-docs folder]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/store/storebench"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/internal/dynamo"
)

const (
	table = "bench-store"
	seed  = 20260105
)

func main() {
	lengths := flag.String("lengths", "0,10,100,1000,10000,50000", "lengths of the sessions in messages, ascending")
	repeats := flag.Int("repeats", 45, "how often each contender does each thing at each length")
	numbers := flag.String("json", "", "file to write the results to as JSON")
	docs := flag.String("docs", "", "folder of the documents to put the results and the plot into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *lengths, *repeats, *numbers, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "bench-store:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, lengths string, repeats int, numbers, docs string) error {
	settings, err := parse(lengths, repeats)
	if err != nil {
		return err
	}
	result, err := hold(ctx, settings)
	if err != nil {
		return err
	}
	fmt.Print(result.Text())
	if numbers != "" {
		if err := report.WriteJSON(numbers, result); err != nil {
			return err
		}
	}
	if docs != "" {
		if err := document(docs, result); err != nil {
			return err
		}
	}
	if !result.Held() {
		return errors.New("a bar was not held")
	}
	return nil
}

func parse(lengths string, repeats int) (storebench.Settings, error) {
	s := storebench.Settings{Repeats: repeats, Seed: seed}
	for part := range strings.SplitSeq(lengths, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return s, fmt.Errorf("a length has to be a number of messages: %q", part)
		}
		s.Lengths = append(s.Lengths, n)
	}
	if !slices.IsSorted(s.Lengths) || repeats < 1 {
		return s, errors.New("lengths have to ascend, and there has to be a repeat")
	}
	return s, nil
}

// hold starts an engine for the contest and stops it afterwards.
func hold(ctx context.Context, s storebench.Settings) (o storebench.Result, err error) {
	if !dynamodblocal.Installed() {
		fmt.Fprintln(os.Stderr, "installing DynamoDB Local")
	}
	server, err := dynamodblocal.Start(ctx, dynamodblocal.Options{})
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.Endpoint()),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     retry.NewStandard(repeatBrokenReads),
	})
	if _, err := client.CreateTable(ctx, dynamo.CreateTableInput(table)); err != nil {
		return o, fmt.Errorf("create table: %w", err)
	}
	return storebench.Run(ctx, client, table, s, func(line string) { fmt.Fprintln(os.Stderr, line) })
}

// repeatBrokenReads lets the client repeat nothing, since no repeat is counted, but for one defect of its own: it may
// close the connection of a large answer that it is still reading (aws-sdk-go-v2 issue 2737). Writes have small answers.
func repeatBrokenReads(o *retry.StandardOptions) {
	o.Retryables = []retry.IsErrorRetryable{retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		return aws.BoolTernary(errors.Is(err, net.ErrClosed))
	})}
	o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
}

// document puts the results where readers find them.
func document(docs string, o storebench.Result) error {
	const plot = "benchmarks/store.svg"
	svg, err := o.Plot().SVG()
	if err != nil {
		return err
	}
	if err := report.WriteFile(filepath.Join(docs, filepath.FromSlash(plot)), svg); err != nil {
		return err
	}
	return report.WriteSection(filepath.Join(docs, "benchmarks.md"), heading, "store", o.Markdown(plot))
}

const heading = `# Benchmarks

Each section is written by the program that measured it; run it again to replace it.
`
