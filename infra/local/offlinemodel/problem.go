package offlinemodel

import (
	"errors"
	"fmt"
	"net/http"
)

// invalidRequest is the service's type of error for what the client can mend.
const invalidRequest = "invalid_request_error"

// apiError is an error in the service's form.
type apiError struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"` // a string or null
}

func (e *apiError) Error() string { return e.Message }

// badRequest is a 400 about a parameter; an empty param stands for the whole request.
func badRequest(param, format string, args ...any) *apiError {
	e := &apiError{status: http.StatusBadRequest, Type: invalidRequest, Message: fmt.Sprintf(format, args...)}
	if param != "" {
		e.Param = &param
	}
	return e
}

func writeError(w http.ResponseWriter, err error) {
	var problem *apiError
	if !errors.As(err, &problem) {
		problem = &apiError{status: http.StatusInternalServerError, Type: "server_error", Message: "The server had an error."}
	}
	_ = writeJSON(w, problem.status, map[string]any{"error": problem}) // strings and nulls always marshal
}
