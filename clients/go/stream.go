package throughline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// Record is one record of the export. JSON is the whole of it, with its kind.
type Record struct {
	Kind string
	JSON json.RawMessage

	after string // where another answer goes on
}

// lines yields the lines of a body, and at its end an error, because a whole stream is left before its end. The text
// after the last line feed is no line: the answer was cut in it.
func lines(body io.Reader) iter.Seq2[string, error] {
	reader := bufio.NewReader(body)
	return func(yield func(string, error) bool) {
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				yield("", &LostAnswerError{Err: err})
				return
			}
			if !yield(strings.TrimSuffix(line[:len(line)-1], "\r"), nil) {
				return
			}
		}
	}
}

// serverEvent is one event of a text/event-stream.
type serverEvent struct{ name, data string }

// serverEvents yields the events of a body, and at its end an error.
func serverEvents(body io.Reader) iter.Seq2[serverEvent, error] {
	return func(yield func(serverEvent, error) bool) {
		var name string
		var data []string
		for line, err := range lines(body) {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case err != nil:
				yield(serverEvent{}, err)
				return
			case field == "event":
				name = value
			case field == "data":
				data = append(data, value)
			case line == "":
				if len(data) > 0 && !yield(serverEvent{name, strings.Join(data, "\n")}, nil) {
					return
				}
				name, data = "", nil
			}
		}
	}
}

// open makes a call whose answer is a stream, and returns its body. It is nil where there is nothing to join.
func (c *call) open() (body io.ReadCloser, err error) {
	err = c.send(func(status int, opened io.ReadCloser) error {
		if status == http.StatusNoContent { // there is no answer to join
			return opened.Close()
		}
		body = opened
		return nil
	})
	return body, err
}

// export makes the call of the export and yields its records.
func (c *Client) export(ctx context.Context, r request, options []Option) iter.Seq2[Record, error] {
	p, err := c.prepare(r, options)
	return func(yield func(Record, error) bool) {
		if err != nil {
			yield(Record{}, err)
			return
		}
		for after := ""; ; {
			if after != "" {
				p.query.Set("after", after)
			}
			call := c.begin(ctx, p)
			after, err = call.records(yield)
			call.end()
			if err != nil {
				yield(Record{}, err)
			}
			if err != nil || after == "" {
				return
			}
		}
	}
}

// records yields the records of an answer of the export, and returns where another answer goes on, empty at the end. It
// returns an error if the export was cut: then the app begins again.
func (c *call) records(yield func(Record, error) bool) (after string, err error) {
	body, err := c.open()
	if err != nil {
		return "", err
	}
	defer body.Close()
	for line, err := range lines(body) {
		if err != nil && c.ctx.Err() != nil {
			return "", context.Cause(c.ctx)
		}
		if err != nil {
			return "", err
		}
		record, err := readRecord(line)
		if err != nil || record.Kind == "cursor" {
			return record.after, err
		}
		c.pause()
		if !yield(record, nil) || record.Kind == "end" {
			return "", nil
		}
		c.extend()
	}
	return "", errors.New("unreachable: lines end with an error")
}

// readRecord reads a line of the export. It returns the problem with which the export failed.
func readRecord(line string) (Record, error) {
	var kind struct {
		Kind  string `json:"kind"`
		After string `json:"after"`
	}
	if err := json.Unmarshal([]byte(line), &kind); err != nil {
		return Record{}, fmt.Errorf("read a record: %w", err)
	}
	if kind.Kind == "error" {
		return Record{}, problemOf(line)
	}
	return Record{Kind: kind.Kind, JSON: json.RawMessage(line), after: kind.After}, nil
}

// problemOf returns the problem in a stream.
func problemOf(text string) error {
	problem := &ProblemError{}
	if err := json.Unmarshal([]byte(text), &problem.Problem); err != nil {
		return fmt.Errorf("read a problem: %w", err)
	}
	return problem
}
