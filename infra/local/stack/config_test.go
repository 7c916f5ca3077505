package stack_test

import (
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/stack"
)

func TestParse(t *testing.T) {
	t.Parallel()
	cfg, err := stack.Parse(map[string]string{
		"CORS_ORIGINS": "http://localhost:3000, https://app.example", "TRIGGERS": "sweep=1m", "DATA_DIR": "",
	})
	want := stack.Origins{"http://localhost:3000", "https://app.example"}
	if err != nil || !slices.Equal(cfg.CORSOrigins, want) || cfg.Port != 8080 || cfg.TableName != "throughline" ||
		cfg.Triggers.Sweep != time.Minute || cfg.Triggers.Messages != 20 {
		t.Errorf("%+v, %v", cfg, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const (
		origins = ": must be origins such as http://localhost:3000,https://app.example, or *"
		port    = ": must be a port from 1 to 65535, or 0 for any that is free"
		address = ": must be a URL that begins with http:// or https://"
		issuer  = "JWT_ISSUER and JWT_AUDIENCE: must be set together, to the iss and the aud of the tokens"
	)
	cases := []struct{ variable, value, want string }{
		{"CORS_ORIGINS", "http://a/", "CORS_ORIGINS=http://a/" + origins},
		{"CORS_ORIGINS", "localhost", "CORS_ORIGINS=localhost" + origins},
		{"CORS_ORIGINS", "http://a,", "CORS_ORIGINS=http://a," + origins},
		{"JWT_ISSUER", "https://a", issuer},
		{"JWT_AUDIENCE", "a", issuer},
		{"PORT", "x", "PORT=x" + port},
		{"PORT", "70000", "PORT=70000" + port},
		{"PINECONE_MAX_NAMESPACES", "-1", "PINECONE_MAX_NAMESPACES=-1: must be a whole number of 0 or more"},
		{"OPENAI_BASE_URL", "localhost:1", "OPENAI_BASE_URL=localhost:1" + address},
		{
			"OPENAI_BASE_URL", "http://localhost:1/v1",
			"OPENAI_CHAT_MODEL is not set: OPENAI_BASE_URL=http://localhost:1/v1 is not OpenAI's, " +
				"so name a model of that service",
		},
		{
			"OPENAI_EMBEDDING_BASE_URL", "http://localhost:1/v1", "OPENAI_EMBEDDING_MODEL is not set: " +
				"OPENAI_EMBEDDING_BASE_URL=http://localhost:1/v1 is not OpenAI's, so name a model of that service",
		},
		{"AWS_ENDPOINT_URL_DYNAMODB", "%zz", "AWS_ENDPOINT_URL_DYNAMODB=%zz" + address},
	}
	for _, c := range cases {
		_, err := stack.Parse(map[string]string{c.variable: c.value})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s=%s: error %q, want %q", c.variable, c.value, err, c.want)
		}
	}
	_, err := stack.Parse(map[string]string{"APP": "x", "PORT": "x", "DAILY_TOKENS": "y"})
	want := "DAILY_TOKENS=y: must be a whole number of 0 or more; PORT=x" + port
	if err == nil || err.Error() != want {
		t.Errorf("two wrong values: error %q, want %q", err, want)
	}
}
