// Command prompt is the Lambda function of that name: builds prompts and stores their manifests, over the HTTP
// API and by direct invocation.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/promptfn"
)

func main() { function.Start(promptfn.New) }
