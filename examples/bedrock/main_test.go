package main

import (
	"crypto/rand"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	throughline "github.com/throughline/throughline/clients/go"
)

// TestTwoScreensOneMemory tells the designer something and asks the coach, whose model searches the memory.
func TestTwoScreensOneMemory(t *testing.T) {
	base := os.Getenv("THROUGHLINE")
	if base == "" || os.Getenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME") == "" {
		t.Fatal("run make adapters ADAPTER=bedrock, which starts a stack and a server in the place of Bedrock")
	}
	aws, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	memory := throughline.New(throughline.Config{BaseURL: base, TokenSource: credential(base)})
	a := app{memory.As("bedrock-" + strings.ToLower(rand.Text())), bedrockruntime.NewFromConfig(aws), "m"}
	noted, err := a.answer(t.Context(), "designer", "I only have bands at home: swap the hip thrusts for glute bridges.")
	if err != nil || noted != "Noted." {
		t.Fatalf("%q, %v", noted, err)
	}
	settled, err := http.Post(base+"/dev/settle", "application/json", strings.NewReader("{}")) // the index has all
	if err != nil {
		t.Fatal(err)
	}
	settled.Body.Close()
	found, err := a.answer(t.Context(), "coach", "What did I swap the hip thrusts for?")
	if err != nil || !strings.Contains(found, "glute bridges") {
		t.Errorf("the coach's model finds %q, %v", found, err)
	}
	var said []string
	for m, err := range a.memory.ListMessages(t.Context(), "coach", throughline.ListMessagesQuery{}).All() {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, m.Role+": "+m.Content)
	}
	if want := "user: What did I swap the hip thrusts for?\nassistant: " + found; strings.Join(said, "\n") != want {
		t.Errorf("the history is %q", said)
	}
}
