// Package bootstrap makes what a stage needs before its stack: the secrets with the keys, and the Pinecone index. A
// repeat checks and keeps what is there. The key of a secret that exists is used without being given again. It prints
// no keys.
package bootstrap

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/config"
)

// cursorKeyBytes is the length of the key that signs list cursors.
const cursorKeyBytes = 32

// Options say what to make.
type Options struct {
	// Index and IndexRegion are of the Pinecone index. Empty ones are those of the stack.
	Index, IndexRegion string
	// Apply makes what is missing. Without it, Run only says what it would do.
	Apply bool

	control string // the address of Pinecone's control plane; empty means Pinecone's own
}

// Run makes what a stage lacks, with the keys of the environment.
func Run(ctx context.Context, secrets *secretsmanager.Client, s deployment.Stage, o Options, out io.Writer) error {
	var wanted config.Index
	err := wanted.UnmarshalText([]byte(s.Value(deployment.Index)))
	if err != nil {
		return fmt.Errorf("%s=%s: must be %s. Its host may be any until there is one",
			deployment.Index, s.Value(deployment.Index), config.IndexForm)
	}
	if s.Stack == "" || s.Region == "" {
		return errors.New("the stage needs stack_name and region")
	}
	if o.IndexRegion == "" {
		if o.IndexRegion, err = nearRegion(s.Region); err != nil {
			return err
		}
	}
	b := &bootstrap{
		Options: o, secrets: secrets, out: out, stage: s,
		index: index{cmp.Or(o.Index, s.Stack), o.IndexRegion, int32(wanted.Embedding.Dimensions), wanted},
	}
	return b.run(ctx)
}

// bootstrap makes what a stack needs and CloudFormation does not: the secrets and the index. It changes nothing unless
// Apply is set, and never prints a key.
type bootstrap struct {
	Options

	secrets *secretsmanager.Client
	out     io.Writer
	stage   deployment.Stage
	index   index
}

// index describes the index that the stack needs. wanted is the value of its parameter.
type index struct {
	name, region string
	dimension    int32
	wanted       config.Index
}

// run makes the secrets, then the index.
func (b *bootstrap) run(ctx context.Context) error {
	held, err := b.makeSecrets(ctx)
	if err != nil {
		return err
	}
	if key := held[config.PineconeKey]; key != "" {
		err = b.makeIndex(ctx, key)
	} else {
		b.print("index %s: cannot be looked for without PINECONE_API_KEY", b.index.name)
	}
	if err != nil {
		return err
	}
	if !b.Apply {
		b.print("Nothing was changed. Run it again with -apply.")
	}
	return nil
}

func (b *bootstrap) print(format string, values ...any) { fmt.Fprintf(b.out, format+"\n", values...) }

// makeSecrets makes the secrets that are missing, none if a key for one of them is not given. It returns the keys that
// the secrets have then, or would have.
func (b *bootstrap) makeSecrets(ctx context.Context) (map[config.Secret]string, error) {
	held := map[config.Secret]string{}
	var missing []config.Secret
	var unset []string
	for _, s := range b.stage.Secrets() {
		name := b.stage.SecretName(s)
		out, err := b.secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &name})
		if _, none := errors.AsType[*types.ResourceNotFoundException](err); none {
			missing = append(missing, s)
			if held[s] = b.value(s, held); held[s] == "" {
				unset = append(unset, b.variable(s))
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read secret %s: %w", name, err)
		}
		held[s] = aws.ToString(out.SecretString)
		b.print("secret %s (%s): is kept", name, b.stage.Region)
	}
	if b.Apply && len(unset) > 0 {
		return nil, fmt.Errorf("%s is not set", strings.Join(slices.Compact(unset), " and "))
	}
	for _, s := range missing {
		if err := b.makeSecret(ctx, s, held[s]); err != nil {
			return nil, err
		}
	}
	return held, nil
}

// variables are the environment variables that the keys are given by.
var variables = map[config.Secret]string{
	config.OpenAIKey: "OPENAI_API_KEY", config.EmbeddingKey: "OPENAI_EMBEDDING_API_KEY",
	config.PineconeKey: "PINECONE_API_KEY", config.BackgroundKey: "OPENAI_BACKGROUND_API_KEY",
	config.OTLPHeaders: "OTEL_EXPORTER_OTLP_HEADERS",
}

// variable is the environment variable that a key is given by. The embeddings' key is that of the chat unless another
// service makes the embeddings.
func (b *bootstrap) variable(s config.Secret) string {
	if s == config.EmbeddingKey && b.stage.SharesService() {
		s = config.OpenAIKey
	}
	return variables[s]
}

// value returns the value of a secret that is missing, empty if it is not given.
func (b *bootstrap) value(s config.Secret, held map[config.Secret]string) string {
	switch {
	case s == config.CursorKey:
		random := make([]byte, cursorKeyBytes)
		_, _ = rand.Read(random) // it never fails
		return "1:" + base64.StdEncoding.EncodeToString(random)
	case s == config.EmbeddingKey && b.stage.SharesService():
		return cmp.Or(os.Getenv(variables[s]), held[config.OpenAIKey])
	default:
		return os.Getenv(variables[s])
	}
}

// makeSecret makes a secret, or says that it would.
func (b *bootstrap) makeSecret(ctx context.Context, s config.Secret, value string) error {
	name := b.stage.SecretName(s)
	switch {
	case value == "":
		b.print("secret %s (%s): would be made from %s, which is not set", name, b.stage.Region, b.variable(s))
		return nil
	case !b.Apply:
		b.print("secret %s (%s): would be made", name, b.stage.Region)
		return nil
	}
	_, err := b.secrets.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &name, SecretString: &value})
	if err != nil {
		return fmt.Errorf("make secret %s: %w", name, err)
	}
	b.print("secret %s (%s): made", name, b.stage.Region)
	return nil
}

// makeIndex makes the index, or checks the one that there is.
func (b *bootstrap) makeIndex(ctx context.Context, apiKey string) error {
	client, err := pinecone.NewClient(pinecone.NewClientParams{ApiKey: apiKey, Host: b.control})
	if err != nil {
		return fmt.Errorf("make Pinecone client: %w", err)
	}
	want := fmt.Sprintf("%s, %d dimensions, dense", pinecone.Dotproduct, b.index.dimension)
	name := fmt.Sprintf("index %s (%s %s)", b.index.name, pinecone.Aws, b.index.region)
	existing, err := client.DescribeIndex(ctx, b.index.name)
	if e, ok := errors.AsType[*pinecone.PineconeError](err); ok && e.Code == http.StatusNotFound {
		if !b.Apply {
			b.print("%s: would be made: %s, with deletion protection", name, want)
			return nil
		}
		if existing, err = b.createIndex(ctx, client); err == nil {
			b.print("%s: made: %s, with deletion protection", name, want)
		}
	}
	if err != nil {
		return fmt.Errorf("index %s: %w", b.index.name, err)
	}
	if wrong := b.differences(existing); len(wrong) > 0 {
		return fmt.Errorf("index %s is not %s: %s. Name another with -index, or delete it",
			b.index.name, want, strings.Join(wrong, ", "))
	}
	b.index.wanted.Host = existing.Host
	b.print("%s: is %s. Give the stack %s=%s", name, want, deployment.Index, b.index.wanted)
	return nil
}

func (b *bootstrap) createIndex(ctx context.Context, client *pinecone.Client) (*pinecone.Index, error) {
	metric, protection, vectorType := pinecone.Dotproduct, pinecone.DeletionProtectionEnabled, "dense"
	return client.CreateServerlessIndex(ctx, &pinecone.CreateServerlessIndexRequest{
		Name: b.index.name, Cloud: pinecone.Aws, Region: b.index.region, Metric: &metric,
		Dimension: &b.index.dimension, VectorType: &vectorType, DeletionProtection: &protection,
	})
}

// differences lists what an index has that the stack cannot use.
func (b *bootstrap) differences(i *pinecone.Index) []string {
	var wrong []string
	if i.Metric != pinecone.Dotproduct {
		wrong = append(wrong, "its metric is "+string(i.Metric))
	}
	if i.VectorType != "dense" {
		wrong = append(wrong, "its vectors are "+i.VectorType)
	}
	if d := aws.ToInt32(i.Dimension); d != b.index.dimension {
		wrong = append(wrong, "it has "+strconv.Itoa(int(d))+" dimensions")
	}
	return wrong
}

// pineconeRegions are the regions of AWS where Pinecone has serverless indexes (Pinecone documentation, "Create a
// serverless index").
var pineconeRegions = []string{"us-east-1", "us-west-2", "eu-west-1"}

// nearRegion returns the region for an index of a stack.
func nearRegion(stack string) (string, error) {
	if slices.Contains(pineconeRegions, stack) {
		return stack, nil
	}
	return "", fmt.Errorf("no serverless indexes of Pinecone in %s: choose one of %s with -pinecone-region",
		stack, strings.Join(pineconeRegions, ", "))
}
