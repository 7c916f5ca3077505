// Package generators pins the generator of Go clients that make generators-check runs, and the package that the
// generated client imports.
package generators

import _ "github.com/oapi-codegen/runtime" // imported by generated clients
