// Command echo is a Lambda function that answers with its event, its environment and whether it has a deadline, or
// fails, or streams.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdaurl"
)

type request struct {
	Say  string `json:"say"`
	Fail bool   `json:"fail"`
}

type answer struct {
	Said     string `json:"said"`
	Variable string `json:"variable"`
	Home     string `json:"home"`
	Deadline bool   `json:"deadline"`
	PID      int    `json:"pid"`
}

func main() {
	if os.Getenv("STREAM") != "" {
		lambdaurl.Start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: token\n\n")
			fmt.Fprint(w, "event: done\n\n")
		}))
		return
	}
	lambda.Start(func(ctx context.Context, in request) (answer, error) {
		if in.Fail {
			return answer{}, errors.New("as asked")
		}
		_, deadline := ctx.Deadline()
		return answer{in.Say, os.Getenv("VARIABLE"), os.Getenv("HOME"), deadline, os.Getpid()}, nil
	})
}
