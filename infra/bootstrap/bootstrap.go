package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
)

// The fields of the secret, as internal/function reads them.
const (
	openAIField   = "openaiApiKey"
	pineconeField = "pineconeApiKey"
	cursorField   = "cursorKey"
)

// cursorKeyBytes is the length of the key that signs list cursors.
const cursorKeyBytes = 32

// bootstrap makes what a stack needs and CloudFormation does not: the secret and the index. It changes nothing unless
// apply is set, and never prints a key.
type bootstrap struct {
	secrets *secretsmanager.Client
	// newPinecone returns a client of Pinecone's control plane for an API key.
	newPinecone func(apiKey string) (*pinecone.Client, error)
	out         io.Writer
	apply       bool

	secret, region string
	keys           map[string]string // the given keys, by the field of the secret
	index          index
}

// index describes the index that the stack needs.
type index struct {
	name, cloud, region string
	dimension           int32
}

// run makes the secret, then the index.
func (b *bootstrap) run(ctx context.Context) error {
	held, err := b.makeSecret(ctx)
	if err != nil {
		return err
	}
	if err := b.makeIndex(ctx, held[pineconeField]); err != nil {
		return err
	}
	if !b.apply {
		b.print("Nothing was changed. Run it again with APPLY=1.")
	}
	return nil
}

func (b *bootstrap) print(format string, values ...any) { fmt.Fprintf(b.out, format+"\n", values...) }

// makeSecret makes the secret, or adds the fields that it lacks. It returns the fields that the secret has then, or
// would have.
func (b *bootstrap) makeSecret(ctx context.Context) (map[string]string, error) {
	held, exists, err := b.readSecret(ctx)
	if err != nil {
		return nil, err
	}
	var added []string
	for _, field := range []string{openAIField, pineconeField, cursorField} {
		if held[field] != "" {
			continue
		}
		value, err := b.value(field)
		if err != nil {
			return nil, err
		}
		held[field], added = value, append(added, field)
	}
	name := fmt.Sprintf("secret %s (%s)", b.secret, b.region)
	switch {
	case len(added) == 0:
		b.print("%s: has every field and is kept", name)
		return held, nil
	case !b.apply && exists:
		b.print("%s: would get %s", name, strings.Join(added, ", "))
		return held, nil
	case !b.apply:
		b.print("%s: would be made with %s", name, strings.Join(added, ", "))
		return held, nil
	}
	if err := b.writeSecret(ctx, held, exists); err != nil {
		return nil, err
	}
	b.print("%s: has %s now", name, strings.Join(added, ", "))
	return held, nil
}

// readSecret returns the fields of the secret, none if there is no secret.
func (b *bootstrap) readSecret(ctx context.Context) (fields map[string]string, exists bool, err error) {
	fields = map[string]string{}
	out, err := b.secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String(b.secret)})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return fields, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read secret %s: %w", b.secret, err)
	}
	if json.Unmarshal([]byte(aws.ToString(out.SecretString)), &fields) != nil { // the error could quote the secret
		return nil, true, fmt.Errorf("secret %s is not a JSON object of texts: mend or delete it", b.secret)
	}
	return fields, true, nil
}

// value returns the value of a field that the secret lacks.
func (b *bootstrap) value(field string) (string, error) {
	if field == cursorField {
		random := make([]byte, cursorKeyBytes)
		_, _ = rand.Read(random) // it never fails
		return "1:" + base64.StdEncoding.EncodeToString(random), nil
	}
	if key := b.keys[field]; key != "" {
		return key, nil
	}
	variable := map[string]string{openAIField: "OPENAI_API_KEY", pineconeField: "PINECONE_API_KEY"}[field]
	return "", fmt.Errorf("%s is not set: the secret needs it as %s", variable, field)
}

func (b *bootstrap) writeSecret(ctx context.Context, fields map[string]string, exists bool) error {
	raw, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode secret: %w", err)
	}
	text, name := aws.String(string(raw)), aws.String(b.secret)
	if exists {
		_, err = b.secrets.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: name, SecretString: text})
	} else {
		_, err = b.secrets.CreateSecret(ctx, &secretsmanager.CreateSecretInput{
			Name: name, SecretString: text, Description: aws.String("Throughline: keys of OpenAI and Pinecone, and of cursors"),
		})
	}
	if err != nil {
		return fmt.Errorf("write secret %s: %w", b.secret, err)
	}
	return nil
}

// makeIndex makes the index, or checks the one that there is.
func (b *bootstrap) makeIndex(ctx context.Context, apiKey string) error {
	client, err := b.newPinecone(apiKey)
	if err != nil {
		return fmt.Errorf("make Pinecone client: %w", err)
	}
	want := fmt.Sprintf("%s, %d dimensions, dense", pinecone.Dotproduct, b.index.dimension)
	name := fmt.Sprintf("index %s (%s %s)", b.index.name, b.index.cloud, b.index.region)
	existing, err := client.DescribeIndex(ctx, b.index.name)
	if e, ok := errors.AsType[*pinecone.PineconeError](err); ok && e.Code == http.StatusNotFound {
		if !b.apply {
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
		return fmt.Errorf("index %s is not %s: %s. Name another with INDEX, or delete it",
			b.index.name, want, strings.Join(wrong, ", "))
	}
	b.print("%s: is %s. Give the stack PineconeIndexHost=%s", name, want, existing.Host)
	return nil
}

func (b *bootstrap) createIndex(ctx context.Context, client *pinecone.Client) (*pinecone.Index, error) {
	metric, protection, vectorType := pinecone.Dotproduct, pinecone.DeletionProtectionEnabled, "dense"
	return client.CreateServerlessIndex(ctx, &pinecone.CreateServerlessIndexRequest{
		Name: b.index.name, Cloud: pinecone.Cloud(b.index.cloud), Region: b.index.region, Metric: &metric,
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
	return "", fmt.Errorf("no serverless indexes of Pinecone in %s: choose one of %s with PINECONE_REGION",
		stack, strings.Join(pineconeRegions, ", "))
}
