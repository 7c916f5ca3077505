// Command embedscore measures the offline model's embeddings alone: it ranks the turns of each conversation in a LoCoMo
// file by the dot product with each question, and prints the share of evidence turns among the first 5, 10 and 25.
//
//	go run ./infra/local/embedder/embedscore -data locomo.json
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/throughline/throughline/infra/local/embedder"
)

func main() {
	log.SetFlags(0)
	path := flag.String("data", "", "LoCoMo file (required)")
	dimensions := flag.Int("dimensions", embedder.DefaultDimensions, "of the vectors")
	speakers := flag.Bool("speakers", false, "put the speaker's name before each turn")
	flag.Parse()
	samples, err := readSamples(*path)
	if err != nil {
		log.Fatal(err)
	}
	model := embedder.New()
	embed := func(text string) []float32 { return model.Embed(text, *dimensions) }
	total := recall{}
	for _, s := range samples {
		total.add(scoreSample(s, embed, *speakers))
	}
	fmt.Fprintf(os.Stdout, "questions %d  R@5 %.1f  R@10 %.1f  R@25 %.1f\n",
		total.questions, total.percent(0), total.percent(1), total.percent(2))
}
