// Package throughline carries the deployment template in the binaries that read it: the local stack wires the
// functions from the same file that AWS does.
package throughline

import _ "embed"

// Template is template.yaml, the SAM template of everything that is deployed.
//
//go:embed template.yaml
var Template []byte
