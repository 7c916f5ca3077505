// Command mcp is the Lambda function of that name: the user's memory over the Model Context Protocol, behind the HTTP
// API.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/mcpfn"
)

func main() { function.Start(mcpfn.New) }
