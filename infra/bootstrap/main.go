// Command bootstrap makes what a stage needs before its stack: the secrets with the keys, and the Pinecone index.
// Without -apply it only says what it would do. It can be repeated: what is there is checked and kept. It prints no
// keys.
//
//	OPENAI_API_KEY=… PINECONE_API_KEY=… go run ./infra/bootstrap -env dev [-apply]
//
// The key of a secret that exists is used without being given again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/throughline/throughline/infra/deployment"
)

const timeout = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bootstrap:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("bootstrap", flag.ContinueOnError)
	stage := flags.String("env", "dev", "stage of the configuration")
	path := flags.String("config", "samconfig.toml", "the configuration")
	name := flags.String("index", "", "name of the Pinecone index; the default is that of the stack")
	region := flags.String("pinecone-region", "", "region of the Pinecone index; the default is that of the stack")
	control := flags.String("pinecone-host", "", "address of Pinecone's control plane; empty means Pinecone's own")
	apply := flags.Bool("apply", false, "make what is missing")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	s, err := deployment.Open(*path, *stage)
	if err != nil {
		return err
	}
	b, err := newBootstrap(s, *name, *region, *control)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(s.Region))
	if err != nil {
		return fmt.Errorf("read the AWS configuration: %w", err)
	}
	b.secrets, b.out, b.apply = secretsmanager.NewFromConfig(cfg), out, *apply
	return b.run(ctx)
}

// newBootstrap takes what to make from the stage and the environment.
func newBootstrap(s deployment.Stage, name, region, control string) (*bootstrap, error) {
	dimension, err := strconv.ParseInt(s.Value("OpenAIEmbeddingDimensions"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read OpenAIEmbeddingDimensions: %w", err)
	}
	if s.Stack == "" || s.Region == "" {
		return nil, errors.New("the stage needs stack_name and region")
	}
	if name == "" {
		name = s.Stack
	}
	if region == "" {
		if region, err = nearRegion(s.Region); err != nil {
			return nil, err
		}
	}
	return &bootstrap{
		control: control, stage: s, index: index{name: name, region: region, dimension: int32(dimension)},
	}, nil
}
