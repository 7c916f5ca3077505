// Command prompt measures prompts: wall time over the slowest chain of remote calls with injected latencies, own CPU
// time and allocations, and DynamoDB calls and capacity over the length of the history. It prints tables, writes JSON
// and a document's section where it is told to, and fails when a bar of design 6 is not held.
//
//	go run ./infra/bench/prompt [-lengths 100,10000,100000] [-repeats 200] [-json file] [-docs folder]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/prompt/trial"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/internal/dynamo"
)

const table = "bench-prompt"

func main() {
	lengths := flag.String("lengths", "100,10000,100000", "numbers of stored messages, ascending")
	repeats := flag.Int("repeats", 200, "how often each prompt is built")
	numbers := flag.String("json", "", "file to write the results to as JSON")
	docs := flag.String("docs", "", "folder of the documents to put the results into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *lengths, *repeats, *numbers, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "bench-prompt:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, lengths string, repeats int, numbers, docs string) error {
	s := trial.Settings{Repeats: repeats, Latency: trial.Real}
	for part := range strings.SplitSeq(lengths, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("a length has to be a number of messages: %q", part)
		}
		s.Lengths = append(s.Lengths, n)
	}
	outcome, err := measure(ctx, s)
	if err != nil {
		return err
	}
	fmt.Print(outcome.Text())
	if numbers != "" {
		if err := report.WriteJSON(numbers, outcome); err != nil {
			return err
		}
	}
	if docs != "" {
		err := report.WriteSection(filepath.Join(docs, "benchmarks.md"), "# Benchmarks\n", "prompt", outcome.Markdown())
		if err != nil {
			return err
		}
	}
	if !outcome.Held() {
		return errors.New("a bar was not held")
	}
	return nil
}

// measure starts an engine for the trial and stops it afterwards.
func measure(ctx context.Context, s trial.Settings) (o trial.Outcome, err error) {
	server, err := dynamodblocal.Start(ctx, dynamodblocal.Options{})
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.Endpoint()),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	if _, err := client.CreateTable(ctx, dynamo.CreateTableInput(table)); err != nil {
		return o, fmt.Errorf("create table: %w", err)
	}
	return trial.Run(ctx, client, table, s, func(line string) { fmt.Fprintln(os.Stderr, line) })
}
