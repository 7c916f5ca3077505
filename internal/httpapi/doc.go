// Package httpapi serves Throughline's HTTP API: it turns requests into calls of the domain and the domain's errors
// into problems, and describes itself in an OpenAPI document. One constructor for each function that answers HTTP
// (design 4) returns an http.Handler with that function's operations and no others; GatewayHandler puts one behind an
// HTTP API, and lambdaurl.Wrap puts Coach behind a function URL.
//
// What holds for every operation stands in one place each: bodies in body.go, errors in problem.go, lists and their
// cursors in list.go and cursor.go, callers and scopes in caller.go, request ids and the access log in access.go.
//
// The package knows no store: it consumes the domain's interfaces, and states those that the domain does not.
package httpapi
