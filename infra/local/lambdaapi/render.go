package lambdaapi

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

// functionError renders an error as the Go runtime for Lambda does: an InvokeResponse_Error as it is, any other error
// with its message and the name of its Go type.
func functionError(err error) *FunctionError {
	response, ok := err.(messages.InvokeResponse_Error) //nolint:errorlint // the real runtime does not unwrap either
	if !ok {
		response = messages.InvokeResponse_Error{Type: typeName(err), Message: err.Error()}
	}
	payload, _ := json.Marshal(response) // texts and numbers always marshal
	return &FunctionError{Type: response.Type, Message: response.Message, Payload: payload}
}

// panicError renders a recovered value. The real process exits after a panic. The local one goes on.
func panicError(v any) messages.InvokeResponse_Error {
	if response, ok := v.(messages.InvokeResponse_Error); ok {
		return response
	}
	return messages.InvokeResponse_Error{Type: typeName(v), Message: fmt.Sprint(v)}
}

func typeName(v any) string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
