package offlinemodel

import (
	"net/http"

	"github.com/throughline/throughline/infra/local/openaiserver"
)

// LoadedAgain is Handler with a model of its own.
func LoadedAgain(options Options) http.Handler { return openaiserver.Handler(load(), options) }
