// Package functions has the constructors of all functions of template.yaml.
package functions

import (
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/function/coachfn"
	"github.com/throughline/throughline/internal/function/contextfn"
	"github.com/throughline/throughline/internal/function/mcpfn"
	"github.com/throughline/throughline/internal/function/messagesfn"
	"github.com/throughline/throughline/internal/function/migratefn"
	"github.com/throughline/throughline/internal/function/promptfn"
	"github.com/throughline/throughline/internal/function/rememberfn"
	"github.com/throughline/throughline/internal/function/summarizefn"
)

// All returns the constructors by the names of the functions' folders.
func All() map[string]stack.Constructor {
	return map[string]stack.Constructor{
		"messages": stack.Of(messagesfn.New), "context": stack.Of(contextfn.New), "prompt": stack.Of(promptfn.New),
		"coach": stack.Of(coachfn.New), "summarize": stack.Of(summarizefn.New), "remember": stack.Of(rememberfn.New),
		"migrate": stack.Of(migratefn.New), "mcp": stack.Of(mcpfn.New),
	}
}
