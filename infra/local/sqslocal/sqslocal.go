// Package sqslocal is the part of Amazon SQS that the functions use: it says how many messages a queue has. The queues
// of the local stack are lists of dead letters in its memory.
package sqslocal

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
)

// account is in the queues' URLs, where AWS has the number of an account.
const account = "000000000000"

// URL returns the URL of a queue of the server with that address.
func URL(server, queue string) string { return server + "/" + account + "/" + queue }

// maxRequest bounds a request in bytes.
const maxRequest = 1 << 20

// The attributes of a queue that are served. Nobody receives messages here, so none is in flight.
const (
	waiting  = "ApproximateNumberOfMessages"
	inFlight = "ApproximateNumberOfMessagesNotVisible"
)

// Handler serves GetQueueAttributes by the JSON protocol of SQS, from the number of messages by queue. Signatures are
// not checked.
func Handler(queues func() map[string]int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			QueueURL       string `json:"QueueUrl"`
			AttributeNames []string
		}
		if r.Method != http.MethodPost || r.Header.Get("X-Amz-Target") != "AmazonSQS.GetQueueAttributes" {
			refuse(w, "com.amazonaws.sqs#UnsupportedOperation", "only GetQueueAttributes is served")
			return
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&in); err != nil {
			refuse(w, "com.amazon.coral.service#SerializationException", "the request is not JSON")
			return
		}
		messages, ok := queues()[path.Base(in.QueueURL)]
		if !ok {
			refuse(w, "com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist.")
			return
		}
		attributes := map[string]string{}
		for name, n := range map[string]int{waiting: messages, inFlight: 0} {
			if slices.Contains(in.AttributeNames, name) || slices.Contains(in.AttributeNames, "All") {
				attributes[name] = strconv.Itoa(n)
			}
		}
		write(w, http.StatusOK, map[string]any{"Attributes": attributes})
	})
}

func refuse(w http.ResponseWriter, kind, message string) {
	write(w, http.StatusBadRequest, map[string]string{"__type": kind, "message": message})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}
