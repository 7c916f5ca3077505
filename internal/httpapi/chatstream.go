package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/fault"
)

// frames writes the events of an answer in one of the forms of a stream. The data of an event "error" is a *problem.
type frames interface {
	// frames returns what is written for an event. It is nothing after the last one.
	frames(e chat.Event) []frame
}

// frame is one server-sent event. It has no name in a stream of UI messages.
type frame struct {
	name string
	// data is written as JSON, but doneMark as it is.
	data any
}

// doneMark ends a stream of UI messages.
type doneMark struct{}

// eventFrames writes the API's own events.
type eventFrames struct{ closed bool }

func (f *eventFrames) frames(e chat.Event) []frame {
	if f.closed {
		return nil
	}
	f.closed = e.Name == "done" || e.Name == "error"
	return []frame{{e.Name, e.Data}}
}

// streamEvents writes the events as they come. It reads all of them even if the client is gone. If the last event is
// missing, it ends the stream with an error event.
func (s chats) streamEvents(ctx context.Context, hc huma.Context, events iter.Seq[chat.Event], form frames) {
	hc.SetStatus(http.StatusOK)
	out := eventWriter{w: hc.BodyWriter()}
	defer out.keepAlive()()
	defer func() {
		if v := recover(); v != nil {
			s.logPanic(ctx, "chat", v)
		}
		out.send(form.frames(chat.Event{Name: "error", Data: problemOf(fault.New(fault.Internal, ""))}))
	}()
	for e := range events {
		if err, ok := e.Data.(error); ok {
			e.Data = s.report(ctx, "chat", err)
		}
		out.send(form.frames(e))
	}
}

// aliveEvery is how often a stream says that the server works. Clients take a longer silence for a lost connection.
const aliveEvery = 10 * time.Second

// eventWriter writes server-sent events until the client is gone.
type eventWriter struct {
	mu sync.Mutex
	w  io.Writer
	// gone is set after a failed write.
	gone bool
}

// send writes frames at once.
func (o *eventWriter) send(frames []frame) {
	if len(frames) == 0 {
		return
	}
	var text bytes.Buffer
	for _, f := range frames {
		f.write(&text)
	}
	o.write(text.Bytes())
}

// keepAlive writes a comment at times, which clients skip, until the returned function is called.
func (o *eventWriter) keepAlive() (stop func()) {
	ticker, done, ended := time.NewTicker(aliveEvery), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				o.write([]byte(": alive\n\n"))
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}

func (o *eventWriter) write(text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone {
		return
	}
	if _, err := o.w.Write(text); err != nil {
		o.gone = true
		return
	}
	o.gone = flush(o.w) != nil
}

func (f frame) write(text *bytes.Buffer) {
	var data bytes.Buffer
	if f.data == (doneMark{}) {
		data.WriteString("[DONE]\n")
	} else {
		encoder := json.NewEncoder(&data)
		encoder.SetEscapeHTML(false)
		if encoder.Encode(f.data) != nil {
			return
		}
	}
	if f.name != "" {
		text.WriteString("event: " + f.name + "\n")
	}
	text.WriteString("data: ")
	text.Write(data.Bytes())
	text.WriteByte('\n')
}

// flush sends what was written. The writer of a function URL sends each write at once and has no Flush method.
func flush(w any) error {
	rw, ok := w.(http.ResponseWriter)
	if !ok {
		return nil
	}
	if err := http.NewResponseController(rw).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
