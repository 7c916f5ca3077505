package gateway

import (
	"io"
	"net/http"

	"github.com/throughline/throughline/internal/httpapi"
)

// streamChunk is the largest part of a streamed body that is written at once, in bytes.
const streamChunk = 16 << 10

// serveURL is the function URL. It checks no token, because the function does, and streams the body as it comes. If the
// client disconnects, the function's body is still read to the end.
func (g *Gateway) serveURL(w http.ResponseWriter, r *http.Request, function string) {
	event, err := newEvent(r)
	if err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	event.RawPath, event.RequestContext.AccountID = r.URL.EscapedPath(), "anonymous"
	payload, err := encode(event)
	if err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	response, err := g.opts.Invoker.Stream(function, payload)
	if err != nil {
		g.writeFailure(r.Context(), w, function, err)
		return
	}
	defer func() { _ = response.Close() }()
	if response.StatusCode == 0 {
		response.StatusCode = http.StatusOK
	}
	writeHead(w, response.StatusCode, response.Headers, response.Cookies)
	g.relay(w, r, response.Body, function)
}

// relay writes and flushes a body as it is read. As in the service, a body that fails ends the response as if it were
// complete. Only the stream's own last event says that it is complete.
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
			g.opts.Logger.ErrorContext(r.Context(), "function URL: reading the body failed", "function", function, "error", err)
			return
		}
	}
}
