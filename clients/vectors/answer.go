package vectors

import (
	"encoding/json"
	"net/http"
	"time"
)

// answer is what the server answers.
type answer struct {
	Status  int
	Headers map[string]string
	// Body is sent as JSON. Text is sent as it is.
	Body json.RawMessage
	Text string
	// Pieces is the length in bytes of the pieces that Text is sent in, 0 for one piece.
	Pieces int
	// PauseMs is the time after each piece.
	PauseMs int64
	// Cut breaks the connection after Text, or before any answer if there is no status.
	Cut bool
	// Hang gives no answer, or nothing after Text if there is a status, until the client goes away.
	Hang bool
}

func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	if a.Hang && a.Status == 0 {
		<-r.Context().Done()
		return
	}
	if a.Cut && a.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	if a.Body != nil {
		w.Header().Set("Content-Type", "application/json")
		a.Text = string(a.Body)
	}
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.Status)
	a.writeText(w)
	if a.Hang {
		<-r.Context().Done()
	}
	if a.Cut {
		panic(http.ErrAbortHandler)
	}
}

// writeText sends the text piece by piece.
func (a *answer) writeText(w http.ResponseWriter) {
	pieces := a.Pieces
	if pieces == 0 {
		pieces = max(len(a.Text), 1)
	}
	flush := http.NewResponseController(w)
	for text := a.Text; text != ""; {
		n := min(pieces, len(text))
		if _, err := w.Write([]byte(text[:n])); err != nil {
			return
		}
		_ = flush.Flush()
		time.Sleep(time.Duration(a.PauseMs) * time.Millisecond)
		text = text[n:]
	}
}
