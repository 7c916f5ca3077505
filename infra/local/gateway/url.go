package gateway

import (
	"errors"
	"io"
	"net/http"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/problem"
	"github.com/throughline/throughline/internal/fault"
)

// streamChunk is the largest piece of a streamed body passed on at once, in bytes.
const streamChunk = 16 << 10

// serveURL is the function URL: no check of tokens, which the function makes itself, and the body streamed as it
// comes. A client that goes away changes nothing for the function: its body is read to the end.
func (g *Gateway) serveURL(w http.ResponseWriter, r *http.Request, function string) {
	event, err := g.urlEvent(r)
	if err != nil {
		problem.Write(w, err)
		return
	}
	if len(event.Body) > maxEvent {
		problem.Write(w, fault.New(fault.TooLarge, "the request is too large"))
		return
	}
	response, err := g.invoker.Stream(function, event)
	switch {
	case errors.Is(err, lambdaapi.ErrStopping):
		problem.Write(w, errStopping)
		return
	case err != nil:
		g.logger.ErrorContext(r.Context(), "function URL", "function", function, "error", err)
		problem.Write(w, fault.New(fault.Internal, "the function did not answer"))
		return
	}
	defer func() { _ = response.Close() }()
	if response.StatusCode == 0 {
		response.StatusCode = http.StatusOK
	}
	writeHead(w, response.StatusCode, response.Headers, response.Cookies)
	g.relay(w, r, response.Body, function)
}

// relay passes a body on, each read at once. As in the service, a body that breaks off ends the answer as if it were
// complete: only the stream's own last event says that it is.
func (g *Gateway) relay(w http.ResponseWriter, r *http.Request, body io.Reader, function string) {
	controller, gone := http.NewResponseController(w), false
	_ = controller.Flush()
	buffer := make([]byte, streamChunk)
	for {
		n, err := body.Read(buffer)
		if n > 0 && !gone {
			_, writeErr := w.Write(buffer[:n])
			gone = writeErr != nil || controller.Flush() != nil
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			g.logger.ErrorContext(r.Context(), "function URL: the body broke off", "function", function, "error", err)
			return
		}
	}
}
