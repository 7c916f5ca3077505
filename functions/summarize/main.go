// Command summarize is the Lambda function of that name: writes session summaries, from the table's stream
// and the schedule of the sweep.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/summarizefn"
)

func main() { function.Start(summarizefn.New) }
