// Command migrate is the Lambda function of that name: moves an app's conversations from its own records to the shared
// store, by direct invocation.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/migratefn"
)

func main() { function.Start(migratefn.New) }
