// Command coach is the Lambda function of that name: the streaming chat and the export, behind a REST
// API or a function URL, both with response streaming.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/coachfn"
)

func main() { function.Start(coachfn.New) }
