// Command messages is the Lambda function of that name: sessions, messages, the timeline and the user's
// long-term records, over the HTTP API.
package main

import (
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/messagesfn"
)

func main() { function.Start(messagesfn.New) }
