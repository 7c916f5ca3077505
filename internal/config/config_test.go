package config_test

import (
	"testing"

	"github.com/throughline/throughline/internal/config"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := config.Parse(map[string]string{
		"TABLE_NAME": "t", "SUMMARY_IDLE": "2m", "BACKGROUND_MODEL_CALLS": "off",
	})
	if err != nil || got.TableName != "t" || got.Triggers.Idle.Minutes() != 2 || got.BackgroundModel ||
		got.Triggers.Messages != 20 {
		t.Errorf("parsed %+v, %v", got, err)
	}
	for name, tt := range map[string]struct {
		environ map[string]string
		want    string
	}{
		"missing": {map[string]string{}, "TABLE_NAME is not set"},
		"empty":   {map[string]string{"TABLE_NAME": ""}, "TABLE_NAME is empty"},
		"number": {
			map[string]string{"TABLE_NAME": "t", "SUMMARY_TIMEOUT_MS": "2s"},
			"SUMMARY_TIMEOUT_MS=2s: must be a whole number",
		},
		"span": {
			map[string]string{"TABLE_NAME": "t", "SUMMARY_IDLE": "soon"},
			"SUMMARY_IDLE=soon: must be a span such as 90s or 15m",
		},
		"queues": {
			map[string]string{"TABLE_NAME": "t", "DEAD_LETTER_QUEUES": "summarize"},
			"DEAD_LETTER_QUEUES=summarize: must be names and addresses, such as a=https://…,b=https://…",
		},
		"effort": {
			map[string]string{"TABLE_NAME": "t", "OPENAI_CHAT_EFFORT": "some"},
			"OPENAI_CHAT_EFFORT=some: must be none, minimal, low, medium, high, xhigh or max",
		},
		"chat model": {
			map[string]string{"TABLE_NAME": "t", "OPENAI_BASE_URL": "https://a.example/v1"},
			"OPENAI_CHAT_MODEL is not set: OPENAI_BASE_URL=https://a.example/v1 is not OpenAI's, " +
				"so name a model of that service",
		},
		"embedding model": {
			map[string]string{"TABLE_NAME": "t", "OPENAI_EMBEDDING_BASE_URL": "https://a.example/v1"},
			"OPENAI_EMBEDDING_MODEL is not set: OPENAI_EMBEDDING_BASE_URL=https://a.example/v1 is not OpenAI's, " +
				"so name a model of that service",
		},
		"two": {
			map[string]string{"TABLE_NAME": "t", "KEEP_PROMPT_TEXT": "maybe", "PROMPT_DAYS": "x"},
			"KEEP_PROMPT_TEXT=maybe: must be true or false; PROMPT_DAYS=x: must be a whole number",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := config.Parse(tt.environ); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}
