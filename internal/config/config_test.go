package config_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/config"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := config.Parse(map[string]string{
		"TABLE_NAME": "t", "TRIGGERS": "idle=2m, memories=9", "OPENAI_BACKGROUND_TIER": "none",
	})
	if err != nil || got.TableName != "t" || got.Triggers.Idle.Minutes() != 2 ||
		got.OpenAI.CallsInBackground() || got.Triggers.Messages != 20 || got.Triggers.Memories != 9 {
		t.Errorf("parsed %+v, %v", got, err)
	}
	for name, tt := range map[string]struct {
		environ map[string]string
		want    string
	}{
		"missing": {map[string]string{}, "TABLE_NAME is not set"},
		"empty":   {map[string]string{"TABLE_NAME": ""}, "TABLE_NAME is empty"},
		"number": {
			map[string]string{"TABLE_NAME": "t", "DAILY_TOKENS": "2s"},
			"DAILY_TOKENS=2s: must be a whole number of 0 or more",
		},
		"below 0": {
			map[string]string{"TABLE_NAME": "t", "REQUESTS_PER_MINUTE": "-1"},
			"REQUESTS_PER_MINUTE=-1: must be a whole number of 0 or more",
		},
		"model": {
			map[string]string{"TABLE_NAME": "t", "OPENAI_EMBEDDING_MODEL": "m"},
			"OPENAI_EMBEDDING_MODEL=m: must be a model and the dimension of its vectors, such as m@3072",
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
			map[string]string{"TABLE_NAME": "t", "KEEP_PROMPT_TEXT": "maybe", "DAILY_TOKENS": "x"},
			"KEEP_PROMPT_TEXT=maybe: must be true or false; DAILY_TOKENS=x: must be a whole number of 0 or more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := config.Parse(tt.environ); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// TestTriggers refuses what is no trigger, and what is given twice. A stack with a short idle has a short spine, too.
func TestTriggers(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"messages=9": 18 * time.Hour, "idle=2s": 2 * time.Second, "spine=1h,idle=2s": time.Hour, "spine=1h": time.Hour,
	} {
		var got config.Triggers
		if err := got.UnmarshalText([]byte(text)); err != nil || got.Spine != want {
			t.Errorf("%q: the spine's time is %s, %v", text, got.Spine, err)
		}
	}
	t.Parallel()
	for _, text := range []string{
		"moon=full", ",", "messages=20, messages=30", "idle=0s", "messages=-1", "sweep", "idle=soon",
	} {
		var got config.Triggers
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
