package offlinemodel

import (
	"net/http"

	"github.com/throughline/throughline/infra/local/openaiserver"
)

// LoadedAgain is Handler with a model of its own.
func LoadedAgain() http.Handler { return openaiserver.Handler(load(), ModelID) }
