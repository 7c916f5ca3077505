// Command emptyfn is a Lambda function that builds clients of DynamoDB, Pinecone and OpenAI and does nothing with
// them. Its start is the floor that the starts of the functions are compared with. With the variable VOCABULARY it
// also builds the tokenizer's vocabulary.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/token"
)

// clients keeps the clients referenced, so that the linker keeps their code.
type clients struct {
	table  *dynamodb.Client
	index  *pinecone.IndexConnection
	models *openai.Client
}

func newClients() (c clients, err error) {
	c.table = dynamodb.NewFromConfig(aws.Config{
		Region: os.Getenv("AWS_REGION"), HTTPClient: &http.Client{Transport: &http.Transport{}},
		Credentials: credentials.NewStaticCredentialsProvider(
			os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")),
	})
	base, err := pinecone.NewClientBase(pinecone.NewClientBaseParams{
		Headers: map[string]string{"Api-Key": os.Getenv("PINECONE_API_KEY")},
	})
	if err != nil {
		return c, fmt.Errorf("build Pinecone client: %w", err)
	}
	if c.index, err = base.Index(pinecone.NewIndexConnParams{Host: os.Getenv("PINECONE_INDEX_HOST")}); err != nil {
		return c, fmt.Errorf("build Pinecone connection: %w", err)
	}
	c.models = openai.NewClient(os.Getenv("OPENAI_API_KEY"))
	return c, nil
}

// use makes one call with each client.
func (c clients) use(ctx context.Context) error {
	if _, err := c.table.GetItem(ctx, &dynamodb.GetItemInput{}); err != nil {
		return err
	}
	if _, err := c.index.QueryByVectorValues(ctx, &pinecone.QueryByVectorValuesRequest{}); err != nil {
		return err
	}
	_, err := c.models.CreateEmbeddings(ctx, openai.EmbeddingRequest{})
	return err
}

func main() {
	c, err := newClients()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("VOCABULARY") != "" {
		token.New().Warm()
	}
	lambda.Start(c.use)
}
