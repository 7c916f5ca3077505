// Command remember is the Lambda function of that name: indexes messages from the table's stream.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/rememberfn"
)

func main() { function.Start(rememberfn.New) }
