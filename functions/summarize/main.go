// Command summarize is the Lambda function of that name: session summaries, from the table's stream and the sweep's schedule.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/summarizefn"
)

func main() { function.Start(summarizefn.New) }
