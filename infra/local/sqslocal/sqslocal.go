// Package sqslocal is the part of Amazon SQS that the functions use: it says how many messages a queue has. The queues
// of the local stack are lists of dead letters in its memory.
package sqslocal

import (
	"encoding/json"
	"net/http"
	"path"
	"strconv"

	"github.com/throughline/throughline/infra/local/devapi"
)

// account is in the queues' URLs, where AWS has the number of an account.
const account = "000000000000"

const mediaType = "application/x-amz-json-1.0"

// URL returns the URL of a queue of the server with that address.
func URL(server, queue string) string { return server + "/" + account + "/" + queue }

// Handler serves GetQueueAttributes by the JSON protocol of SQS, from the number of messages by queue. Signatures are
// not checked. Nobody receives messages here, so none is in flight.
func Handler(queues func() map[string]int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			QueueURL string `json:"QueueUrl"`
		}
		if r.Header.Get("X-Amz-Target") != "AmazonSQS.GetQueueAttributes" {
			refuse(w, "com.amazonaws.sqs#UnsupportedOperation", "only GetQueueAttributes is served")
			return
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // what is no JSON names no queue
		messages, ok := queues()[path.Base(in.QueueURL)]
		if !ok {
			refuse(w, "com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist.")
			return
		}
		devapi.Answer(w, http.StatusOK, mediaType, map[string]any{"Attributes": map[string]string{
			"ApproximateNumberOfMessages": strconv.Itoa(messages), "ApproximateNumberOfMessagesNotVisible": "0",
		}})
	})
}

func refuse(w http.ResponseWriter, kind, message string) {
	devapi.Answer(w, http.StatusBadRequest, mediaType, map[string]string{"__type": kind, "message": message})
}
