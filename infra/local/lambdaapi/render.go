package lambdaapi

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

// functionError renders what a function returned or panicked with as the Go runtime for Lambda does: an
// InvokeResponse_Error as it is, anything else with its text and the name of its Go type. The real process exits after
// a panic. The local one goes on.
func functionError(v any) *FunctionError {
	if response, ok := v.(messages.InvokeResponse_Error); ok {
		return &FunctionError{response}
	}
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return &FunctionError{messages.InvokeResponse_Error{Type: t.Name(), Message: fmt.Sprint(v)}}
}
