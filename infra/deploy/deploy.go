// Package deploy says what a deployment lacks before SAM runs: parameters without a value, credentials of the stage's
// account, secrets, concurrency, a stack that can be updated, an issuer whose tokens can be checked. It also names a
// release of what SAM has built, and stops functions at once.
package deploy

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/infra/deployment"
)

// Problems says what a deployment lacks, one line each. The client reads what the issuer publishes. An urgent release
// serves all requests at once, whatever alarm fires.
func Problems(ctx context.Context, client *http.Client, s deployment.Stage, isUrgent bool) []string {
	if isUrgent {
		s.Given[deployment.Gradual] = "false"
	}
	problems := s.Problems()
	if len(problems) == 0 {
		return append(account(ctx, s, false), issuer(ctx, client, s)...)
	}
	_, missing := credentials(ctx, s)
	return append(problems, missing...)
}

// TeardownProblems says what hinders the deletion of a stage, whose stack has to be named once more.
func TeardownProblems(ctx context.Context, s deployment.Stage, named string) []string {
	return append(teardown(s, named), account(ctx, s, true)...)
}
