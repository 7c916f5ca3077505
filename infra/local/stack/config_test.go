package stack_test

import (
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/stack"
)

func TestParse(t *testing.T) {
	t.Parallel()
	cases := []struct {
		triggers string
		want     stack.Triggers
	}{
		{"", stack.Triggers{}},
		{"messages=20,memories=9", stack.Triggers{Messages: 20, Memories: 9}},
		{"messages=20, idle=15m,sweep=1m", stack.Triggers{Messages: 20, Idle: 15 * time.Minute, Sweep: time.Minute}},
	}
	for _, c := range cases {
		cfg, err := stack.Parse(map[string]string{"TRIGGERS": c.triggers})
		if err != nil || cfg.Triggers != c.want || cfg.Port != 8080 || cfg.TableName != stack.DefaultTable {
			t.Errorf("%q: %+v, %v", c.triggers, cfg, err)
		}
	}
	cfg, err := stack.Parse(map[string]string{"CORS_ORIGINS": "http://localhost:3000, https://app.example"})
	want := stack.Origins{"http://localhost:3000", "https://app.example"}
	if err != nil || !slices.Equal(cfg.CORSOrigins, want) {
		t.Errorf("origins %q, %v", cfg.CORSOrigins, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const (
		origins  = ": must be origins such as http://localhost:3000,https://app.example, or *"
		triggers = ": must be positive values of messages, memories, idle, sweep and canary, each once, as in " +
			"messages=20,idle=15m,sweep=1m"
		port    = ": must be a port from 1 to 65535, or 0 for any that is free"
		address = ": must be a URL that begins with http:// or https://"
	)
	cases := []struct{ variable, value, want string }{
		{"CORS_ORIGINS", "http://a/", "CORS_ORIGINS=http://a/" + origins},
		{"CORS_ORIGINS", "localhost", "CORS_ORIGINS=localhost" + origins},
		{"CORS_ORIGINS", "http://a,", "CORS_ORIGINS=http://a," + origins},
		{"TRIGGERS", "moon=full", "TRIGGERS=moon=full" + triggers},
		{"TRIGGERS", ",", "TRIGGERS=," + triggers},
		{"TRIGGERS", "messages=20, messages=30", "TRIGGERS=messages=20, messages=30" + triggers},
		{"TRIGGERS", "idle=0s", "TRIGGERS=idle=0s" + triggers},
		{"TRIGGERS", "messages=-1", "TRIGGERS=messages=-1" + triggers},
		{"TRIGGERS", "sweep", "TRIGGERS=sweep" + triggers},
		{"JWT_ISSUER", "https://a", "JWT_AUDIENCE: must be set with JWT_ISSUER, to what the issuer writes into aud"},
		{"JWT_AUDIENCE", "a", "JWT_ISSUER: must be set with JWT_AUDIENCE and JWT_JWKS_URL, to the iss of the tokens"},
		{"PORT", "x", "PORT=x" + port},
		{"PORT", "70000", "PORT=70000" + port},
		{"PORT", "1e99", "PORT=1e99" + port},
		{"DYNAMODB_PORT", "-1", "DYNAMODB_PORT=-1" + port},
		{"PINECONE_MAX_NAMESPACES", "-1", "PINECONE_MAX_NAMESPACES=-1: must be a whole number"},
		{"OPENAI_EMBEDDING_DIMENSIONS", "0", "OPENAI_EMBEDDING_DIMENSIONS=0: must be above 0"},
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
	_, err := stack.Parse(map[string]string{"DYNAMODB_PORT": "y", "PORT": "x"})
	want := "PORT=x" + port + "; DYNAMODB_PORT=y" + port
	if err == nil || err.Error() != want {
		t.Errorf("two wrong values: error %q, want %q", err, want)
	}
}
