package lambdaapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// streamer is the handler of a function URL that streams its response.
type streamer interface {
	Stream(ctx context.Context, r *URLRequest) (*URLResponse, error)
}

// URLRequest and URLResponse are the event and the response of a function URL.
type (
	URLRequest  = events.LambdaFunctionURLRequest
	URLResponse = events.LambdaFunctionURLStreamingResponse
)

// Stream calls a function whose handler streams, with a URLRequest in JSON. The invocation lasts until the
// response's body is closed. The caller has to read the body to its end, even if the client is gone, and close it.
func (r *Runtime) Stream(name string, payload []byte) (*URLResponse, error) {
	call, err := r.begin(name, lambdacontext.ClientContext{})
	if err != nil {
		return nil, err
	}
	handler, ok := call.handler.(streamer)
	if !ok {
		call.end()
		return nil, fmt.Errorf("stream %s: its handler does not stream", name)
	}
	begun := make(chan opened, 1)
	go func() { begun <- call.open(handler, payload) }()
	select {
	case o := <-begun:
		if o.err != nil {
			call.end()
			return nil, o.err
		}
		return o.response, nil
	case <-call.ctx.Done(): // the timeout; the handler may still run
		go func() {
			if late := <-begun; late.err != nil {
				call.end()
			} else {
				_ = late.response.Close()
			}
		}()
		_, err := call.finish(nil, nil)
		return nil, err
	}
}

// opened is what a streaming function returned: a response whose body ends the invocation, or an error.
type opened struct {
	response *URLResponse
	err      error
}

// open runs a streaming function until it returns its response.
func (c *call) open(handler streamer, payload []byte) (o opened) {
	_, o.err = c.guard(func() ([]byte, error) {
		var request URLRequest
		err := json.Unmarshal(payload, &request)
		if err == nil {
			o.response, err = handler.Stream(c.ctx, &request)
		}
		if err == nil && o.response == nil {
			err = errors.New("the function returned no response")
		}
		return nil, err
	})
	if o.err == nil {
		if o.response.Body == nil {
			o.response.Body = http.NoBody
		}
		o.response.Body = &streamBody{Reader: o.response.Body, call: c}
	}
	return o
}

// streamBody ends its invocation when it is closed.
type streamBody struct {
	io.Reader
	call *call
	once sync.Once
}

func (b *streamBody) Close() (err error) {
	b.once.Do(func() {
		if closer, ok := b.Reader.(io.Closer); ok {
			err = closer.Close()
		}
		b.call.end()
	})
	return err
}
