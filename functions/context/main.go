// Command context is the Lambda function of that name: the cross-context summary query and message recall,
// over the HTTP API and by direct invocation.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/contextfn"
)

func main() { function.Start(contextfn.New) }
