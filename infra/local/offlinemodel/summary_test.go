package offlinemodel_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/testing/check"
)

var update = flag.Bool("update", false, "write the golden summaries anew")

// TestSummariesReadAsProse compares the summaries of invented conversations with the texts beside them. Each part of a
// file has new messages, and the summary of them and of the summary before.
func TestSummariesReadAsProse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/summaries/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			client, _ := newClient(t)
			data, err := os.ReadFile(file)
			check.OK(t, err)
			var got strings.Builder
			previous := ""
			for _, part := range strings.Split(string(data), "-- messages --\n")[1:] {
				messages, _, _ := strings.Cut(part, "-- summary --\n")
				previous = summarize(t, client, previous, messages)
				got.WriteString("-- messages --\n" + messages + "-- summary --\n" + previous + "\n")
				if len(previous) > 600 {
					t.Errorf("%d bytes", len(previous))
				}
			}
			if *update {
				err = os.WriteFile(file, []byte(got.String()), 0o600)
			}
			if diff := cmp.Diff(string(data), got.String()); diff != "" && !*update || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// TestWhatIsNotUnderstoodIsQuoted summarises texts without a statement that the forms know. Only everyday words are
// small talk.
func TestWhatIsNotUnderstoodIsQuoted(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	for messages, want := range map[string]string{
		"user: 我住在波尔图。\nuser: 我想跑马拉松。":               "我住在波尔图",
		"user: 我的膝盖蹲下时很疼":                            "我的膝盖蹲下时很疼",
		"user: 私はポルトに住んでいます。":                        "私はポルトに住んでいます",
		"user: ฉันอาศัยอยู่ที่ปอร์โต":                "ฉันอาศัยอยู่ที่ปอร์โต",
		"user: मैं पोर्टो में रहता हूँ।":             "मैं पोर्टो में रहता हूँ",
		"user: أعيش في بورتو.":                       "أعيش في بورتو",
		"user: میں پورٹو میں رہتا ہوں۔":              "میں پورٹو میں رہتا ہوں",
		"user: আমি পোর্তোতে থাকি।":                   "আমি পোর্তোতে থাকি",
		"user: Я живу в Порту.":                      "Я живу в Порту",
		"user: Kniebeugen morgen":                    "The user said: “Kniebeugen morgen”.",
		"user: 明天练什么？":                               "The user asked: “明天练什么？”",
		"user: ¿Qué entreno mañana?":                 "The user asked: “¿Qué entreno mañana?”",
		"user: Kniebeugen!\nassistant: ok\nuser: Ok": "The user said: “Kniebeugen”.",
		"user: Hi!":        "The user made small talk.",
		"assistant: Hello": "Nothing was said yet.",
	} {
		if got := summarize(t, client, "", messages); !strings.Contains(got, want) {
			t.Errorf("%q is summarised as %q, want %q", messages, got, want)
		}
	}
}
