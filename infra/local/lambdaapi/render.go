package lambdaapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

const (
	maxFrames = 32
	// The frames above the handler's own: runtime.Callers, stack, panicError and the recovering function.
	framesToHide = 4
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
	return messages.InvokeResponse_Error{Type: typeName(v), Message: fmt.Sprint(v), StackTrace: stack()}
}

func typeName(v any) string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

func stack() []*messages.InvokeResponse_Error_StackFrame {
	counters := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(counters[:runtime.Callers(framesToHide, counters)])
	var out []*messages.InvokeResponse_Error_StackFrame
	for {
		frame, more := frames.Next()
		_, label, _ := strings.Cut(frame.Function[strings.LastIndex(frame.Function, "/")+1:], ".")
		out = append(out, &messages.InvokeResponse_Error_StackFrame{
			Path: frame.File, Line: int32(frame.Line), Label: label,
		})
		if !more {
			return out
		}
	}
}
