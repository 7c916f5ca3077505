// Package invoke is a function's side of a direct invocation: it reads payloads, and turns errors into Lambda function
// errors whose errorType is the fault's code. Package caller below it has the caller's side.
package invoke

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/strictjson"
)

// fieldSeparator separates an error's message from its fields. A Lambda error has no other place for fields.
const fieldSeparator = " | fields: "

// Error returns the Lambda function error of an error. The caller sees the code, the message and the fields of the
// fault only.
func Error(err error) error {
	f := fault.From(err)
	code := f.Code
	if code == fault.NotJSON {
		code = fault.Invalid
	}
	message := f.Message
	if message == "" {
		message = strings.ReplaceAll(string(code), "_", " ")
	}
	if len(f.Fields) > 0 {
		fields, err := json.Marshal(f.Fields)
		if err != nil {
			return err
		}
		message += fieldSeparator + string(fields)
	}
	return messages.InvokeResponse_Error{Type: string(code), Message: message}
}

// ParseError reads the payload of a function error. It is the inverse of Error. The error of another program has the
// code that its type spells, which may be none of ours.
func ParseError(payload []byte) (*fault.Error, error) {
	var e messages.InvokeResponse_Error
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	f := fault.New(fault.Code(e.Type), e.Message)
	if message, fields, found := strings.Cut(e.Message, fieldSeparator); found {
		f.Message = message
		if err := json.Unmarshal([]byte(fields), &f.Fields); err != nil {
			f.Message = e.Message
		}
	}
	return f, nil
}

// Decode reads the payload of a direct invocation into a request, as strictly as the HTTP API reads a body. It returns
// an Invalid error that lists the wrong fields.
func Decode(payload []byte, into any) error { return invalid(strictjson.Unmarshal(payload, into)) }

// DecodeKnown is Decode for a payload of another version of the program. It leaves out the fields that this version
// does not know.
func DecodeKnown(payload []byte, into any) error {
	return invalid(strictjson.UnmarshalKnown(payload, into))
}

// Check returns the errors that Decode returns for every type of request. It is for a function that has to read a part
// of the payload before it knows the type.
func Check(payload []byte) error { return invalid(strictjson.Check(payload)) }

// invalid turns NotJSON into Invalid, because a direct invocation has no status that could tell them apart.
func invalid(err error) error {
	if !fault.Is(err, fault.NotJSON) {
		return err
	}
	return fault.New(fault.Invalid, fault.From(err).Message)
}
